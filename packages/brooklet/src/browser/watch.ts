/**
 * Whether whoever has the database still says something. A browser may stop a page with its worker, or a system a whole process: then
 * nothing it has is let go of, and nothing it was asked is answered.
 */

/** How long one question waits. */
const QUESTION_MS = 5_000;
/**
 * How many in a row may stay without an answer. Questions are counted, and no time: a page that was stopped itself has not heard anything
 * for long, and that says nothing of others.
 */
const QUESTIONS = 6;

/** What is watched. */
export interface Watched {
  /** Whether something waits for it. */
  readonly isAwaited: () => boolean;
  /** Asks for a sign of life. */
  readonly ask: () => void;
  /** Told when none came. */
  readonly onSilence: () => void;
}

/** Watches, as long as something waits. */
export class Watch {
  readonly #of: Watched;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unanswered = 0;
  #isSilent = false;

  constructor(of: Watched) {
    this.#of = of;
  }

  /** Something waits from here on. Who was silent is asked at once, and given one question's time. */
  begin(): void {
    if (this.#timer !== undefined) return;
    if (this.#isSilent) this.#of.ask();
    this.#wait();
  }

  /** A sign of life came. */
  heard(): void {
    this.#unanswered = 0;
    this.#isSilent = false;
  }

  /** Nothing is watched any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(): void {
    this.#timer = setTimeout(() => this.#look(), QUESTION_MS);
  }

  #look(): void {
    this.#timer = undefined;
    if (!this.#of.isAwaited()) return;
    this.#isSilent ||= this.#unanswered === QUESTIONS;
    if (this.#isSilent) {
      this.#of.onSilence();
      return;
    }
    this.#unanswered += 1;
    this.#of.ask();
    this.#wait();
  }
}
