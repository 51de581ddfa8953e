/** One search, wherever its documents are: in one partition, or in several. */
import type { Answer, QueryHandle, SearchRequest } from "@brooklet/partition";
import type { Call } from "./call.ts";
import type { GatewayContext } from "./context.ts";

/** Who waits for a search: since when, and until what is aborted. */
export type Waiting = Pick<Call, "arrivedMs" | "gone">;

/** Opens a query for as long as it is used. */
export async function withQuery<Result>(
  request: SearchRequest,
  context: GatewayContext,
  { arrivedMs }: Waiting,
  use: (query: QueryHandle) => Promise<Result>,
): Promise<Result> {
  const query = context.access.query({ ...request, waitedMs: performance.now() - arrivedMs });
  try {
    return await use(query);
  } finally {
    query[Symbol.dispose]();
  }
}

/** The answer to a search. It may wait until the partition is less busy, which counts as time it takes. */
export async function searchAnswer(query: QueryHandle, context: GatewayContext, { gone }: Waiting): Promise<Answer> {
  const search = (): Promise<Answer> => query.search(context.limits.searchTimeoutMs, gone);
  const { scope } = query;
  // Its answer says what is wrong with it.
  if (scope === undefined) return await search();
  const [only, ...others] = scope.keys ?? [];
  if (only !== undefined && others.length === 0) return await context.searchesOfPartition.run(only, search);
  // Few such searches run at a time, as each takes long.
  await context.searchesOfSeveral.enter();
  try {
    return await search();
  } finally {
    context.searchesOfSeveral.leave();
  }
}
