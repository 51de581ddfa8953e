/** Until when a request is worth answering: by the monotonic clock, so that setting the wall clock changes nothing. */

import type { Gone } from "./cancellation.ts";
import { clock } from "./clock.ts";

/** The longest that Node's timers wait; they take more for nothing at all. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** When the caller of a request began to wait, who has `waitedMs` behind it. */
export function beganMs({ waitedMs = 0 }: { readonly waitedMs?: number }): number {
  return clock.now() - waitedMs;
}

/** A moment that passes, or that comes at once when nobody waits for the answer any more. */
export class Deadline {
  readonly #atMs: number;
  readonly #gone: Gone | undefined;

  private constructor(atMs: number, gone: Gone | undefined) {
    this.#atMs = atMs;
    this.#gone = gone;
  }

  /** `milliseconds` from `start`, which is now unless given. */
  static in(milliseconds: number, start: number = clock.now(), gone?: Gone): Deadline {
    return new Deadline(start + milliseconds, gone);
  }

  /** The earlier of this one and `milliseconds` from `start`. */
  sooner(milliseconds: number, start: number): Deadline {
    return new Deadline(Math.min(this.#atMs, start + milliseconds), this.#gone);
  }

  /** Waits for `work`, but no longer than until this moment: then it rejects with what `late` makes. */
  async wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const passing = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(late()), Math.min(this.remainingMs, TIMER_MAX_MS));
    });
    try {
      return await Promise.race([work, passing]);
    } finally {
      clearTimeout(timer);
    }
  }

  get passed(): boolean {
    return clock.now() >= this.#atMs || this.#gone?.aborted === true;
  }

  get remainingMs(): number {
    return Math.max(0, this.#atMs - clock.now());
  }
}
