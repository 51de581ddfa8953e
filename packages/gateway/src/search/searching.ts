/** One search, wherever its documents are: in one partition, or in several. */
import type { Answer, PartitionKey, QueryHandle, SearchRequest } from "@brooklet/partition";
import { ERROR_KINDS, ServiceError } from "@brooklet/wire";
import type { Call } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { outlineOf, type SearchOutline, type SlowSearches } from "../load/slow-searches.ts";
import { plainGroup } from "./plain-group.ts";

/** Who waits for a search: since when, and until what is aborted. */
export type Waiting = Pick<Call, "arrivedMs" | "gone">;

/** The answer to a search; of one that failed the code that it says, in JSON. */
export interface SearchAnswer extends Answer {
  readonly code?: string;
}

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

/** The answer to a query of which is plain that it is of one group, where it need not be opened here. */
export async function plainAnswer(
  request: SearchRequest,
  context: GatewayContext,
  { arrivedMs }: Waiting,
): Promise<SearchAnswer | undefined> {
  const { cluster } = context;
  if (cluster.searchPlain === undefined) return undefined;
  // A chain is selected by a parameter.
  if ((cluster.application()?.searchChains ?? []).length > 0) return undefined;
  const group = plainGroup(request);
  if (group === undefined) return undefined;
  const key: PartitionKey = `g:${group}`;
  const search = new PlainSearch(key, request, context, arrivedMs);
  const answer = await noteSearch(context, search);
  return answer && answerWithOutcome(answer);
}

/** What is noted of a search that was slow. */
interface NotedSearch<Found> {
  readonly arrivedMs: number;
  search(): Promise<Found>;
  stages(): Readonly<Record<string, number>>;
  outline(): SearchOutline;
}

/** A search that need not be opened here. Methods, and no closures for each: the code of those does not stay (docs/decisions/0187). */
class PlainSearch implements NotedSearch<Answer | undefined> {
  readonly arrivedMs: number;
  readonly #key: PartitionKey;
  readonly #request: SearchRequest;
  readonly #context: GatewayContext;
  #searchMs = 0;

  constructor(key: PartitionKey, request: SearchRequest, context: GatewayContext, arrivedMs: number) {
    [this.#key, this.#request, this.#context, this.arrivedMs] = [key, request, context, arrivedMs];
  }

  search(): Promise<Answer | undefined> {
    return this.#context.searchesOfPartition.run(this.#key, PlainSearch.#searched, this);
  }

  static async #searched(search: PlainSearch): Promise<Answer | undefined> {
    const { access, limits } = search.#context;
    const startMs = performance.now();
    const waitedMs = startMs - search.arrivedMs;
    const plain = await access.searchPlain(search.#key, { ...search.#request, waitedMs }, limits.searchTimeoutMs);
    search.#searchMs = performance.now() - startMs;
    return plain;
  }

  stages(): Readonly<Record<string, number>> {
    return { search: this.#searchMs };
  }

  outline(): SearchOutline {
    using query = this.#context.cluster.query(this.#request);
    return outlineOf(query);
  }
}

/** Does a search, and takes note of it. What gave no answer and did not fail was none. */
async function noteSearch<Found extends Answer | undefined>(
  { slowSearches }: GatewayContext,
  search: NotedSearch<Found>,
): Promise<Found> {
  try {
    const answer = await search.search();
    if (answer !== undefined) note(slowSearches, search, answer);
    return answer;
  } catch (error) {
    note(slowSearches, search, { status: ServiceError.is(error) ? error.status : 500, bytesRead: 0, bytesScanned: 0 });
    throw error;
  }
}

function note(
  slowSearches: SlowSearches,
  search: NotedSearch<unknown>,
  { status, bytesRead, bytesScanned }: Pick<Answer, "status" | "bytesRead" | "bytesScanned">,
): void {
  const ms = performance.now() - search.arrivedMs;
  if (ms < slowSearches.thresholdMs) return;
  slowSearches.note({ ms, status, stages: search.stages(), bytesRead, bytesScanned, outline: () => search.outline() });
}

/**
 * The answer to a search; one that failed says what all failures say. It may wait until the partition is less busy, which counts
 * as time it takes.
 */
export async function searchAnswer(
  query: QueryHandle,
  context: GatewayContext,
  waiting: Waiting,
): Promise<SearchAnswer> {
  const stages = (): Readonly<Record<string, number>> => query.stageMs ?? {};
  const { arrivedMs } = waiting;
  const search = () => searchScope(query, context, waiting);
  return answerWithOutcome(await noteSearch(context, { arrivedMs, search, stages, outline: () => outlineOf(query) }));
}

/** An answer, which says what all failures say if it is one: its outcome, for a search changes nothing, and what its first error is called. */
function answerWithOutcome(answer: Answer): SearchAnswer {
  if (answer.status < 400 || !answer.contentType.startsWith("application/json")) return answer;
  const text = new TextDecoder().decode(answer.body);
  if (!text.endsWith("}")) return answer;
  const { root } = JSON.parse(text) as { readonly root?: { readonly errors?: readonly NamedError[] } };
  const { name, code: number } = root?.errors?.[0] ?? {};
  const known = Object.entries(ERROR_KINDS).find(([, kind]) => kind.number === number)?.[0];
  const failed = name ?? known ?? "INTERNAL";
  const told = `${text.slice(0, -1)},"outcome":"not_applied","code":${JSON.stringify(failed)}}`;
  return { ...answer, body: new TextEncoder().encode(told), code: failed };
}

interface NamedError {
  readonly name?: string;
  readonly code?: number;
}

async function searchScope(query: QueryHandle, context: GatewayContext, { gone }: Waiting): Promise<Answer> {
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
