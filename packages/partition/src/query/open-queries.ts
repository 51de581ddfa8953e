/**
 * The queries that a thread has open for another, by the numbers that that one gave them. One that addresses many partitions
 * is opened when the first bucket is searched and serves all of them; one that waits for its models keeps what it matched.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Query, type QueryBytes, ServiceError } from "@brooklet/core";
import type { BucketHost } from "../bucket-host.ts";
import type { Gone } from "../cancellation.ts";
import type { SearchStep } from "../cluster.ts";
import type { BucketFound } from "./bucket-search.ts";
import type { OpenSearch, SearchStage } from "./open-search.ts";
import type { Waiting } from "./query-models.ts";

/** A query on its way to another thread, with what its models made until now. */
export interface SentQuery {
  /** The same for all that is asked of one query, and never given to another. */
  readonly number: number;
  readonly bytes: QueryBytes;
  readonly embeddings?: Uint8Array;
  readonly outputs: readonly Uint8Array[];
}

/** A query of many partitions, shared by the steps that search them. */
interface Shared {
  readonly query: Query;
  outputs: number;
  users: number;
  isForgotten: boolean;
}

/** Who waits for a search now: after its models ran that is another call. */
class Caller implements Gone {
  gone: Gone | undefined;

  constructor(gone: Gone | undefined) {
    this.gone = gone;
  }

  get aborted(): boolean {
    return this.gone?.aborted === true;
  }
}

/** A search that waits for its models. */
interface Suspended {
  readonly query: Query;
  readonly search: OpenSearch;
  readonly caller: Caller;
}

/** Those of one thread. How many there are is bounded by the searches that the other thread admits. */
export class OpenQueries {
  readonly #host: BucketHost;
  readonly #shared = new Map<number, Shared>();
  readonly #suspended = new Map<number, Suspended>();

  constructor(host: BucketHost) {
    this.#host = host;
  }

  /** Begins the search of the only partition that is addressed. */
  async search(key: string, sent: SentQuery, waiting: Waiting): Promise<SearchStage> {
    return await this.#search(key, sent.number, this.#opened(sent), waiting);
  }

  /** The same for a query that nobody opened before. Nothing: it is not of that partition alone, or has models run first. */
  async searchPlain(key: string, sent: SentQuery, waiting: Waiting): Promise<SearchStage | undefined> {
    const query = this.#opened(sent);
    if (isPlain(query, key)) return await this.#search(key, sent.number, query, waiting);
    query[Symbol.dispose]();
    return undefined;
  }

  async #search(key: string, number: number, query: Query, waiting: Waiting): Promise<SearchStage> {
    const caller = new Caller(waiting.gone);
    const search = this.#host.partition(key).search(query, { ...waiting, gone: caller });
    return await this.#goOn(number, { query, search, caller }, undefined);
  }

  /** Goes on with a search that waited for these outputs. */
  async resume(number: number, outputs: Uint8Array, gone: Gone): Promise<SearchStage> {
    const suspended = this.#suspended.get(number);
    if (suspended === undefined) throw unknownQuery();
    this.#suspended.delete(number);
    suspended.caller.gone = gone;
    return await this.#goOn(number, suspended, outputs);
  }

  /** What partitions of a bucket find. */
  async searchBucket(sent: SentQuery, step: SearchStep, waiting: Waiting): Promise<BucketFound> {
    const shared = this.#sharedOf(sent);
    shared.users += 1;
    try {
      for (const outputs of sent.outputs.slice(shared.outputs)) shared.query.giveOutputs(outputs);
      shared.outputs = Math.max(shared.outputs, sent.outputs.length);
      return await this.#host.searchBucket(shared.query, step, waiting);
    } finally {
      shared.users -= 1;
      if (shared.isForgotten && shared.users === 0) shared.query[Symbol.dispose]();
    }
  }

  /** Lets go of a query, as soon as nothing works with it. */
  forget(number: number): void {
    const suspended = this.#suspended.get(number);
    this.#suspended.delete(number);
    if (suspended !== undefined) close(suspended);
    const shared = this.#shared.get(number);
    this.#shared.delete(number);
    if (shared === undefined) return;
    shared.isForgotten = true;
    if (shared.users === 0) shared.query[Symbol.dispose]();
  }

  async #goOn(number: number, suspended: Suspended, outputs: Uint8Array | undefined): Promise<SearchStage> {
    let isOver = true;
    try {
      const stage = await suspended.search.goOn(outputs);
      isOver = stage.kind !== "models";
      return stage;
    } finally {
      if (isOver) close(suspended);
      else this.#suspended.set(number, suspended);
    }
  }

  #sharedOf(sent: SentQuery): Shared {
    let shared = this.#shared.get(sent.number);
    if (shared === undefined) {
      shared = { query: this.#opened(sent), outputs: sent.outputs.length, users: 0, isForgotten: false };
      this.#shared.set(sent.number, shared);
    }
    return shared;
  }

  #opened({ bytes, embeddings, outputs }: SentQuery): Query {
    const query = this.#host.query(bytes);
    try {
      if (embeddings !== undefined) query.giveEmbeddings(embeddings);
      for (const some of outputs) query.giveOutputs(some);
      return query;
    } catch (error) {
      query[Symbol.dispose]();
      throw error;
    }
  }
}

function isPlain({ scope, wanted }: Query, key: string): boolean {
  return scope.kind === "keys" && scope.keys.length === 1 && scope.keys[0] === key && wanted.length === 0;
}

function close({ search, query }: Suspended): void {
  search[Symbol.dispose]();
  query[Symbol.dispose]();
}

/** The thread ended while the models ran, and what it had open is gone with it. */
function unknownQuery(): ServiceError {
  const message = "The thread that searched this group ended while models were run for it; ask again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message });
}
