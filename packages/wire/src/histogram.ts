/** How long answers took, counted in steps that stay the same for as long as there are dashboards that read them. */

/** Upper bounds of the steps, seconds. */
export const BOUNDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** How many were at most as long as each bound, how many there are, and how long all of them took, seconds. */
export interface HistogramFigures {
  readonly upTo: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** Counts of durations. */
export class Histogram {
  readonly #counts: number[] = BOUNDS.map(() => 0);
  #count = 0;
  #sum = 0;

  /** Counts one. */
  add(seconds: number): void {
    const step = BOUNDS.findIndex((bound) => seconds <= bound);
    if (step !== -1) this.#counts[step] = (this.#counts[step] ?? 0) + 1;
    this.#count += 1;
    this.#sum += seconds;
  }

  /** What was counted until now. */
  get figures(): HistogramFigures {
    let below = 0;
    const upTo = this.#counts.map((count) => {
      below += count;
      return below;
    });
    return { upTo, count: this.#count, sum: this.#sum };
  }
}
