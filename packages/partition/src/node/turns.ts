/**
 * The turns of a loop of events for whoever asks for one: all that was asked for is not done in one of them, in which nothing that arrives
 * would be seen. What is done in a turn stands elsewhere.
 */

/** What a loop of events gives. */
export interface Loop {
  /** Runs work when the events that arrived were seen. */
  readonly immediate: (work: () => void) => void;
  /** A monotonic clock, milliseconds; it may stand still. */
  readonly nowMs: () => number;
}

/** A turn goes on with the next only before this: then it lasts as long as the longest of what is done in it, or little more. */
const TURN_MS = 2;
/** So many are forgotten at a time once they are done. */
const FORGOTTEN = 1_024;
const SETTLED = Promise.resolve();
/** The platform's own. The module of this name reads all that the process has, its streams among it. */
const { nextTick } = process;

/** Work that waits for a turn. */
export class Turns {
  readonly #loop: Loop;
  #waiting: (() => void)[] = [];
  /** How many of those that wait are done. */
  #done = 0;
  /** How many of those that wait may be done in this turn: what comes of them waits for events, as in any turn. */
  #due = 0;
  #startMs = 0;

  constructor(loop: Loop) {
    this.#loop = loop;
  }

  /** Does work in a turn that begins after this one, after all that waited before it. */
  add(work: () => void): void {
    this.#waiting.push(work);
    // From the first on there is one asked for, or under way.
    if (this.#waiting.length === 1) this.#loop.immediate(this.#begin);
  }

  readonly #begin = (): void => {
    this.#due = this.#waiting.length;
    this.#startMs = this.#loop.nowMs();
    this.#next();
  };

  /** Does one; what follows from it is done before the next, so that the clock tells of it. */
  readonly #next = (): void => {
    const work = this.#waiting[this.#done];
    this.#done += 1;
    // What fails keeps nothing else from its turn.
    void SETTLED.then(this.#drained);
    work?.();
  };

  /** Whatever follows from what was done is done when a tick comes that is asked for in between. */
  readonly #drained = (): void => nextTick(this.#goOn);

  readonly #goOn = (): void => {
    const passedMs = this.#loop.nowMs() - this.#startMs;
    if (this.#done < this.#due && passedMs > 0 && passedMs < TURN_MS) this.#next();
    else this.#end();
  };

  #end(): void {
    const isOver = this.#done === this.#waiting.length;
    if (isOver || this.#done >= FORGOTTEN) {
      this.#waiting.splice(0, this.#done);
      this.#done = 0;
    }
    if (!isOver) this.#loop.immediate(this.#begin);
  }
}
