/**
 * Lanes that adapt: a job that comes alone may use every core; jobs that overlap run on one core each and form batches
 * while they wait. What would come too late is refused before it waits.
 *
 * A batch on every core ends sooner, but less is done in all, for what is spent on sharing the work out. So the pool is
 * wide only while each job finds it idle, and becomes wide again when a few jobs in a row did; and only as long as that is
 * indeed faster (lone-speed.ts).
 */
import { ServiceError } from "@brooklet/wire";
import type { Deadline } from "../embedder.ts";
import type { Lane, PoolOptions } from "./lane.ts";
import { LoneSpeed } from "./lone-speed.ts";
import { type Outcome, Queue, type Waiting } from "./queue.ts";

/** Jobs in a row that must have found the pool idle before it is wide again. */
const CALM_JOBS = 3;
/** How much the newest batch counts in the measured speed. */
const SPEED_SHARE = 0.2;

/** What a pool has done, for metrics and benches. */
export interface PoolStatistics {
  readonly waiting: number;
  readonly running: number;
  readonly wideBatches: number;
  readonly narrowBatches: number;
  readonly jobs: number;
  readonly refused: number;
  readonly lanes: number;
}

/** The pool. */
export class AdaptivePool<Job, Result> {
  readonly #options: PoolOptions<Job, Result>;
  readonly #queue: Queue<Job, Result> = new Queue();
  readonly #freeNarrow: Lane<Job, Result>[] = [];
  readonly #all: Set<Lane<Job, Result>> = new Set();
  readonly #lone: LoneSpeed = new LoneSpeed();
  #wide: Lane<Job, Result> | undefined;
  #runningWide = 0;
  #runningNarrow = 0;
  #calm = CALM_JOBS;
  #msPerWeight = 0;
  #wideBatches = 0;
  #narrowBatches = 0;
  #jobs = 0;
  #refused = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(options: PoolOptions<Job, Result>) {
    this.#options = options;
  }

  /** Runs a job when a lane is free. */
  run(job: Job, deadline: Deadline): Promise<Result> {
    return new Promise((resolve, reject) => {
      const refusal = this.#refusal(job, deadline);
      if (refusal !== undefined) {
        this.#refused += 1;
        reject(refusal);
        return;
      }
      this.#calm = this.#isIdle() ? Math.min(this.#calm + 1, CALM_JOBS) : 0;
      const { signal } = deadline;
      const entry: Waiting<Job, Result> = {
        job,
        weight: this.#options.weigh(job),
        deadline,
        settle: (outcome) => {
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result);
        },
      };
      const onAbort = (): void => {
        if (this.#queue.remove(entry)) entry.settle({ error: signal?.reason });
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#queue.add(entry);
      // Jobs of one request are given in one go: how many came together is known a moment later.
      queueMicrotask(() => this.#dispatch());
    });
  }

  /** What it has done until now. */
  statistics(): PoolStatistics {
    return {
      waiting: this.#queue.length,
      running: this.#runningWide + this.#runningNarrow,
      wideBatches: this.#wideBatches,
      narrowBatches: this.#narrowBatches,
      jobs: this.#jobs,
      refused: this.#refused,
      lanes: this.#all.size,
    };
  }

  /** Refuses what waits, lets what runs end, and frees the lanes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const entry of this.#queue.drain()) entry.settle({ error: closing() });
    if (this.#runningWide + this.#runningNarrow > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await Promise.all([...this.#all].map((lane) => lane.close()));
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#runningWide + this.#runningNarrow === 0;
  }

  #refusal(job: Job, deadline: Deadline): unknown {
    if (this.#closing !== undefined) return closing();
    if (deadline.signal?.aborted === true) return deadline.signal.reason;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) return late();
    if (this.#queue.length >= this.#options.queueJobs) {
      return new ServiceError("OVERLOADED", `The model has ${this.#queue.length} texts waiting; more are refused`);
    }
    const ahead = this.#queue.weight / Math.max(1, this.#laneCount()) + this.#options.weigh(job);
    const expectedMs = ahead * this.#msPerWeight;
    if (this.#queue.length > 0 && expectedMs > leftMs) {
      const text = `The model would need about ${Math.ceil(expectedMs)} ms, and ${Math.floor(leftMs)} ms are left`;
      return new ServiceError("OVERLOADED", text);
    }
    return undefined;
  }

  #laneCount(): number {
    return this.#options.mode === "wide" ? 1 : this.#options.narrowLanes;
  }

  #isWide(): boolean {
    if (this.#options.mode !== "adaptive") return this.#options.mode === "wide";
    return this.#isLone() && this.#lone.prefersWide();
  }

  /** Whether there is one job only, and has been for a while. */
  #isLone(): boolean {
    return this.#queue.length === 1 && this.#runningNarrow === 0 && this.#calm >= CALM_JOBS;
  }

  #dispatch(): void {
    while (this.#queue.length > 0 && this.#runningWide === 0 && this.#closing === undefined) {
      const isLone = this.#isLone();
      if (this.#isWide()) this.#startWide();
      else if (this.#runningNarrow < this.#options.narrowLanes) this.#startNarrow(isLone);
      else return;
    }
  }

  #startWide(): void {
    const batch = this.#take(1);
    if (batch.length === 0) return;
    this.#runningWide += 1;
    this.#wideBatches += 1;
    const lane = async (): Promise<Lane<Job, Result>> => {
      this.#wide ??= this.#keep(await this.#options.openWide());
      return this.#wide;
    };
    const leave = (): void => {
      this.#runningWide -= 1;
    };
    void this.#runBatch(lane, batch, { cores: this.#laneCount(), isLone: true }, leave);
  }

  #startNarrow(isLone: boolean): void {
    const batch = this.#take(this.#options.narrowLanes - this.#runningNarrow);
    if (batch.length === 0) return;
    this.#runningNarrow += 1;
    this.#narrowBatches += 1;
    let used: Lane<Job, Result> | undefined;
    const lane = async (): Promise<Lane<Job, Result>> => {
      used = this.#freeNarrow.pop() ?? this.#keep(await this.#options.openNarrow());
      return used;
    };
    const leave = (): void => {
      if (used !== undefined) this.#freeNarrow.push(used);
      this.#runningNarrow -= 1;
    };
    void this.#runBatch(lane, batch, { cores: 1, isLone }, leave);
  }

  #keep(lane: Lane<Job, Result>): Lane<Job, Result> {
    this.#all.add(lane);
    return lane;
  }

  /** A batch of jobs that are still waited for. */
  #take(share: number): readonly Waiting<Job, Result>[] {
    const { batchJobs, batchWeight } = this.#options;
    const batch = this.#queue.takeBatch(batchJobs, batchWeight, share);
    const inTime = batch.filter((entry) => entry.deadline.leftMs() > 0);
    for (const entry of batch) if (!inTime.includes(entry)) entry.settle({ error: late() });
    return inTime;
  }

  /** Runs a batch; the lane is free again before anybody hears of it, since who hears may ask for more at once. */
  async #runBatch(
    open: () => Promise<Lane<Job, Result>>,
    batch: readonly Waiting<Job, Result>[],
    how: { readonly cores: number; readonly isLone: boolean },
    leave: () => void,
  ): Promise<void> {
    this.#jobs += batch.length;
    let outcomes: readonly Outcome<Result>[];
    try {
      const lane = await open();
      const began = performance.now();
      const results = await lane.run(batch.map((entry) => entry.job));
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} jobs`);
      this.#measure(batch, performance.now() - began, how);
      outcomes = results.map((result) => ({ result }));
    } catch (error) {
      outcomes = batch.map(() => ({ error }));
    }
    leave();
    batch.forEach((entry, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined) entry.settle(outcome);
    });
    if (this.#closing === undefined) this.#dispatch();
    else if (this.#runningWide + this.#runningNarrow === 0) this.#idle?.();
  }

  /** Learns what a unit of cost takes on one core, and how fast a job is alone. */
  #measure(batch: readonly Waiting<Job, Result>[], ms: number, how: { cores: number; isLone: boolean }): void {
    const weight = batch.reduce((sum, entry) => sum + entry.weight, 0);
    const seen = (ms * how.cores) / Math.max(1, weight);
    this.#msPerWeight = this.#msPerWeight === 0 ? seen : this.#msPerWeight + (seen - this.#msPerWeight) * SPEED_SHARE;
    // A job that others joined while it ran was not alone.
    if (how.isLone && this.#calm >= CALM_JOBS) this.#lone.measured(how.cores > 1, weight, ms);
  }
}

function closing(): ServiceError {
  return new ServiceError("UNAVAILABLE", "The model is being closed");
}

function late(): ServiceError {
  return new ServiceError("TIMED_OUT", "The time was over before the model was asked");
}
