/**
 * Runners that adapt: a job that comes alone may use every core; jobs that overlap run on one core each and form batches
 * while they wait. What would come too late is refused before it waits, and what is late is told so, whether it waits or
 * runs.
 *
 * Urgent jobs (queries) go before all others, and what is not urgent runs in batches that end soon: a runner cannot be taken
 * from what it runs, so this is how long a query waits while a feed is embedded.
 *
 * A batch on every core ends sooner, but less is done in all, for what is spent on sharing the work out. So the pool is
 * wide only while each job finds it idle, and becomes wide again when a few jobs in a row did; and only as long as that is
 * indeed faster (lone-speed.ts).
 */
import { ServiceError } from "@brooklet/wire";
import type { Deadline } from "../embedder.ts";
import { TIMER_MS_MAX } from "../in-time.ts";
import type { BatchRunner, PoolOptions, RunnerKind } from "./batch-runner.ts";
import { LoneSpeed } from "./lone-speed.ts";
import { type Outcome, Queue, type Waiting } from "./queue.ts";
import { GIVEN_UP_MAX, Runners } from "./runners.ts";

/** Jobs in a row that must have found the pool idle before it is wide again. */
const CALM_JOBS = 3;
/** How much the newest batch counts in the measured speed. */
const SPEED_SHARE = 0.2;
/** A batch of jobs that are not urgent takes about so many milliseconds at most, unless the options say otherwise. */
const PATIENT_RUN_MS = 50;
/** A run that nobody waits for is given up after so many milliseconds, unless the options say otherwise. */
const GIVEN_UP_AFTER_MS = 60_000;

/** What a pool has done, for metrics and benches. */
export interface PoolStatistics {
  readonly waiting: number;
  /** Those of them that are urgent. */
  readonly waitingUrgent: number;
  readonly running: number;
  readonly wideBatches: number;
  readonly narrowBatches: number;
  readonly jobs: number;
  readonly refused: number;
  /** Sessions in memory, those that do not return among them. */
  readonly runners: number;
  /** Sessions whose run does not return. */
  readonly givenUp: number;
  /** Why no session could be opened, when that was last tried. */
  readonly failure: string | undefined;
}

/** A batch under way. */
interface Run<Job, Result> {
  readonly kind: RunnerKind;
  readonly batch: readonly Waiting<Job, Result>[];
  /** Whether it is one job that came alone. */
  readonly isLone: boolean;
}

/** The pool. */
export class AdaptivePool<Job, Result> {
  readonly #options: PoolOptions<Job, Result>;
  readonly #nowMs: () => number;
  readonly #queue: Queue<Job, Result> = new Queue();
  readonly #runners: Runners<Job, Result>;
  readonly #lone: LoneSpeed = new LoneSpeed();
  readonly #running: Record<RunnerKind, number> = { wide: 0, narrow: 0 };
  readonly #batches: Record<RunnerKind, number> = { wide: 0, narrow: 0 };
  #calm = CALM_JOBS;
  #msPerWeight = 0;
  #jobs = 0;
  #refused = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  constructor(options: PoolOptions<Job, Result>) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#runners = new Runners(options);
  }

  /** Runs a job when a runner is free. */
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
        isUrgent: this.#isUrgent(job),
        deadline,
        finish: (outcome) => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          if ("error" in outcome) reject(outcome.error);
          else resolve(outcome.result);
        },
      };
      // The runtime cannot be stopped: a run that is under way ends by itself, and nobody waits for it.
      const leave = (error: unknown): void => {
        this.#queue.remove(entry);
        entry.finish({ error });
      };
      const onAbort = (): void => leave(signal?.reason);
      const timer = setTimeout(() => leave(late()), Math.min(deadline.leftMs(), TIMER_MS_MAX));
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
      waitingUrgent: this.#queue.ahead(true).jobs,
      running: this.#runningCount(),
      wideBatches: this.#batches.wide,
      narrowBatches: this.#batches.narrow,
      jobs: this.#jobs,
      refused: this.#refused,
      runners: this.#runners.count,
      givenUp: this.#runners.givenUp,
      failure: this.#runners.failure,
    };
  }

  /** Refuses what waits, lets what runs end, and frees the runners. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#refuseWaiting(closing());
    if (this.#runningCount() > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await this.#runners.close();
  }

  #refuseWaiting(error: ServiceError): void {
    for (const entry of this.#queue.drain()) entry.finish({ error });
  }

  #runningCount(): number {
    return this.#running.wide + this.#running.narrow;
  }

  #isIdle(): boolean {
    return this.#queue.length === 0 && this.#runningCount() === 0;
  }

  #refusal(job: Job, deadline: Deadline): unknown {
    if (this.#closing !== undefined) return closing();
    if (deadline.signal?.aborted === true) return deadline.signal.reason;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) return late();
    if (this.#runners.givenUp >= GIVEN_UP_MAX) return stuck(this.#runners.givenUp);
    const ahead = this.#queue.ahead(this.#isUrgent(job));
    if (ahead.jobs >= this.#options.queueJobs) {
      return new ServiceError("OVERLOADED", `The model has ${ahead.jobs} texts waiting; more are refused`);
    }
    const weight = ahead.weight / Math.max(1, this.#runnerCount()) + this.#options.weigh(job);
    const expectedMs = weight * this.#msPerWeight;
    if (ahead.jobs > 0 && expectedMs > leftMs) {
      const text = `The model would need about ${Math.ceil(expectedMs)} ms, and ${Math.floor(leftMs)} ms are left`;
      return new ServiceError("OVERLOADED", text);
    }
    return undefined;
  }

  #isUrgent(job: Job): boolean {
    return this.#options.isUrgent?.(job) ?? true;
  }

  #runnerCount(): number {
    return this.#options.mode === "wide" ? 1 : this.#options.narrowRunners;
  }

  /** Whether there is one job only, and has been for a while. */
  #isLone(): boolean {
    return this.#queue.length === 1 && this.#runningCount() === 0 && this.#calm >= CALM_JOBS;
  }

  #dispatch(): void {
    while (this.#queue.length > 0 && this.#running.wide === 0 && this.#closing === undefined) {
      const isLone = this.#isLone();
      const kind = this.#kind(isLone);
      const free = kind === "wide" ? 1 : this.#options.narrowRunners - this.#running.narrow;
      if (free <= 0) return;
      const batch = this.#take(free);
      if (batch.length > 0) void this.#run({ kind, batch, isLone });
    }
  }

  #kind(isLone: boolean): RunnerKind {
    const { mode } = this.#options;
    if (mode !== "adaptive") return mode;
    if (!isLone) return "narrow";
    const isWide = this.#lone.prefersWide(this.#queue.nextWeight, this.#nowMs());
    const [wanted, other]: readonly [RunnerKind, RunnerKind] = isWide ? ["wide", "narrow"] : ["narrow", "wide"];
    if (this.#runners.isFree(wanted) || !this.#runners.isFree(other)) return wanted;
    // A job that comes alone does not wait for a session to be made while another one can serve it.
    this.#runners.prepare(wanted);
    return other;
  }

  /** A batch of jobs that are still waited for. */
  #take(share: number): readonly Waiting<Job, Result>[] {
    const { batchJobs, batchWeight, patientRunMs = PATIENT_RUN_MS } = this.#options;
    const soonWeight = this.#msPerWeight === 0 ? batchWeight : patientRunMs / this.#msPerWeight;
    const limits = { jobs: batchJobs, urgentWeight: batchWeight, patientWeight: Math.min(batchWeight, soonWeight) };
    const batch = this.#queue.takeBatch(limits, share);
    const inTime = batch.filter((entry) => entry.deadline.leftMs() > 0);
    for (const entry of batch) if (!inTime.includes(entry)) entry.finish({ error: late() });
    return inTime;
  }

  /** Runs a batch; the runner is free again before anybody hears of it, since who hears may ask for more at once. */
  async #run(run: Run<Job, Result>): Promise<void> {
    const { kind, batch } = run;
    this.#running[kind] += 1;
    this.#batches[kind] += 1;
    this.#jobs += batch.length;
    let outcomes: readonly Outcome<Result>[];
    try {
      const runner = await this.#runners.take(kind);
      const results = await this.#watched(run, runner);
      // It was given up: all that waited for it are gone, and another runner may run in its place.
      if (results === undefined) return;
      outcomes = results.map((result) => ({ result }));
    } catch (error) {
      outcomes = batch.map(() => ({ error }));
    }
    this.#running[kind] -= 1;
    batch.forEach((entry, index) => {
      const outcome = outcomes[index];
      if (outcome !== undefined) entry.finish(outcome);
    });
    this.#goOn();
  }

  /** What a runner makes of a batch; nothing if it was given up before that. */
  async #watched(run: Run<Job, Result>, runner: BatchRunner<Job, Result>): Promise<readonly Result[] | undefined> {
    const { kind, batch } = run;
    const { givenUpAfterMs = GIVEN_UP_AFTER_MS } = this.#options;
    const waitedForMs = Math.max(givenUpAfterMs, ...batch.map(({ deadline }) => deadline.leftMs()));
    let isGivenUp = false;
    const giveUp = (): void => {
      isGivenUp = true;
      this.#giveUp(kind, runner, waitedForMs);
    };
    const timer = setTimeout(giveUp, Math.min(waitedForMs, TIMER_MS_MAX));
    const began = this.#nowMs();
    try {
      const results = await runner.run(batch.map((entry) => entry.job));
      if (isGivenUp) return undefined;
      if (results.length !== batch.length) throw new Error(`${results.length} results for ${batch.length} jobs`);
      this.#measure(run, this.#nowMs() - began, this.#runners.isWarm(runner));
      return results;
    } catch (error) {
      if (isGivenUp) return undefined;
      throw error;
    } finally {
      clearTimeout(timer);
      if (isGivenUp) this.#runners.returned(runner);
      else this.#runners.give(kind, runner);
    }
  }

  #giveUp(kind: RunnerKind, runner: BatchRunner<Job, Result>, afterMs: number): void {
    this.#running[kind] -= 1;
    this.#runners.giveUp(runner);
    const { givenUp } = this.#runners;
    this.#options.onGivenUp?.({ afterMs, givenUp, isLast: givenUp >= GIVEN_UP_MAX });
    if (givenUp >= GIVEN_UP_MAX) this.#refuseWaiting(stuck(givenUp));
    this.#goOn();
  }

  #goOn(): void {
    if (this.#closing === undefined) this.#dispatch();
    else if (this.#runningCount() === 0) this.#idle?.();
  }

  /** Learns what a unit of cost takes on one core, and how fast a job is alone. */
  #measure({ kind, batch, isLone }: Run<Job, Result>, ms: number, isWarm: boolean): void {
    const weight = batch.reduce((sum, entry) => sum + entry.weight, 0);
    const cores = kind === "wide" ? this.#runnerCount() : 1;
    const seen = (ms * cores) / Math.max(1, weight);
    this.#msPerWeight = this.#msPerWeight === 0 ? seen : this.#msPerWeight + (seen - this.#msPerWeight) * SPEED_SHARE;
    // A job that others joined while it ran was not alone, and neither was one beside which a session was made.
    const wasAlone = isLone && this.#calm >= CALM_JOBS && !this.#runners.isPreparing;
    if (wasAlone && isWarm) this.#lone.measured(kind === "wide", weight, ms, this.#nowMs());
  }
}

function closing(): ServiceError {
  return new ServiceError("UNAVAILABLE", "The model is being closed");
}

function late(): ServiceError {
  return new ServiceError("TIMED_OUT", "The time was over before the model had answered");
}

function stuck(runs: number): ServiceError {
  return new ServiceError(
    "UNAVAILABLE",
    `${runs} runs of the model do not return, so it is asked nothing more; restart it`,
  );
}
