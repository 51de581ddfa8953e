/**
 * Which way a lone job ends sooner here and now: on every core, or on one. On a machine with other work the cores of a
 * wide run wait for each other, and one core alone is faster; so both ways are measured, and what was slower is tried
 * again, as often as it costs little.
 *
 * Jobs are compared with jobs of about their size, since a short one takes longer for what it is, and gains less from
 * more cores. What a size has not seen yet it takes over from the nearest one that has.
 */

/** Of the newest measures of a way so many count. */
const WINDOW = 5;
/** Of these measures, in order, the one at this part counts: a run is disturbed sooner than it is lucky. */
const TYPICAL = 0.3;
/** Each way is measured so often before the first one is left. */
const FIRST_TRIES = 2;
/** The other way must be so much faster to be taken. */
const GAIN = 0.95;
/** What trying the slower way may cost, as a part of the time of all lone jobs. */
const TRY_COST = 0.03;
/** So many jobs of a size lie between two tries, at least and at most. */
const TRY_SOONEST = 8;
const TRY_LATEST = 48;
/** A size that took over what another found has its own way confirmed after so many jobs. */
const CONFIRM_AFTER = 4;
/** After a rest of so many milliseconds the machine may be another one: it is asked anew. */
const STALE_MS = 30_000;

/** How fast lone jobs were, each way. */
export class LoneSpeed {
  readonly #sizes: Map<number, Size> = new Map();
  #newestMs = Number.NEGATIVE_INFINITY;

  /** Whether a lone job of this cost should be wide. */
  prefersWide(weight: number, nowMs: number): boolean {
    if (nowMs - this.#newestMs > STALE_MS) this.#sizes.clear();
    const size = this.#size(weight);
    return size.untilTry > 0 ? size.isWide : !size.isWide;
  }

  /** A lone job of this cost took so long, and ended now. */
  measured(isWide: boolean, weight: number, ms: number, nowMs: number): void {
    this.#newestMs = nowMs;
    const size = this.#size(weight);
    const { used, other } = size;
    (isWide ? size.wide : size.narrow).add(ms / Math.max(1, weight));
    const isTry = isWide !== size.isWide;
    if (!isTry) size.untilTry -= 1;
    const ratio = other.typical / used.typical;
    if (ratio < GAIN && Math.min(used.count, other.count) >= FIRST_TRIES) this.#change(size);
    // What looks faster is tried again at once, until enough measures say so or not.
    else if (isTry)
      size.untilTry = other.count < FIRST_TRIES || other.newest < used.typical * GAIN ? 0 : interval(ratio);
  }

  /** What is true of one size now may be true of all: those that think otherwise try it. */
  #change(changed: Size): void {
    changed.isWide = !changed.isWide;
    changed.untilTry = TRY_SOONEST;
    for (const size of this.#sizes.values()) {
      if (size.isWide !== changed.isWide) size.untilTry = 0;
    }
  }

  #size(weight: number): Size {
    const number = Math.round(Math.log2(Math.max(1, weight)));
    let size = this.#sizes.get(number);
    if (size === undefined) {
      size = this.#nearest(number);
      this.#sizes.set(number, size);
    }
    return size;
  }

  /** A new size: wide where nothing is known, since a lone job is one on an idle machine until it is measured. */
  #nearest(number: number): Size {
    let nearest: number | undefined;
    for (const [known, { used, other }] of this.#sizes) {
      if (Math.min(used.count, other.count) < FIRST_TRIES) continue;
      if (nearest === undefined || Math.abs(known - number) < Math.abs(nearest - number)) nearest = known;
    }
    const found = nearest === undefined ? undefined : this.#sizes.get(nearest);
    return found === undefined ? new Size(true, 1) : new Size(found.isWide, CONFIRM_AFTER);
  }
}

/** So many jobs until the way that takes `ratio` times as long is tried. */
function interval(ratio: number): number {
  return Math.min(TRY_LATEST, Math.max(TRY_SOONEST, Math.ceil((ratio - 1) / TRY_COST)));
}

/** Jobs of about one size. */
class Size {
  readonly wide: Measures = new Measures();
  readonly narrow: Measures = new Measures();
  isWide: boolean;
  /** Jobs until the other way is tried. */
  untilTry: number;

  constructor(isWide: boolean, untilTry: number) {
    this.isWide = isWide;
    this.untilTry = untilTry;
  }

  get used(): Measures {
    return this.isWide ? this.wide : this.narrow;
  }

  get other(): Measures {
    return this.isWide ? this.narrow : this.wide;
  }
}

class Measures {
  count = 0;
  newest = 0;
  /** Not a number before the first measure, so that it is neither less nor more than another. */
  typical: number = Number.NaN;
  readonly #window: number[] = [];

  add(seen: number): void {
    this.count += 1;
    this.newest = seen;
    this.#window.push(seen);
    if (this.#window.length > WINDOW) this.#window.shift();
    const sorted = [...this.#window].sort((a, b) => a - b);
    this.typical = sorted[Math.floor((sorted.length - 1) * TYPICAL)] ?? seen;
  }
}
