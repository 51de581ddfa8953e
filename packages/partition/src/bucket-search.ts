/**
 * A query over several partitions of one bucket: each is searched in one turn of its own, with turns for others in
 * between, and what they find is merged here, so that only one partial result leaves the thread. What a partition finds
 * and what is kept of it is the core's business.
 */
import type { Engine, FloorBytes, Merged, PartialBytes } from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import type { SearchRequest, SearchStep } from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { serviceError } from "./failure.ts";
import { MERGE_BYTES, MERGE_PARTIALS, SEARCH_PARTITIONS, SEARCH_TURN_MS } from "./limits.ts";
import type { Partition } from "./partition.ts";

/** Where a query is searched. */
export interface SearchPlace {
  readonly bucket: Bucket;
  readonly engine: Engine;
  readonly partition: (key: string) => Partition;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Told of damage that was passed over, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}

/** What the partitions of a step find together. */
export async function searchBucket(
  place: SearchPlace,
  request: SearchRequest,
  step: SearchStep,
  deadline: Deadline,
): Promise<Merged> {
  try {
    const found = new Found(place, request, step);
    let turnEndsMs = performance.now() + SEARCH_TURN_MS;
    for (const key of step.keys ?? keysOf(place.bucket)) {
      if (performance.now() >= turnEndsMs) {
        await place.turn();
        turnEndsMs = performance.now() + SEARCH_TURN_MS;
      }
      const { nowSeconds } = step;
      const isLate = deadline.passed;
      const searched = place.partition(key).searchPart(request, { nowSeconds, floor: found.floor }, deadline);
      const isFound = await searched.then(
        (partial) => found.add(partial),
        (error: unknown) => found.passDamage(error),
      );
      // A search that is begun too late says so, and nothing after it can change that.
      if (found.over || (isLate && isFound)) break;
    }
    return found.merged();
  } catch (error) {
    throw serviceError(error);
  }
}

/** The keys of all partitions of a bucket, a few at a time; one that comes meanwhile may be among them or not. */
function* keysOf(bucket: Bucket): Generator<string> {
  for (let next = 1; ; ) {
    const some = bucket.store.from(next, SEARCH_PARTITIONS);
    const last = some.at(-1);
    if (last === undefined) return;
    for (const { key } of some) yield key;
    next = last.number + 1;
  }
}

/** What was found so far. */
class Found {
  readonly #place: SearchPlace;
  readonly #request: SearchRequest;
  #merged: Merged;
  #waiting: PartialBytes[] = [];
  #waitingBytes = 0;

  constructor(place: SearchPlace, request: SearchRequest, { floor }: SearchStep) {
    this.#place = place;
    this.#request = request;
    this.#merged = this.#merge(floor, []);
  }

  /** Below which nothing is wanted any more. */
  get floor(): FloorBytes {
    return this.#merged.floor;
  }

  /** Whether nothing more can change the answer. */
  get over(): boolean {
    return this.#merged.over;
  }

  /** Adds what a partition found; `false`: there was no partition. */
  add(partial: PartialBytes | undefined): boolean {
    if (partial === undefined) return false;
    this.#waiting.push(partial);
    this.#waitingBytes += partial.length;
    if (this.#waiting.length >= MERGE_PARTIALS || this.#waitingBytes >= MERGE_BYTES) this.merged();
    return true;
  }

  /**
   * Goes on without a partition whose stored data is damaged, if the query takes a part of an answer; the operator is
   * told all. Any other failure is the search's.
   */
  passDamage(thrown: unknown): false {
    const error = serviceError(thrown);
    if (error.code !== "STORE_CORRUPT") throw error;
    this.#merged = this.#merge(this.merged().floor, [this.#merged.partial], 1);
    if (this.#merged.over) throw error;
    this.#place.onProblem(thrown);
    return false;
  }

  /** Merges what waits. */
  merged(): Merged {
    if (this.#waiting.length > 0) {
      this.#merged = this.#merge(this.#merged.floor, [this.#merged.partial, ...this.#waiting]);
      [this.#waiting, this.#waitingBytes] = [[], 0];
    }
    return this.#merged;
  }

  #merge(floor: FloorBytes, partials: readonly PartialBytes[], damaged: number = 0): Merged {
    const task = this.#place.engine.merge(this.#request, floor, partials, damaged);
    return drive(task, NOWHERE, Deadline.in(Number.POSITIVE_INFINITY));
  }
}
