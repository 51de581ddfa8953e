/**
 * The runners of a pool: opened when they are first needed, kept, and given up when a run does not return. A thread in
 * which the runtime is busy cannot be ended without ending the process, so a runner that is given up keeps its memory until
 * its run returns, if it ever does; that is why only a few may be.
 */
import type { BatchRunner, PoolOptions, RunnerKind } from "./batch-runner.ts";

/** So many runners may be given up before the pool serves nobody. */
export const GIVEN_UP_MAX = 2;

/** The runners. */
export class Runners<Job, Result> {
  readonly #open: Readonly<Record<RunnerKind, () => Promise<BatchRunner<Job, Result>>>>;
  readonly #free: Readonly<Record<RunnerKind, BatchRunner<Job, Result>[]>> = { wide: [], narrow: [] };
  readonly #kept: Set<BatchRunner<Job, Result>> = new Set();
  readonly #givenUp: Set<BatchRunner<Job, Result>> = new Set();
  readonly #warm: WeakSet<BatchRunner<Job, Result>> = new WeakSet();
  #preparing: Promise<void> | undefined;
  #failure: string | undefined;

  constructor({ openWide, openNarrow }: Pick<PoolOptions<Job, Result>, "openWide" | "openNarrow">) {
    this.#open = { wide: openWide, narrow: openNarrow };
  }

  /** How many there are, given up ones included: each holds the memory of a session. */
  get count(): number {
    return this.#kept.size + this.#givenUp.size;
  }

  /** How many were given up and have not returned. */
  get givenUp(): number {
    return this.#givenUp.size;
  }

  /** Why no runner could be made, when that was last tried. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Whether a runner is being made that nobody waits for. */
  get isPreparing(): boolean {
    return this.#preparing !== undefined;
  }

  isFree(kind: RunnerKind): boolean {
    return this.#free[kind].length > 0;
  }

  /** A free runner, or a new one. */
  async take(kind: RunnerKind): Promise<BatchRunner<Job, Result>> {
    return this.#free[kind].pop() ?? (await this.#make(kind));
  }

  /** A runner is free again. */
  give(kind: RunnerKind, runner: BatchRunner<Job, Result>): void {
    this.#free[kind].push(runner);
  }

  /** Makes a runner while others serve; one at a time. */
  prepare(kind: RunnerKind): void {
    this.#preparing ??= this.#make(kind)
      .then(
        (runner) => this.give(kind, runner),
        // Who needs it is told when it is made for them.
        () => undefined,
      )
      .finally(() => {
        this.#preparing = undefined;
      });
  }

  /** Whether the runner has run before. The first run makes a session ready, and is slower than those that follow. */
  isWarm(runner: BatchRunner<Job, Result>): boolean {
    const isWarm = this.#warm.has(runner);
    this.#warm.add(runner);
    return isWarm;
  }

  /** A runner's run does not return: nothing more is asked of it. */
  giveUp(runner: BatchRunner<Job, Result>): void {
    this.#kept.delete(runner);
    this.#givenUp.add(runner);
    runner.abandon?.();
  }

  /** The run of a runner that was given up has returned after all: it is freed, another one is in its place. */
  returned(runner: BatchRunner<Job, Result>): void {
    this.#givenUp.delete(runner);
    void runner.close();
  }

  /** Frees all but those that were given up: they read it when their run returns, and nobody waits for that. */
  async close(): Promise<void> {
    await this.#preparing;
    for (const runner of this.#givenUp) void runner.close();
    await Promise.all([...this.#kept].map((runner) => runner.close()));
  }

  async #make(kind: RunnerKind): Promise<BatchRunner<Job, Result>> {
    try {
      const runner = await this.#open[kind]();
      this.#failure = undefined;
      this.#kept.add(runner);
      return runner;
    } catch (error) {
      this.#failure = error instanceof Error ? error.message : String(error);
      throw error;
    }
  }
}
