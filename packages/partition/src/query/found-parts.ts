/**
 * What the partitions of a query found so far. Partial results are merged when there are some, as each merge reads and writes
 * all that was merged before; the floor rises with each.
 */
import type { FloorBytes, Merged, PartialBytes, Query } from "@brooklet/core";
import { Deadline } from "../deadline.ts";
import { drive, NOWHERE } from "../drive.ts";
import { serviceError } from "../failure.ts";
import { MERGE_BYTES, MERGE_PARTIALS } from "../limits.ts";

/** Partial results of one query. */
export class FoundParts {
  readonly #query: Query;
  readonly #floorBefore: FloorBytes;
  #merged: Merged | undefined;
  #waiting: PartialBytes[] = [];
  #waitingBytes = 0;

  /** `floor`: below it others found all that is wanted. */
  constructor(query: Query, floor: FloorBytes) {
    this.#query = query;
    this.#floorBefore = floor;
  }

  /** Below which nothing is wanted any more. */
  get floor(): FloorBytes {
    return this.#merged?.floor ?? this.#floorBefore;
  }

  /** Whether nothing more can change the answer. */
  get over(): boolean {
    return this.#merged?.over === true;
  }

  /** All of it. */
  get partials(): readonly PartialBytes[] {
    return this.#merged === undefined ? this.#waiting : [this.#merged.partial, ...this.#waiting];
  }

  /** Adds a partial result, and merges when enough of them wait, or `atOnce`. Always true. */
  add(partial: PartialBytes, atOnce = false): true {
    this.#waiting.push(partial);
    this.#waitingBytes += partial.length;
    if (atOnce || this.#waiting.length >= MERGE_PARTIALS || this.#waitingBytes >= MERGE_BYTES) this.#merge(0);
    return true;
  }

  /**
   * Goes on without partitions whose stored data is damaged, if the query takes a part of an answer. Any other failure is
   * the search's.
   */
  passDamage(thrown: unknown, partitions: number): void {
    if (serviceError(thrown).code !== "STORE_CORRUPT") throw thrown;
    this.#merge(partitions);
    if (this.over) throw thrown;
  }

  /** All of it as one. */
  merged(): Merged {
    if (this.#merged !== undefined && this.#waiting.length === 0) return this.#merged;
    return this.#merge(0);
  }

  #merge(damaged: number): Merged {
    const task = this.#query.merge(this.floor, this.partials, damaged);
    this.#merged = drive(task, NOWHERE, Deadline.in(Number.POSITIVE_INFINITY));
    [this.#waiting, this.#waitingBytes] = [[], 0];
    return this.#merged;
  }
}
