/** How far long work is, and about how long it goes on: one line that is written over, where somebody looks. */
import type { Surroundings } from "./surroundings.ts";

const TOLD_EVERY_MS = 250;
const PERCENT = 100;
const MS_PER_SECOND = 1_000;
const SECONDS_PER_MINUTE = 60;
const MINUTES_PER_HOUR = 60;
/** Of less than that nobody can tell how long the rest takes. */
const SHARE_MIN = 0.01;

/** The progress of one piece of work, from when it is made. */
export class Progress {
  readonly #surroundings: Pick<Surroundings, "progress">;
  readonly #now: () => number;
  readonly #beganMs: number;
  #toldMs: number;
  #words: () => string = () => "nothing was done yet";

  constructor(
    surroundings: Pick<Surroundings, "progress" | "onInterrupt">,
    now: () => number = () => performance.now(),
  ) {
    this.#surroundings = surroundings;
    this.#now = now;
    this.#beganMs = now();
    this.#toldMs = Number.NEGATIVE_INFINITY;
    surroundings.onInterrupt?.(() => `Interrupted: ${this.#words()}`);
  }

  /** Tells how far it is, unless it was told a moment ago. `share`: how much of it is done, from 0 to 1, where that is known. */
  tell(words: () => string, share?: number): void {
    this.#words = words;
    const now = this.#now();
    if (now - this.#toldMs < TOLD_EVERY_MS) return;
    this.#toldMs = now;
    this.#surroundings.progress(words() + restText(share, now - this.#beganMs));
  }

  /** Takes the line away. */
  end(): void {
    this.#surroundings.progress("");
  }
}

/** `, 42 %, 1:05 left`, or nothing where nobody can know. */
export function restText(share: number | undefined, elapsedMs: number): string {
  if (share === undefined || !(share >= SHARE_MIN) || share > 1) return "";
  const left = (elapsedMs * (1 - share)) / share;
  return `, ${Math.floor(share * PERCENT)} %, ${clock(left)} left`;
}

function clock(ms: number): string {
  const seconds = Math.ceil(ms / MS_PER_SECOND);
  const minutes = Math.floor(seconds / SECONDS_PER_MINUTE);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (minutes < MINUTES_PER_HOUR) return `${minutes}:${two(seconds % SECONDS_PER_MINUTE)}`;
  return `${Math.floor(minutes / MINUTES_PER_HOUR)}:${two(minutes % MINUTES_PER_HOUR)}:${two(seconds % SECONDS_PER_MINUTE)}`;
}
