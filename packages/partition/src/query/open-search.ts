/**
 * The search of one partition. While it waits for outputs of models others have their turns; what it matched before stays,
 * as long as the partition's segments do.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import type { Answer, Place, Query, Task } from "@brooklet/core";
import type { Deadline } from "../deadline.ts";
import { advance, type Source } from "../drive.ts";

/** How far a search came: its answer, or the runs of models that it waits for (`decodeModelRuns`). */
export type SearchStage =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "models"; readonly runs: Uint8Array }
  /** The group has several shards, and is searched as several partitions are. */
  | { readonly kind: "shards" };

const SHARDS: SearchStage = { kind: "shards" };

/** What is searched. */
export interface SearchedPartition {
  /** Waits until its segments have the columns that the query asks for, if they do not. */
  ready(deadline: Deadline): Promise<void> | undefined;
  /** Whether its group has several shards. */
  isLarge(): boolean;
  /** The partition as it is now. */
  place(): Place;
  /** What a caller sees of a failure. */
  failure(thrown: unknown): Error;
}

/** Where a search looks, and until when. */
export interface SearchBounds {
  readonly partition: SearchedPartition;
  readonly source: Source;
  readonly deadline: Deadline;
  /** When the caller began to wait. */
  readonly startMs: number;
}

/** A search that is open. */
export class OpenSearch {
  readonly #query: Query;
  readonly #bounds: SearchBounds;
  #task: Task<Answer> | undefined;
  #layout = 0;

  constructor(query: Query, bounds: SearchBounds) {
    this.#query = query;
    this.#bounds = bounds;
  }

  /** Goes on, with the outputs that it waited for if it did. One turn, in which the partition stays as it is. */
  async goOn(outputs?: Uint8Array): Promise<SearchStage> {
    const { partition, source, deadline, startMs } = this.#bounds;
    try {
      const waiting = partition.ready(deadline);
      if (waiting !== undefined) await waiting;
      // From here on nothing comes in between.
      if (partition.isLarge()) return SHARDS;
      const place = partition.place();
      if (outputs !== undefined) this.#give(outputs, place.layout);
      this.#task ??= this.#query.search(place);
      this.#layout = place.layout;
      const lacking = advance(this.#task, source, deadline, startMs);
      return lacking === undefined
        ? { kind: "answer", answer: this.#task.finish() }
        : { kind: "models", runs: lacking.runs };
    } catch (error) {
      throw partition.failure(error);
    }
  }

  /** The query keeps outputs, so a search that cannot go on is begun anew with them. */
  #give(outputs: Uint8Array, layout: number): void {
    this.#query.giveOutputs(outputs);
    if (this.#task === undefined) return;
    if (layout === this.#layout && !this.#task.lost) this.#task.give(outputs);
    else this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#task?.[Symbol.dispose]();
    this.#task = undefined;
  }
}
