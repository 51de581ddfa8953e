/** One search, wherever its documents are: in one partition, or in several. */
import type { Answer, SearchRequest } from "@brooklet/partition";
import type { GatewayContext } from "./context.ts";
import { partitionOfSearch } from "./search-scope.ts";

/** The answer to a search. It may wait until the partition is less busy; when `gone` is aborted nobody waits for it. */
export async function searchAnswer(
  request: SearchRequest,
  context: GatewayContext,
  gone?: AbortSignal,
): Promise<Answer> {
  const key = partitionOfSearch(request.properties, request.body);
  const timeoutMs = context.limits.searchTimeoutMs;
  if (key === undefined) return await searchSeveral(request, timeoutMs, context, gone);
  return await context.searchesOfPartition.run(key, () =>
    context.access.partition(key).search(request, timeoutMs, gone),
  );
}

/** Several partitions, all of them, or none: the core says. Few such searches run at a time, as each takes long. */
async function searchSeveral(
  request: SearchRequest,
  timeoutMs: number,
  context: GatewayContext,
  gone: AbortSignal | undefined,
): Promise<Answer> {
  await context.searchesOfSeveral.enter();
  try {
    return await context.access.search(request, timeoutMs, gone);
  } finally {
    context.searchesOfSeveral.leave();
  }
}
