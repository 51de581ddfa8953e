/** Where a query is searched that is open in this thread, and in those of the buckets. */

import { type FloorBytes, type QueryBytes, ServiceError } from "@brooklet/core";
import { clock } from "../clock.ts";
import type { PartitionKey, SearchStep } from "../cluster.ts";
import type { Correspondent } from "../correspondent.ts";
import type { Packing } from "../thread-messages.ts";
import type { BucketFound } from "./bucket-search.ts";
import type { CallerWaiting, Given, PartitionSearch } from "./cluster-query.ts";
import type { SentQuery } from "./open-queries.ts";
import type { SearchStage } from "./open-search.ts";

/** The threads that know one query. */
export class ThreadPlaces {
  readonly #number: number;
  readonly #bytes: QueryBytes;
  /** Those that keep something of it. */
  readonly #threads = new Set<Correspondent>();
  #isForgotten = false;

  /** `number`: no other query of these threads has it. */
  constructor(number: number, bytes: QueryBytes) {
    this.#number = number;
    this.#bytes = bytes;
  }

  /** The search of a partition of a thread. */
  searchPartition(thread: Correspondent, key: PartitionKey, given: Given, waiting: CallerWaiting): PartitionSearch {
    const [number, { timeoutMs, startMs, gone }] = [this.#number, waiting];
    const search = (): Promise<SearchStage> => {
      const packed = (by: Packing) => ({ query: this.#sent(given, by), waitedMs: clock.now() - startMs });
      return this.#inLane(thread, () => thread.call("search", packed, key, timeoutMs, gone));
    };
    const resume = (outputs: Uint8Array): Promise<SearchStage> =>
      thread.call("resume", (by) => ({ query: number, outputs: by.copy(outputs) }), key, timeoutMs, gone);
    return {
      goOn: async (outputs) => {
        const stage = await (outputs === undefined ? search() : resume(outputs));
        // It keeps what it matched until it has an answer.
        if (stage.kind === "models") this.#threads.add(thread);
        else this.#threads.delete(thread);
        if (this.#isForgotten) this.forget();
        return stage;
      },
      [Symbol.dispose]: () => undefined,
    };
  }

  /** What partitions of a bucket of a thread find. */
  searchBucket(thread: Correspondent, step: SearchStep, given: Given, waiting: CallerWaiting): Promise<BucketFound> {
    const { timeoutMs, startMs, gone } = waiting;
    this.#threads.add(thread);
    const packed = (by: Packing) => ({
      query: this.#sent(given, by),
      waitedMs: clock.now() - startMs,
      step: { ...step, floor: by.copy(step.floor) as Uint8Array as FloorBytes },
    });
    return this.#inLane(thread, () => thread.call("searchBucket", packed, undefined, timeoutMs, gone));
  }

  /** Tells the threads that the query is over. */
  forget(): void {
    this.#isForgotten = true;
    for (const thread of this.#threads) {
      // A thread that ended has nothing of it any more.
      thread.call("forget", () => this.#number, undefined, 0).catch(() => undefined);
    }
    this.#threads.clear();
  }

  /** A search in one of the places of its thread. What it waits for one is a part of its time: it says so when it is sent. */
  async #inLane<Result>({ lane }: Correspondent, search: () => Promise<Result>): Promise<Result> {
    const entering = lane.enter();
    if (entering !== undefined) await entering;
    try {
      // The thread was told that the query is over, and would have it open for good.
      if (this.#isForgotten) throw overError();
      return await search();
    } finally {
      lane.leave();
    }
  }

  #sent({ embeddings, outputs }: Given, by: Packing): SentQuery {
    return {
      number: this.#number,
      bytes: by.copy(this.#bytes) as Uint8Array as QueryBytes,
      ...(embeddings !== undefined && { embeddings: by.copy(embeddings) }),
      outputs: outputs.map((some) => by.copy(some)),
    };
  }
}

/** The query of a step ended before it was begun; whoever waited for it has another answer. */
function overError(): ServiceError {
  const message = "The query was over before it was begun here";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message });
}
