/**
 * Deletes the blocks that erased partitions leave in a bucket, a little at a time, so that requests are served in between; and
 * says when the log has to be emptied after it. What an earlier process left is looked for once in every bucket.
 */
import type { Bucket } from "@brooklet/store";
import { clock } from "../clock.ts";
import * as limits from "../limits.ts";

/** How they are deleted. */
export interface ErasedBlocksOptions {
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Moves the log of a bucket to its file. */
  readonly checkpoint: () => void;
  /** Told of every failure, for the operator's log; what failed is tried again. */
  readonly onProblem: (error: unknown) => void;
}

/** What of all that was erased is nowhere any more. */
export interface Gone {
  /** What was stored, in the file and its log. */
  readonly bytes: boolean;
  /** The keys it was encrypted with, if it was. */
  readonly keys: boolean;
}

/** The blocks of erased partitions of one bucket. */
export class ErasedBlocks {
  readonly #bucket: Bucket;
  readonly #options: ErasedBlocksOptions;
  /** There may be some. */
  #isExpected = true;
  #dropping: Promise<void> | undefined;
  /** The log may hold some of what is deleted. */
  #isLogged = false;
  #endMs: number = Number.POSITIVE_INFINITY;

  constructor(bucket: Bucket, options: ErasedBlocksOptions) {
    this.#bucket = bucket;
    this.#options = options;
  }

  /** There are some, or there may be some in the log alone. */
  expect(): void {
    this.#isExpected = true;
    this.drop();
  }

  /** Begins to delete them, unless that is under way. */
  drop(): void {
    if (!this.#isExpected || this.#dropping !== undefined || !this.#bucket.isOpen) return;
    this.#dropping = this.#drop()
      .catch(this.#options.onProblem)
      .finally(() => {
        this.#dropping = undefined;
      });
  }

  /** Whether all of them are deleted, and the log is to be emptied of them. */
  get isLogged(): boolean {
    return this.#isLogged && !this.#isExpected;
  }

  /** The log was to be emptied; whether it was: who reads the bucket keeps it, and it is tried again. */
  truncated(isWhole: boolean): void {
    this.#isLogged = !isWhole;
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    await this.#dropping;
  }

  /**
   * Waits until nothing that was erased before is in the file or its log, nor its key; what of that came to be. Who reads the bucket for
   * long, as a backup does, keeps the log.
   */
  async gone(): Promise<Gone> {
    const endMs = clock.now() + limits.PURGE_MS;
    for (;;) {
      this.drop();
      await this.idle();
      if (!this.#bucket.isOpen) return { bytes: false, keys: false };
      // Of several who wait one empties the log for all of them.
      const bytes = !this.#isExpected && (!this.#isLogged || this.#bucket.checkpoint(true));
      if (bytes) this.truncated(true);
      if (bytes || clock.now() >= endMs) return { bytes, keys: this.#bucket.store.hasDestroyedKeys !== true };
      await new Promise((resolve) => setTimeout(resolve, limits.PURGE_LOOK_MS));
    }
  }

  /** Deletes what is left, as far as that is done by a time. */
  async finish(endMs: number): Promise<void> {
    this.#endMs = endMs;
    await this.idle();
    // What failed, or was not looked for yet.
    this.drop();
    await this.idle();
  }

  async #drop(): Promise<void> {
    const { turn, checkpoint } = this.#options;
    let bytes = 0;
    await turn();
    while (this.#isExpected && this.#bucket.isOpen && clock.now() < this.#endMs) {
      // What comes in the log is noted before: half of it may be there if this fails.
      this.#isLogged = true;
      this.#isExpected = this.#bucket.change((store) => store.dropErased(limits.ERASE_BYTES), 0);
      bytes += limits.ERASE_BYTES;
      if (bytes >= limits.LOG_BYTES) {
        checkpoint();
        bytes = 0;
      }
      await turn();
    }
  }
}
