/**
 * Who may work now, who waits, and who is refused. A queue is bounded in number and in waiting time, so that under
 * overload what was accepted is still finished; nobody waits in front of a body that was not asked for yet.
 */
import { ServiceError } from "@brooklet/wire";
import type { AdmissionLimits } from "../limits.ts";

/** A turn in which so small a part of the places was given back has no need of the others. */
const NEEDED_PART = 0.25;

interface Waiter {
  readonly admit: () => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** The refusal of a request that finds the queue full; Vespa's words, which feed clients take as "slow down". */
function queueFull(queued: number): ServiceError {
  return new ServiceError("OVERLOADED", `Rejecting execution due to overload: ${queued} requests already enqueued`);
}

/** A bounded number of places to work in, and a bounded queue before them. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #waiters: Waiter[] = [];
  #running = 0;
  /** Places at present, and how many were given back in this turn while others waited. */
  #places: number;
  #leftInTurn = 0;
  /** The last refusal, and how many waited then: in an overload it is that of nearly all. */
  #refused: { readonly queued: number; readonly refusal: ServiceError } | undefined;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
    this.#places = limits.running;
  }

  /** Places at present. */
  get places(): number {
    return this.#places;
  }

  /** Requests at work. */
  get running(): number {
    return this.#running;
  }

  /** Requests that wait. */
  get queued(): number {
    return this.#waiters.length;
  }

  /** What one more request would be refused with at present; nothing: it would not be. */
  get refusal(): ServiceError | undefined {
    const queued = this.#waiters.length;
    if (this.#running < this.#places || queued < this.#queuedMost) return undefined;
    if (this.#refused?.queued !== queued) this.#refused = { queued, refusal: queueFull(queued) };
    return this.#refused.refusal;
  }

  /** Takes a place: at once, or when what it gives is settled. Each success must be followed by one `leave`. */
  enter(): Promise<void> | undefined {
    if (this.#running < this.#places && this.#waiters.length === 0) {
      this.#running += 1;
      return undefined;
    }
    return this.#wait();
  }

  async #wait(): Promise<void> {
    if (this.#waiters.length >= this.#queuedMost) throw queueFull(this.#waiters.length);
    await new Promise<void>((admit, refuse) => {
      const timer = setTimeout(() => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        const waited = `Rejecting execution due to overload: waited ${this.#limits.waitMs} ms for a place`;
        refuse(new ServiceError(this.#limits.waitMs < 1_000 ? "UNAVAILABLE" : "OVERLOADED", waited));
      }, this.#limits.waitMs);
      const waiter: Waiter = { admit, timer };
      this.#waiters.push(waiter);
    });
  }

  /** Gives the place back: to the request that waits longest, if any does. */
  leave(): void {
    if (this.#limits.runningMost !== undefined && this.#waiters.length > 0) this.#countTurn();
    if (this.#running > this.#places || !this.#admitNext()) this.#running -= 1;
    if (this.#running === 0) this.#places = this.#limits.running;
  }

  /** Whoever runs or waits is one of so many, however many of them run. */
  get #queuedMost(): number {
    return this.#limits.queued - (this.#places - this.#limits.running);
  }

  #admitNext(): boolean {
    const next = this.#waiters.shift();
    if (next === undefined) return false;
    clearTimeout(next.timer);
    next.admit();
    return true;
  }

  #countTurn(): void {
    this.#leftInTurn += 1;
    if (this.#leftInTurn === 1) setTimeout(() => this.#turned(), 0);
  }

  /** Twice the places where all of them were given back before anybody could take one: what is behind them waited for this thread. */
  #turned(): void {
    const left = this.#leftInTurn;
    this.#leftInTurn = 0;
    if (this.#running === 0) return;
    const { running, runningMost = running } = this.#limits;
    if (left >= this.#places) this.#places = Math.min(2 * this.#places, runningMost);
    else if (left <= this.#places * NEEDED_PART) this.#places = Math.max(this.#places - 1, running);
    while (this.#running < this.#places && this.#admitNext()) this.#running += 1;
  }
}

/**
 * Parts of an answer that are made in a place, which is given back at their end: when the last was made, or their reader goes, also before
 * the first was asked for, where a generator has nothing to end.
 */
export function inPlace(
  parts: AsyncGenerator<Uint8Array>,
  admission: Pick<Admission, "leave">,
  gone: AbortSignal | undefined,
): AsyncIterable<Uint8Array> {
  let hasLeft = false;
  const leave = (): void => {
    if (!hasLeft) admission.leave();
    hasLeft = true;
    gone?.removeEventListener("abort", onGone);
  };
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      return await parts.return(undefined);
    } finally {
      leave();
    }
  };
  // Nobody is left to be told what fails at that end.
  const onGone = (): void => void end().catch(() => undefined);
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    try {
      const result = await parts.next();
      if (result.done === true) leave();
      return result;
    } catch (error) {
      leave();
      throw error;
    }
  };
  if (gone?.aborted === true) onGone();
  else gone?.addEventListener("abort", onGone);
  return { [Symbol.asyncIterator]: () => ({ next, return: end }) };
}

/** One admission for each key that is in use, so that one busy group does not crowd out the others. */
export class KeyedAdmission {
  readonly #limits: AdmissionLimits;
  readonly #byKey = new Map<string, { readonly admission: Admission; users: number }>();

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Runs `work` on `given` in a place of `key`. */
  async run<Result, Given = undefined>(
    key: string,
    work: (given: Given) => Promise<Result>,
    given: Given = undefined as Given,
  ): Promise<Result> {
    const entry = this.#byKey.get(key) ?? { admission: new Admission(this.#limits), users: 0 };
    this.#byKey.set(key, entry);
    entry.users += 1;
    try {
      const waiting = entry.admission.enter();
      if (waiting !== undefined) await waiting;
      try {
        return await work(given);
      } finally {
        entry.admission.leave();
      }
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#byKey.delete(key);
    }
  }

  /** What one more request for `key` would be refused with at present. */
  refusal(key: string): ServiceError | undefined {
    return this.#byKey.get(key)?.admission.refusal;
  }

  /** Keys in use. */
  get keys(): number {
    return this.#byKey.size;
  }
}
