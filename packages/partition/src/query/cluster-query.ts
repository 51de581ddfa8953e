/** A query of a cluster: what its models make is had first, then one partition is searched, or several. */
/// <reference lib="esnext.disposable" preserve="true" />
import type { Merged, Query } from "@brooklet/core";
import { clock } from "../clock.ts";
import type { Answer, Cluster, PartitionKey, QueryHandle, SearchRequest, SearchScope, SearchStep } from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import { serviceError } from "../failure.ts";
import type { SearchStage } from "./open-search.ts";
import { embeddingsOf, ModelRounds, ownTime, type QueryModels, type Waiting } from "./query-models.ts";
import type { StageName, Stages } from "./stages.ts";
import { searchWidely } from "./wide-search.ts";

/** What the models of a query made until now, for whoever opens it elsewhere. */
export interface Given {
  readonly embeddings?: Uint8Array;
  readonly outputs: readonly Uint8Array[];
}

/** How the caller of a query waits for it. */
export type CallerWaiting = Waiting & { readonly gone: AbortSignal | undefined };

/** The search of one partition, here or in another thread. */
export interface PartitionSearch {
  /** Goes on, with the outputs that it waited for if it did. */
  goOn(outputs?: Uint8Array): Promise<SearchStage>;
  [Symbol.dispose](): void;
}

/** Where a query is searched. */
export interface QueryPlace {
  readonly buckets: number;
  readonly bucketOf: (key: PartitionKey) => number;
  readonly models: QueryModels;
  /** Begins the search of the only partition that is addressed. */
  readonly searchPartition: (key: PartitionKey, given: Given, waiting: CallerWaiting) => PartitionSearch;
  /** What partitions of a bucket find. */
  readonly searchBucket: (step: SearchStep, given: Given, waiting: CallerWaiting) => Promise<Merged>;
  /** Buckets searched at a time. */
  readonly bucketsAtOnce: number;
  /** Takes note of the stages; nobody does by default. */
  readonly stages?: Stages | undefined;
  /** Lets go of what was kept of the query elsewhere. */
  readonly forget?: () => void;
}

/** A query that is open in this thread, and where it is searched. */
export class ClusterQuery implements QueryHandle {
  readonly #query: Query;
  readonly #place: QueryPlace;
  readonly #startMs: number;
  readonly #stageMs: Partial<Record<StageName, number>> = {};
  #stage: { readonly name: StageName; readonly startMs: number } | undefined;

  constructor(query: Query, place: QueryPlace, startMs: number) {
    this.#query = query;
    this.#place = place;
    this.#startMs = startMs;
  }

  get scope(): SearchScope | undefined {
    const { scope } = this.#query;
    if (scope.kind === "refused") return undefined;
    // The core makes them; their form is checked where a partition is opened.
    return scope.kind === "all" ? {} : { keys: scope.keys as readonly PartitionKey[] };
  }

  get stageMs(): Readonly<Record<string, number>> {
    this.#passStage(undefined);
    return this.#stageMs;
  }

  parameter(name: string): string | undefined {
    return this.#query.parameter(name);
  }

  async search(timeoutMs: number, gone?: AbortSignal): Promise<Answer> {
    const query = this.#query;
    if (query.scope.kind === "refused") return query.scope.answer;
    const waiting: CallerWaiting = { timeoutMs, startMs: this.#startMs, gone };
    try {
      const embedded = (): Promise<Uint8Array | undefined> => embeddingsOf(query, this.#place.models, waiting);
      const embeddings = query.wanted.length === 0 ? undefined : await this.#staged("embed", embedded);
      if (embeddings !== undefined) query.giveEmbeddings(embeddings);
      const given = { outputs: [], ...(embeddings && { embeddings }) };
      const keys = query.scope.kind === "keys" ? (query.scope.keys as readonly PartitionKey[]) : undefined;
      const [only] = keys ?? [];
      if (keys?.length === 1 && only !== undefined) return await this.#searchOne(only, given, waiting);
      return await this.#searchSeveral(keys, given, waiting);
    } catch (error) {
      throw serviceError(error);
    }
  }

  async #searchOne(key: PartitionKey, given: Given, waiting: CallerWaiting): Promise<Answer> {
    const search = this.#place.searchPartition(key, given, waiting);
    try {
      let stage: SearchStage = await this.#staged("search", () => search.goOn());
      if (stage.kind === "answer") return stage.answer;
      const rounds = this.#rounds(waiting);
      while (stage.kind === "models") {
        const { runs } = stage;
        const outputs: Uint8Array = await this.#staged("models", () => rounds.run(runs));
        stage = await this.#staged("search", (): Promise<SearchStage> => search.goOn(outputs));
      }
      if (stage.kind === "answer") return stage.answer;
      return await this.#searchSeveral([key], given, waiting);
    } finally {
      search[Symbol.dispose]();
    }
  }

  async #searchSeveral(
    keys: readonly PartitionKey[] | undefined,
    { embeddings }: Given,
    waiting: CallerWaiting,
  ): Promise<Answer> {
    const { startMs, gone } = waiting;
    const [query, place, outputs] = [this.#query, this.#place, [] as Uint8Array[]];
    const given = { outputs, ...(embeddings && { embeddings }) };
    const searchBucket = (step: SearchStep): Promise<Merged> => place.searchBucket(step, given, waiting);
    return await this.#staged("search", () =>
      searchWidely(
        { ...place, searchBucket },
        {
          query,
          keys,
          deadline: this.#deadline(waiting),
          startMs,
          rounds: this.#rounds(waiting),
          gone,
          give: (more) => {
            query.giveOutputs(more);
            outputs.push(more);
          },
        },
      ),
    );
  }

  #staged<Result>(name: StageName, work: () => Promise<Result>): Promise<Result> {
    const { stages } = this.#place;
    this.#passStage(name);
    return stages === undefined ? work() : stages(name, work);
  }

  /** Ends the stage that is under way and begins the next: one follows the other, and no promise is made to be told of its end. */
  #passStage(next: StageName | undefined): void {
    const nowMs = clock.now();
    const { name, startMs } = this.#stage ?? {};
    if (name !== undefined && startMs !== undefined) this.#stageMs[name] = (this.#stageMs[name] ?? 0) + nowMs - startMs;
    this.#stage = next && { name: next, startMs: nowMs };
  }

  #rounds(waiting: Waiting): ModelRounds {
    return new ModelRounds(this.#place.models, this.#deadline(waiting));
  }

  #deadline({ timeoutMs, startMs, gone }: Waiting): Deadline {
    return Deadline.in(ownTime(this.#query, timeoutMs), startMs, gone);
  }

  [Symbol.dispose](): void {
    this.#query[Symbol.dispose]();
    this.#place.forget?.();
  }
}

/** The answer to a query that is asked once. */
export async function searchOnce(
  cluster: Pick<Cluster, "query">,
  request: SearchRequest,
  timeoutMs: number,
  gone?: AbortSignal,
): Promise<Answer> {
  const query = cluster.query(request);
  try {
    return await query.search(timeoutMs, gone);
  } finally {
    query[Symbol.dispose]();
  }
}
