/** What runs batches: one thread with a model in it. */

/** A runner runs one batch at a time. One that failed can be asked again: it sees to its own recovery. */
export interface BatchRunner<Job, Result> {
  /** A result for each job, in order. Rejects when the batch as a whole failed. */
  run(batch: readonly Job[]): Promise<readonly Result[]>;
  /** Nobody waits for the batch under way any longer: the runner keeps no process alive. */
  abandon?(): void;
  /** Frees the runner after the batch under way. */
  close(): Promise<void>;
}

/** A runner with every core, or with one. */
export type RunnerKind = "wide" | "narrow";

/**
 * How runners are used. `wide`: one runner with every core. `narrow`: as many runners as cores, each on one core. `adaptive`:
 * wide for a request that comes alone to an idle pool, narrow while requests overlap.
 */
export type PoolMode = "adaptive" | RunnerKind;

/** A run that nobody waits for any longer, and that does not return. */
export interface GivenUpRun {
  readonly afterMs: number;
  /** How many such there are now. */
  readonly givenUp: number;
  /** Whether the pool serves nobody until one of them returns. */
  readonly isLast: boolean;
}

/** What a pool needs. */
export interface PoolOptions<Job, Result> {
  readonly mode: PoolMode;
  /** Makes the runner that may use every core. Made when it is first needed. */
  readonly openWide: () => Promise<BatchRunner<Job, Result>>;
  /** Makes a runner that uses one core. */
  readonly openNarrow: () => Promise<BatchRunner<Job, Result>>;
  /** How many narrow runners at most. */
  readonly narrowRunners: number;
  /** What a job costs, in any unit that time is proportional to (tokens). */
  readonly weigh: (job: Job) => number;
  /** Whether somebody waits for the answer to a job at a screen, so that it goes before those that are not; all of them unless given. */
  readonly isUrgent?: (job: Job) => boolean;
  /** How long a batch of jobs that are not urgent may take, milliseconds: so long an urgent one may wait for a runner. 50 unless given. */
  readonly patientRunMs?: number;
  /** Jobs in a batch at most. */
  readonly batchJobs: number;
  /** Cost of a batch at most, each job counted as dear as the dearest, as padding makes it. */
  readonly batchWeight: number;
  /** Jobs that may wait at most. */
  readonly queueJobs: number;
  /** A run that nobody waits for any longer is given up after so many milliseconds; 60,000 unless given. */
  readonly givenUpAfterMs?: number;
  /** Told when a run is given up. */
  readonly onGivenUp?: (run: GivenUpRun) => void;
  /** Milliseconds that only grow; those of the process unless given. */
  readonly nowMs?: () => number;
}
