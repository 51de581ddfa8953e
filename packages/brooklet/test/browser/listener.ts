/** A database in a page's worker, to be talked with as a server is. Its clock stands at one time, as the other's does. */
import { memoryPlace } from "../../src/browser/place.ts";
import { answerOf, type Listener } from "../talks/talk.ts";

const CACHE_BYTES = 16 << 20;

/** Opens one in memory, over a script that sets the clock before it loads the worker. */
export async function openListener(worker: string, onProblem: (problem: unknown) => void): Promise<Listener> {
  const { link, close } = await memoryPlace({ cacheBytes: CACHE_BYTES, assets: { worker }, onProblem });
  return {
    ask: async ({ method, target, headers = {}, body }) => {
      const response = await link.fetch(`http://brooklet.invalid${target}`, {
        method,
        headers,
        ...(body !== undefined && { body: body as string }),
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      return answerOf(response.status, (name) => response.headers.get(name), bytes);
    },
    close,
  };
}
