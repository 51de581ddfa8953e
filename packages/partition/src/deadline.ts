/** Until when a request is worth answering: by the monotonic clock, so that setting the wall clock changes nothing. */

/** The longest that Node's timers wait; they take more for nothing at all. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** A moment that passes. */
export class Deadline {
  readonly #atMs: number;

  private constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /** `milliseconds` from `start`, which is now unless given. */
  static in(milliseconds: number, start: number = performance.now()): Deadline {
    return new Deadline(start + milliseconds);
  }

  /** The earlier of this one and `milliseconds` from `start`. */
  sooner(milliseconds: number, start: number): Deadline {
    return new Deadline(Math.min(this.#atMs, start + milliseconds));
  }

  /** Waits for `work`, but no longer than until this moment: then it rejects with what `late` makes. */
  async wait<T>(work: Promise<T>, late: () => Error): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
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
    return performance.now() >= this.#atMs;
  }

  get remainingMs(): number {
    return Math.max(0, this.#atMs - performance.now());
  }
}
