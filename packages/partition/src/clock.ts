/**
 * The clock of this thread. Platforms that run many programs in one process let theirs stand still while nothing is waited for
 * (Cloudflare Workers: "only advance or increment after I/O occurs"); a deadline would never pass there, and a slice of
 * maintenance never end. So where the platform's clock did not move though work was done, the work moves this one.
 */

/** What work is taken to last, where no clock tells: the bytes of stored blocks that are read, checked and looked at. */
const BYTES_PER_MS = 1 << 20;
/** A step of a task beside that: it looks at so much that is in memory already, at the least. */
const STEP_MS = 0.01;
/** What a task does before it pauses. */
const PAUSE_MS = 0.25;

/** What a task did since the clock was looked at. */
export interface Work {
  /** Bytes that it was given. */
  readonly bytes: number;
  /** It paused: it had done as much as is done in one step. */
  readonly paused: boolean;
}

/** A monotonic clock, milliseconds. */
export class Clock {
  readonly #platform: () => number;
  /** What the platform's clock said last. */
  #seenMs: number;
  #nowMs: number;
  /** How much of `nowMs` the platform's has not passed yet. */
  #aheadMs = 0;

  /** `platform`: a monotonic clock that may stand still. */
  constructor(platform: () => number) {
    this.#platform = platform;
    this.#seenMs = platform();
    this.#nowMs = this.#seenMs;
  }

  /** Milliseconds since some moment. */
  now(): number {
    this.#look();
    return this.#nowMs;
  }

  /** Notes work that was done: it took time, also if the platform's clock does not say so. */
  worked({ bytes, paused }: Work): void {
    if (this.#look() > 0) return;
    const workedMs = bytes / BYTES_PER_MS + (paused ? PAUSE_MS : STEP_MS);
    this.#aheadMs += workedMs;
    this.#nowMs += workedMs;
  }

  /** How far the platform's clock moved since it was looked at. What this one is ahead it does not move again. */
  #look(): number {
    const platformMs = this.#platform();
    const movedMs = platformMs - this.#seenMs;
    this.#seenMs = platformMs;
    if (movedMs <= 0) return 0;
    const caughtMs = Math.min(this.#aheadMs, movedMs);
    this.#aheadMs -= caughtMs;
    this.#nowMs += movedMs - caughtMs;
    return movedMs;
  }
}

/** The clock of this thread. */
export const clock: Clock = new Clock(() => performance.now());
