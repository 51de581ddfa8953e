/**
 * Which way a lone job ends sooner here and now: on every core, or on one. On a machine with other work the cores of a
 * wide run wait for each other, and one core alone is faster; so both are measured, and the slower one is tried again from
 * time to time. Medians are compared, and the preference changes only for a clear gain: one slow run must not make the
 * next hundred slow ones.
 */

/** The slower way is tried once in so many lone jobs. */
const TRY_AGAIN = 64;
/** Each way is measured so often before one is preferred: the first run of a session is slow. */
const FIRST_TRIES = 3;
/** Of the newest measures so many count. */
const WINDOW = 9;
/** The other way must be so much faster to be preferred. */
const GAIN = 0.9;

/** How fast lone jobs were, each way. */
export class LoneSpeed {
  readonly #wide: Measured = new Measured();
  readonly #narrow: Measured = new Measured();
  #isWide = true;
  #untilTry = TRY_AGAIN;

  /** Whether the next lone job should be wide. */
  prefersWide(): boolean {
    if (this.#wide.count < FIRST_TRIES) return true;
    if (this.#narrow.count < FIRST_TRIES) return false;
    this.#untilTry -= 1;
    if (this.#untilTry > 0) return this.#isWide;
    this.#untilTry = TRY_AGAIN;
    return !this.#isWide;
  }

  /** A lone job of this cost took so long. */
  measured(isWide: boolean, weight: number, ms: number): void {
    const way = isWide ? this.#wide : this.#narrow;
    way.add(ms / Math.max(1, weight));
    const [used, other] = this.#isWide ? [this.#wide, this.#narrow] : [this.#narrow, this.#wide];
    if (used.count < FIRST_TRIES || other.count < FIRST_TRIES) return;
    if (other.median < used.median * GAIN) this.#isWide = !this.#isWide;
    // What was tried and looks faster is tried again at once, until enough measures say so or not.
    else if (isWide !== this.#isWide && other.newest < used.median * GAIN) this.#untilTry = 1;
  }
}

class Measured {
  count = 0;
  newest = 0;
  median = 0;
  readonly #window: number[] = [];

  add(seen: number): void {
    this.count += 1;
    this.newest = seen;
    // The first one has made the session ready, and says nothing.
    if (this.count === 2) this.#window.length = 0;
    this.#window.push(seen);
    if (this.#window.length > WINDOW) this.#window.shift();
    this.median = [...this.#window].sort((a, b) => a - b)[Math.floor(this.#window.length / 2)] ?? seen;
  }
}
