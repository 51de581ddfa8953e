/**
 * Which way a lone job ends sooner here and now: on every core, or on one. On a machine with other work the cores of a
 * wide run wait for each other, and one core alone is faster; so both are measured, and the slower one is tried again from
 * time to time.
 */

/** The slower way is tried once in so many lone jobs. */
const TRY_AGAIN = 64;
/** Each way is measured so often before one is preferred: the first run of a session is slow. */
const FIRST_TRIES = 3;
/** How much the newest measure counts. */
const SHARE = 0.25;

/** How fast lone jobs were, each way. */
export class LoneSpeed {
  readonly #wide: Measured = new Measured();
  readonly #narrow: Measured = new Measured();
  #jobs = 0;

  /** Whether the next lone job should be wide. */
  prefersWide(): boolean {
    this.#jobs += 1;
    if (this.#wide.count < FIRST_TRIES) return true;
    if (this.#narrow.count < FIRST_TRIES) return false;
    const wider = this.#wide.msPerWeight <= this.#narrow.msPerWeight;
    return this.#jobs % TRY_AGAIN === 0 ? !wider : wider;
  }

  /** A lone job of this cost took so long. */
  measured(isWide: boolean, weight: number, ms: number): void {
    (isWide ? this.#wide : this.#narrow).add(ms / Math.max(1, weight));
  }
}

class Measured {
  count = 0;
  msPerWeight = 0;

  add(seen: number): void {
    this.count += 1;
    // The first one is dropped by the second: it has made the session ready.
    this.msPerWeight = this.count <= 2 ? seen : this.msPerWeight + (seen - this.msPerWeight) * SHARE;
  }
}
