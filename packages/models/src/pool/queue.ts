/**
 * Jobs that wait for a runner, and how batches are made of them: urgent ones first, of each kind the oldest. A batch is of one
 * kind, so that no urgent job waits for the end of a long batch of others that it happens to be in.
 */
import type { Deadline } from "../embedder.ts";

/** How a job ended. */
export type Outcome<Result> = { readonly result: Result } | { readonly error: unknown };

/** A job that waits. */
export interface Waiting<Job, Result> {
  readonly job: Job;
  readonly weight: number;
  readonly isUrgent: boolean;
  readonly deadline: Deadline;
  readonly finish: (outcome: Outcome<Result>) => void;
}

/** A job is put into a batch only if padding it to the length of the dearest wastes at most this part. */
const PADDING_MAX = 0.34;

/** How much a batch may hold. */
export interface BatchLimits {
  readonly jobs: number;
  /** Of urgent jobs, and of others. */
  readonly urgentWeight: number;
  readonly patientWeight: number;
}

/** Jobs of one kind, oldest first. */
class Line<Job, Result> {
  waiting: Waiting<Job, Result>[] = [];
  weight = 0;

  set(waiting: Waiting<Job, Result>[]): void {
    this.waiting = waiting;
    this.weight = waiting.reduce((sum, entry) => sum + entry.weight, 0);
  }

  add(entry: Waiting<Job, Result>): void {
    this.waiting.push(entry);
    this.weight += entry.weight;
  }
}

/** The queue. */
export class Queue<Job, Result> {
  readonly #urgent: Line<Job, Result> = new Line();
  readonly #patient: Line<Job, Result> = new Line();

  /** How many wait. */
  get length(): number {
    return this.#urgent.waiting.length + this.#patient.waiting.length;
  }

  /** What the next job costs; 0 if none waits. */
  get nextWeight(): number {
    return this.#next().waiting[0]?.weight ?? 0;
  }

  /** What stands before a job that is added now: of an urgent one only others such. */
  ahead(isUrgent: boolean): { readonly jobs: number; readonly weight: number } {
    const { waiting, weight } = this.#urgent;
    if (isUrgent) return { jobs: waiting.length, weight };
    return { jobs: this.length, weight: weight + this.#patient.weight };
  }

  add(entry: Waiting<Job, Result>): void {
    this.#lineOf(entry).add(entry);
  }

  /** Takes a job out that nobody waits for any longer; false if it is not here. */
  remove(entry: Waiting<Job, Result>): boolean {
    const line = this.#lineOf(entry);
    if (!line.waiting.includes(entry)) return false;
    line.set(line.waiting.filter((other) => other !== entry));
    return true;
  }

  /** Takes all out. */
  drain(): readonly Waiting<Job, Result>[] {
    const all = [...this.#urgent.waiting, ...this.#patient.waiting];
    this.#urgent.set([]);
    this.#patient.set([]);
    return all;
  }

  /**
   * Takes a batch: the oldest job, so that none waits for ever among its kind, and with it those of about its size, in
   * order of age. It takes at most a fair share of what waits, so that other free runners get theirs.
   */
  takeBatch({ jobs, urgentWeight, patientWeight }: BatchLimits, share: number): readonly Waiting<Job, Result>[] {
    const line = this.#next();
    const weightMax = line === this.#urgent ? urgentWeight : patientWeight;
    const limit = Math.max(1, Math.min(jobs, Math.ceil(line.waiting.length / share)));
    const batch: Waiting<Job, Result>[] = [];
    let dearest = 0;
    let sum = 0;
    for (const entry of line.waiting) {
      if (batch.length === limit) break;
      const padded = Math.max(dearest, entry.weight) * (batch.length + 1);
      const useful = sum + entry.weight;
      if (batch.length > 0 && (padded > weightMax || useful < padded * (1 - PADDING_MAX))) continue;
      batch.push(entry);
      dearest = Math.max(dearest, entry.weight);
      sum = useful;
    }
    const taken = new Set(batch);
    line.set(line.waiting.filter((entry) => !taken.has(entry)));
    return batch;
  }

  #next(): Line<Job, Result> {
    return this.#urgent.waiting.length > 0 ? this.#urgent : this.#patient;
  }

  #lineOf({ isUrgent }: Waiting<Job, Result>): Line<Job, Result> {
    return isUrgent ? this.#urgent : this.#patient;
  }
}
