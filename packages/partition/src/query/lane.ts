/**
 * The searches of one thread: few are with it at a time, so that it never waits for one, and the others wait here, where they can still be refused for next to nothing. A burst may wait as long as
 * its own time allows. When some waited for a while with hardly a break, more comes than can be done: then nobody begins to wait for longer than a moment, since what is accepted has to be answered
 * as fast as before, and a long queue makes all of them late and none of them more. With a short queue nobody waits now and then: that is no end of it while others are refused, and must let no burst in again.
 * How many are few depends on how long a turn of this thread takes: one that refuses thousands a second hears of what the other has done only now and then, and if all is done by then, it had nothing to do.
 */
import { ServiceError } from "@brooklet/core";

/** How many searches are with a thread, and how many wait. */
export interface LaneLimits {
  /** With the thread at a time … */
  readonly running: number;
  /** … and at most, where it is done with all of them before this thread hears of it. */
  readonly runningMost: number;
  /** Waiting at a time, of a burst. */
  readonly queued: number;
  /** Somebody waiting or refused for so long, milliseconds, is an overload; a break takes back `CALM` times what it takes. */
  readonly burstMs: number;
  /** What a search may have to wait in an overload, milliseconds, as far as that can be foretold … */
  readonly waitMs: number;
  /** … though so many may always wait … */
  readonly queuedAlways: number;
  /** … and when one has waited for so long, and more than those are behind it, it is refused after all. */
  readonly waitedMs: number;
}

/** What holds unless somebody says otherwise. */
export const LANE_LIMITS: LaneLimits = {
  running: 4,
  runningMost: 64,
  queued: 256,
  burstMs: 500,
  waitMs: 25,
  queuedAlways: 16,
  waitedMs: 200,
};

const OVERLOAD = "Rejecting execution due to overload";
/** A part of the new in a mean of what was, and how long it is counted before there is a new one, milliseconds. */
const MEAN_PART = 0.5;
const PACE_MS = 25;
/** A millisecond in which nobody waits takes back so many in which somebody did … */
const CALM = 4;
/** … when nobody was refused for so long, milliseconds: who was comes again meanwhile. */
const REFUSED_MS = 100;
/** A turn in which so small a part of the places was given back has no need of the others. */
const NEEDED_PART = 0.25;

interface Waiter {
  readonly sinceMs: number;
  readonly admit: () => void;
  readonly refuse: (error: ServiceError) => void;
}

/** The places of one thread. */
export class Lane {
  readonly #limits: LaneLimits;
  readonly #now: () => number;
  readonly #afterTurn: ((work: () => void) => void) | undefined;
  readonly #waiters: Waiter[] = [];
  #running = 0;
  /** Places at present. */
  #places: number;
  /** Places given back in this turn. */
  #leftInTurn = 0;
  /** For how long somebody waited or was refused, less the breaks, as it was at a time. */
  #waitedMs = 0;
  #waitedAtMs = 0;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Time from one search that is done to the next while others wait, a mean. */
  #paceMs = 0;
  /** Since when it is counted how many are done while others wait, and how many were. Many are heard of at once. */
  #countedSinceMs: number | undefined;
  #counted = 0;

  /** `afterTurn` does work when what arrived with the event under way was seen; without it the places stay as many as they are. */
  constructor(
    limits: LaneLimits = LANE_LIMITS,
    now: () => number = () => performance.now(),
    afterTurn?: (work: () => void) => void,
  ) {
    [this.#limits, this.#now, this.#afterTurn] = [limits, now, afterTurn];
    this.#places = limits.running;
  }

  /** Searches that wait. */
  get queued(): number {
    return this.#waiters.length;
  }

  /** Searches that are with the thread. */
  get running(): number {
    return this.#running;
  }

  /** Searches that may be with the thread at present. */
  get places(): number {
    return this.#places;
  }

  /** What one more search is refused with at present; nothing: it is not. */
  get refusal(): string | undefined {
    const { queued } = this;
    const { queued: most, queuedAlways, running, waitMs } = this.#limits;
    const isLong = queued >= queuedAlways && (queued + Math.max(0, this.#running - running)) * this.#paceMs >= waitMs;
    if (queued < most && !(isLong && this.#isOverloaded())) return undefined;
    return `${OVERLOAD}: ${queued} searches already enqueued`;
  }

  /** Counts a search that came and was refused. */
  countRefusal(): void {
    this.#refusedAtMs = this.#countWait();
  }

  /** Takes a place: at once, or when what it gives is settled. Each success must be followed by one `leave`. */
  enter(): Promise<void> | undefined {
    if (this.#running < this.#places && this.queued === 0) {
      this.#running += 1;
      return undefined;
    }
    const { refusal } = this;
    if (refusal !== undefined) return Promise.reject(this.#refuse(refusal));
    return new Promise((admit, refuse) => this.#waiters.push({ sinceMs: this.#countWait(), admit, refuse }));
  }

  #refuse(message: string): ServiceError {
    this.countRefusal();
    return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "not_applied" });
  }

  /** Gives the place back: to the search that waits longest, if any does. */
  leave(): void {
    const nowMs = this.#countWait();
    if (this.queued > 0) this.#countTurn();
    const next = this.#running > this.#places ? undefined : this.#next(nowMs);
    // Only while others wait is the time between two what a search takes.
    if (next === undefined) [this.#countedSinceMs, this.#running] = [undefined, this.#running - 1];
    else this.#countPace(nowMs);
    next?.admit();
    if (this.#running === 0) this.#places = this.#limits.running;
  }

  /** Counts the time until now, before the queue is another; now. */
  #countWait(): number {
    const nowMs = this.#now();
    const isCalm = this.queued === 0 && nowMs - this.#refusedAtMs > REFUSED_MS;
    const waitedMs = this.#waitedMs + (isCalm ? -CALM : 1) * (nowMs - this.#waitedAtMs);
    [this.#waitedMs, this.#waitedAtMs] = [Math.min(Math.max(0, waitedMs), this.#limits.burstMs), nowMs];
    return nowMs;
  }

  #countPace(nowMs: number): void {
    if (this.#countedSinceMs === undefined) [this.#countedSinceMs, this.#counted] = [nowMs, 0];
    else this.#counted += 1;
    const tookMs = nowMs - this.#countedSinceMs;
    if (tookMs < PACE_MS) return;
    const paceMs = tookMs / this.#counted;
    this.#paceMs = this.#paceMs === 0 ? paceMs : this.#paceMs + MEAN_PART * (paceMs - this.#paceMs);
    [this.#countedSinceMs, this.#counted] = [nowMs, 0];
  }

  #countTurn(): void {
    this.#leftInTurn += 1;
    if (this.#leftInTurn === 1) this.#afterTurn?.(() => this.#turned());
  }

  /** As many places as the thread is not done with before this one hears of it. */
  #turned(): void {
    const [left, { running, runningMost }] = [this.#leftInTurn, this.#limits];
    this.#leftInTurn = 0;
    if (left >= this.#places) this.#places = Math.min(2 * this.#places, runningMost);
    else if (left <= this.#places * NEEDED_PART) this.#places = Math.max(this.#places - 1, running);
    const nowMs = this.#countWait();
    while (this.#running < this.#places) {
      const next = this.#next(nowMs);
      if (next === undefined) break;
      this.#running += 1;
      next.admit();
    }
  }

  #next(nowMs: number): Waiter | undefined {
    for (;;) {
      const next = this.#waiters.shift();
      if (next === undefined) return undefined;
      const waitedMs = nowMs - next.sinceMs;
      const { waitedMs: longestMs, queuedAlways } = this.#limits;
      if (waitedMs <= longestMs || this.queued < queuedAlways || !this.#isOverloaded()) return next;
      next.refuse(this.#refuse(`${OVERLOAD}: waited ${Math.round(waitedMs)} ms for a place`));
    }
  }

  #isOverloaded(): boolean {
    return this.#waitedMs + this.#now() - this.#waitedAtMs >= this.#limits.burstMs;
  }
}
