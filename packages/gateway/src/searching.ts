/** One search, wherever its documents are: in one partition, or in several. */
import type { Answer, SearchRequest } from "@brooklet/partition";
import type { Call } from "./call.ts";
import type { GatewayContext } from "./context.ts";
import { partitionOfSearch } from "./search-scope.ts";

/** Who waits for a search: since when, and until what is aborted. */
export type Waiting = Pick<Call, "arrivedMs" | "gone">;

/** The answer to a search. It may wait until the partition is less busy, which counts as time it takes. */
export async function searchAnswer(
  asked: SearchRequest,
  context: GatewayContext,
  { arrivedMs, gone }: Waiting,
): Promise<Answer> {
  const request = (): SearchRequest => ({ ...asked, waitedMs: performance.now() - arrivedMs });
  const key = partitionOfSearch(asked.properties, asked.body);
  const timeoutMs = context.limits.searchTimeoutMs;
  if (key === undefined) return await searchSeveral(request, timeoutMs, context, gone);
  return await context.searchesOfPartition.run(key, () =>
    context.access.partition(key).search(request(), timeoutMs, gone),
  );
}

/** Several partitions, all of them, or none: the core says. Few such searches run at a time, as each takes long. */
async function searchSeveral(
  request: () => SearchRequest,
  timeoutMs: number,
  context: GatewayContext,
  gone: AbortSignal,
): Promise<Answer> {
  await context.searchesOfSeveral.enter();
  try {
    return await context.access.search(request(), timeoutMs, gone);
  } finally {
    context.searchesOfSeveral.leave();
  }
}
