/**
 * Who of an isolate writes segments: one object at a time, since all share the memory that writing them takes. No object waits for a
 * promise of another, whose request may be gone with everything that would settle it: each looks again at every turn of its own.
 */

import type { Surroundings } from "../surroundings.ts";

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

/** An object that shares it: it is seen at each of its own turns. */
export class Sharer {
  readonly #turnstile: Turnstile;
  readonly #surroundings: Surroundings;

  constructor(turnstile: Turnstile, surroundings: Surroundings) {
    this.#turnstile = turnstile;
    this.#surroundings = surroundings;
  }

  /** What it was given, with turns at which it is seen. */
  get surroundings(): Surroundings {
    const { turn, sharedMs } = this.#surroundings;
    const seen = (): Promise<void> => {
      this.#turnstile.see(this, sharedMs());
      return turn();
    };
    return { ...this.#surroundings, turn: seen };
  }

  /** Waits until nobody else is inside, or it is over. What it gives lets the next one in. */
  async enter(isOver: () => boolean): Promise<() => void> {
    const { turn, sharedMs } = this.#surroundings;
    while (!isOver() && !this.#turnstile.enter(this, sharedMs())) await turn();
    return () => this.#turnstile.leave(this);
  }
}
