/**
 * Who of an isolate writes segments: one object at a time, since all share the memory that writing them takes. No object waits for a
 * promise of another, whose request may be gone with everything that would settle it: each looks again at every turn of its own.
 */

/** Whoever was not seen for so long is gone, put out of memory by the platform in the middle of its work. */
const GONE_MS = 10_000;

/** One at a time of those who share something. */
export class Turnstile {
  #inside: object | undefined;
  #seenMs = 0;

  /** Whether who asks is inside from now on: nobody else is. */
  enter(who: object, nowMs: number): boolean {
    const isTaken = this.#inside !== undefined && this.#inside !== who && nowMs - this.#seenMs < GONE_MS;
    if (isTaken) return false;
    [this.#inside, this.#seenMs] = [who, nowMs];
    return true;
  }

  /** Notes that somebody is still there. */
  see(who: object, nowMs: number): void {
    if (this.#inside === who) this.#seenMs = nowMs;
  }

  leave(who: object): void {
    if (this.#inside === who) this.#inside = undefined;
  }
}
