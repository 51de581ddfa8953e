/** Jobs that wait for a lane, oldest first, and how batches are made of them. */
import type { Deadline } from "../embedder.ts";

/** How a job ended. */
export type Outcome<Result> = { readonly result: Result } | { readonly error: unknown };

/** A job that waits. */
export interface Waiting<Job, Result> {
  readonly job: Job;
  readonly weight: number;
  readonly deadline: Deadline;
  readonly settle: (outcome: Outcome<Result>) => void;
}

/** A job is put into a batch only if padding it to the length of the dearest wastes at most this part. */
const PADDING_MAX = 0.34;

/** The queue. */
export class Queue<Job, Result> {
  #waiting: Waiting<Job, Result>[] = [];
  #weight = 0;

  /** How many wait. */
  get length(): number {
    return this.#waiting.length;
  }

  /** What all that wait cost together. */
  get weight(): number {
    return this.#weight;
  }

  /** What the oldest costs; 0 if none waits. */
  get oldestWeight(): number {
    return this.#waiting[0]?.weight ?? 0;
  }

  add(entry: Waiting<Job, Result>): void {
    this.#waiting.push(entry);
    this.#weight += entry.weight;
  }

  /** Takes a job out that nobody waits for any longer; false if it is not here. */
  remove(entry: Waiting<Job, Result>): boolean {
    const index = this.#waiting.indexOf(entry);
    if (index < 0) return false;
    this.#waiting.splice(index, 1);
    this.#weight -= entry.weight;
    return true;
  }

  /** Takes all out. */
  drain(): readonly Waiting<Job, Result>[] {
    const all = this.#waiting;
    this.#waiting = [];
    this.#weight = 0;
    return all;
  }

  /**
   * Takes a batch: the oldest job, so that none waits for ever, and with it those of about its size, in order of age. It
   * takes at most a fair share of what waits, so that other free lanes get theirs.
   */
  takeBatch(jobsMax: number, weightMax: number, share: number): readonly Waiting<Job, Result>[] {
    const oldest = this.#waiting[0];
    if (oldest === undefined) return [];
    const limit = Math.max(1, Math.min(jobsMax, Math.ceil(this.#waiting.length / share)));
    const batch: Waiting<Job, Result>[] = [];
    let dearest = 0;
    let sum = 0;
    for (const entry of this.#waiting) {
      if (batch.length === limit) break;
      const padded = Math.max(dearest, entry.weight) * (batch.length + 1);
      const useful = sum + entry.weight;
      if (batch.length > 0 && (padded > weightMax || useful < padded * (1 - PADDING_MAX))) continue;
      batch.push(entry);
      dearest = Math.max(dearest, entry.weight);
      sum = useful;
    }
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((entry) => !taken.has(entry));
    this.#weight -= sum;
    return batch;
  }
}
