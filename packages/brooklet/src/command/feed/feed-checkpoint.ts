/**
 * How far a feed came, in a file, so that one that was interrupted goes on there: the number of operations from its
 * beginning of which each was applied or refused for good. Those after it that were applied as well are applied again.
 */
import { CheckpointFile } from "../checkpoint-file.ts";
import { UsageError } from "../surroundings.ts";

const WRITE_MS = 1_000;

/** The checkpoint of one feed. */
export class FeedCheckpoint {
  readonly #file: CheckpointFile;
  /** Operations that are done although one before them is not. */
  readonly #ahead = new Set<number>();
  #done: number;
  #written: number;
  #writtenAtMs: number = performance.now();

  /** Reads the file, if there is one. */
  constructor(path: string) {
    this.#file = new CheckpointFile(path);
    this.#done = this.#file.text === undefined ? 0 : doneIn(this.#file.text, path);
    this.#written = this.#done;
  }

  /** Operations from the beginning that are done. */
  get done(): number {
    return this.#done;
  }

  /** Notes that the operation with this number, counted from 0, is done. */
  note(number: number): void {
    this.#ahead.add(number);
    while (this.#ahead.delete(this.#done)) this.#done += 1;
    if (performance.now() - this.#writtenAtMs >= WRITE_MS) this.write();
  }

  /** Writes the file. */
  write(): void {
    this.#writtenAtMs = performance.now();
    if (this.#written === this.#done && this.#file.isThere) return;
    this.#file.write({ operations: this.#done });
    this.#written = this.#done;
  }
}

function doneIn(text: string, path: string): number {
  try {
    const { operations } = JSON.parse(text) as { readonly operations?: unknown };
    if (typeof operations === "number" && Number.isInteger(operations) && operations >= 0) return operations;
  } catch {
    // It is refused below.
  }
  throw new UsageError(`${path} is no checkpoint of a feed: give the one of an earlier run, or a new name`);
}
