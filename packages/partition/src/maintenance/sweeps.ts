/**
 * Looks that all buckets of a thread are due again and again, each bucket in a turn of its own: what is not in mind of its partitions is
 * read, and many buckets one after the other would hold up requests for as long as that takes. What is looked at is decided elsewhere.
 */
import { RESTING_SWEEPS } from "../limits.ts";
import type { Attention } from "./attention.ts";

/** How they are done. */
export interface SweepsOptions {
  /** The buckets that there are. */
  readonly attentions: () => Iterable<Attention>;
  readonly look: (attention: Attention) => void;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  readonly isStopped: () => boolean;
}

/** The looks of one thread. */
export class Sweeps {
  readonly #options: SweepsOptions;
  /** How many of them are to be begun: how quiet a tail is, is told by their number. */
  #due = 0;
  #running: Promise<void> | undefined;

  constructor(options: SweepsOptions) {
    this.#options = options;
  }

  /** Looks at every bucket, after those looks that are under way. */
  begin(): void {
    this.#due = Math.min(this.#due + 1, RESTING_SWEEPS);
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Settles when none is due. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    const { attentions, look, turn, isStopped } = this.#options;
    for (; this.#due > 0; this.#due -= 1) {
      for (const attention of [...attentions()]) {
        await turn();
        if (isStopped()) return;
        look(attention);
      }
    }
  }
}
