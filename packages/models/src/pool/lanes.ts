/**
 * The lanes of a pool: opened when they are first needed, kept, and given up when a run does not return. A thread in
 * which the runtime is busy cannot be ended without ending the process, so a lane that is given up keeps its memory until
 * its run returns, if it ever does; that is why only a few may be.
 */
import type { Lane, LaneKind, PoolOptions } from "./lane.ts";

/** So many lanes may be given up before the pool serves nobody. */
export const GIVEN_UP_MAX = 2;

/** The lanes. */
export class Lanes<Job, Result> {
  readonly #open: Readonly<Record<LaneKind, () => Promise<Lane<Job, Result>>>>;
  readonly #free: Readonly<Record<LaneKind, Lane<Job, Result>[]>> = { wide: [], narrow: [] };
  readonly #kept: Set<Lane<Job, Result>> = new Set();
  readonly #givenUp: Set<Lane<Job, Result>> = new Set();
  readonly #warm: WeakSet<Lane<Job, Result>> = new WeakSet();
  #preparing: Promise<void> | undefined;

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

  /** Whether a lane is being made that nobody waits for. */
  get isPreparing(): boolean {
    return this.#preparing !== undefined;
  }

  isFree(kind: LaneKind): boolean {
    return this.#free[kind].length > 0;
  }

  /** A free lane, or a new one. */
  async take(kind: LaneKind): Promise<Lane<Job, Result>> {
    return this.#free[kind].pop() ?? (await this.#make(kind));
  }

  /** A lane is free again. */
  give(kind: LaneKind, lane: Lane<Job, Result>): void {
    this.#free[kind].push(lane);
  }

  /** Makes a lane while others serve; one at a time. */
  prepare(kind: LaneKind): void {
    this.#preparing ??= this.#make(kind)
      .then(
        (lane) => this.give(kind, lane),
        // Who needs it is told when it is made for them.
        () => undefined,
      )
      .finally(() => {
        this.#preparing = undefined;
      });
  }

  /** Whether the lane has run before. The first run makes a session ready, and is slower than those that follow. */
  isWarm(lane: Lane<Job, Result>): boolean {
    const isWarm = this.#warm.has(lane);
    this.#warm.add(lane);
    return isWarm;
  }

  /** A lane's run does not return: nothing more is asked of it. */
  giveUp(lane: Lane<Job, Result>): void {
    this.#kept.delete(lane);
    this.#givenUp.add(lane);
    lane.abandon?.();
  }

  /** The run of a lane that was given up has returned after all: it is freed, another one is in its place. */
  returned(lane: Lane<Job, Result>): void {
    this.#givenUp.delete(lane);
    void lane.close();
  }

  /** Frees all but those that were given up: they read it when their run returns, and nobody waits for that. */
  async close(): Promise<void> {
    await this.#preparing;
    for (const lane of this.#givenUp) void lane.close();
    await Promise.all([...this.#kept].map((lane) => lane.close()));
  }

  async #make(kind: LaneKind): Promise<Lane<Job, Result>> {
    const lane = await this.#open[kind]();
    this.#kept.add(lane);
    return lane;
  }
}
