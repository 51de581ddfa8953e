/**
 * Has the file of a bucket give back what nothing stands in, a little at a time, when it rests: while it is written to, free space is
 * room for what comes.
 */
import type { Bucket } from "@brooklet/store";
import * as limits from "../limits.ts";

/** How it is given back. */
export interface FreeSpaceOptions {
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Whether maintenance has nothing else to do. */
  readonly isIdle: () => boolean;
  /** Moves the log of the bucket to its file. */
  readonly checkpoint: () => void;
  /** Told of every failure, for the operator's log; what failed is tried again. */
  readonly onProblem: (error: unknown) => void;
}

/** The free space in the file of one bucket. */
export class FreeSpace {
  readonly #bucket: Bucket;
  readonly #options: FreeSpaceOptions;
  #giving: Promise<void> | undefined;

  constructor(bucket: Bucket, options: FreeSpaceOptions) {
    this.#bucket = bucket;
    this.#options = options;
  }

  /** Begins to give it back, unless that is under way or the bucket does not rest. */
  giveBack(): void {
    if (this.#giving !== undefined || this.#bucket.logBytes > 0 || !this.#rests()) return;
    this.#giving = this.#giveBack()
      .catch(this.#options.onProblem)
      .finally(() => {
        this.#giving = undefined;
      });
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    await this.#giving;
  }

  #rests(): boolean {
    return this.#bucket.isOpen && this.#options.isIdle();
  }

  async #giveBack(): Promise<void> {
    let given = 0;
    while (given < limits.GIVE_BACK_BYTES_MAX && this.#rests()) {
      if (!this.#bucket.change((store) => store.giveBack(limits.GIVE_BACK_BYTES), 0)) break;
      given += limits.GIVE_BACK_BYTES;
      await this.#options.turn();
    }
    // Only then is the file shorter.
    if (given > 0 && this.#bucket.isOpen) this.#options.checkpoint();
  }
}
