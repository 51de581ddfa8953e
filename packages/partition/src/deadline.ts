/** Until when a request is worth answering: by the monotonic clock, so that setting the wall clock changes nothing. */

/** A moment that passes. */
export class Deadline {
  readonly #atMs: number;

  private constructor(atMs: number) {
    this.#atMs = atMs;
  }

  /** `milliseconds` from now. */
  static in(milliseconds: number): Deadline {
    return new Deadline(performance.now() + milliseconds);
  }

  /** The earlier of this one and `milliseconds` from `start`. */
  sooner(milliseconds: number, start: number): Deadline {
    return new Deadline(Math.min(this.#atMs, start + milliseconds));
  }

  get passed(): boolean {
    return performance.now() >= this.#atMs;
  }

  get remainingMs(): number {
    return Math.max(0, this.#atMs - performance.now());
  }
}
