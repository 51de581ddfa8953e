/**
 * Loads that make operations of tails, where many of them come at once: in turns between which requests run, a bucket after the other,
 * and those of a bucket are told together, so that what they write is one commit all the same.
 */
import type { Bucket } from "@brooklet/store";
import { clock } from "../clock.ts";
import { SLICE_MS, TOLD_BYTES, TOLD_LOADS, TOLD_OPERATIONS } from "../limits.ts";

/** What a load comes to, which is not told yet. */
type Telling = () => void;

interface Waiting {
  readonly operations: number;
  readonly bytes: number;
  readonly make: () => Promise<Telling>;
}

/** Those of a thread. */
export class TailLoads {
  readonly #turn: () => Promise<void>;
  /** By buckets, of which the first is next. */
  readonly #waiting = new Map<Bucket, Waiting[]>();
  #isRunning = false;

  /** `turn`: gives everyone else a turn. */
  constructor(turn: () => Promise<void>) {
    this.#turn = turn;
  }

  /** Does the work of a load of so much after the others. The first of all is begun at once. */
  make<Result>(
    bucket: Bucket,
    { count, operations }: { readonly count: number; readonly operations: Uint8Array },
    work: () => Promise<Result>,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const make = (): Promise<Telling> =>
        work().then(
          (result) => () => resolve(result),
          (error: unknown) => () => reject(error),
        );
      const waiting = { operations: count, bytes: operations.length, make };
      const others = this.#waiting.get(bucket);
      if (others === undefined) this.#waiting.set(bucket, [waiting]);
      else others.push(waiting);
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      await this.#makeSome(next);
      await this.#turn();
    }
    this.#isRunning = false;
  }

  /** The bucket that is next, which is after all others then. */
  #take(): Waiting[] | undefined {
    for (const [bucket, waiting] of this.#waiting) {
      this.#waiting.delete(bucket);
      if (waiting.length === 0) continue;
      this.#waiting.set(bucket, waiting);
      return waiting;
    }
    return undefined;
  }

  /** Does as many of a bucket as one commit takes; those that come meanwhile too. */
  async #makeSome(waiting: Waiting[]): Promise<void> {
    const told: Telling[] = [];
    let [at, operations, bytes, startMs] = [0, 0, 0, clock.now()];
    for (let next = waiting[0]; next !== undefined; next = waiting[at]) {
      const isOver = operations + next.operations > TOLD_OPERATIONS || bytes + next.bytes > TOLD_BYTES;
      if (at >= TOLD_LOADS || (at > 0 && isOver)) break;
      at += 1;
      operations += next.operations;
      bytes += next.bytes;
      told.push(await next.make());
      if (clock.now() - startMs < SLICE_MS) continue;
      await this.#turn();
      startMs = clock.now();
    }
    waiting.splice(0, at);
    for (const tell of told) tell();
  }
}
