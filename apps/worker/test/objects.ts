/** The objects of a Worker in the runtime, called by a test. */
import type { Miniflare } from "miniflare";

type Verbs = Record<string, (...values: unknown[]) => Promise<unknown>>;

/** The object of a binding that has a name. */
export async function objectOf<Calls extends object>(
  workerd: Miniflare,
  binding: string,
  name: string,
): Promise<Calls> {
  const call = async (verb: string, values: unknown[]): Promise<unknown> => {
    const objects = await workerd.getDurableObjectNamespace(binding);
    const object = objects.get(objects.idFromName(name)) as unknown as Verbs;
    return await object[verb]?.(...values);
  };
  return new Proxy({} as Calls, {
    get: (_, verb) =>
      verb === "then" || typeof verb === "symbol"
        ? undefined
        : (...values: unknown[]) => call(verb, values).catch((error) => again(error, () => call(verb, values))),
  });
}

/** The runtime ends a connection on which nothing came for some seconds, and may do so when it is used again: the call never came. */
function again(error: unknown, call: () => Promise<unknown>): Promise<unknown> {
  const { cause } = error as Error;
  if (cause instanceof Error && isEnded(cause)) return call();
  throw error;
}

/** What the end of a connection is called depends on whether it was seen before the call was written or after. */
function isEnded({ message, code }: Error & { readonly code?: string }): boolean {
  return message === "other side closed" || code === "ECONNRESET";
}
