/**
 * How far a feed came, in a file, so that one that was interrupted goes on there: the number of operations from its
 * beginning of which each was applied or refused for good. Those after it that were applied as well are applied again.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { UsageError } from "../surroundings.ts";

const WRITE_MS = 1_000;

/** The checkpoint of one feed. */
export class FeedCheckpoint {
  readonly #path: string;
  /** Operations that are done although one before them is not. */
  readonly #ahead = new Set<number>();
  #done: number;
  #written: number;
  #writtenAtMs: number = performance.now();

  /** Reads the file, if there is one. */
  constructor(path: string) {
    this.#path = path;
    if (!existsSync(dirname(path)))
      throw new UsageError(`${path} cannot be written: there is no folder ${dirname(path)}`);
    this.#done = existsSync(path) ? readDone(path) : 0;
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

  /** Writes the file: after a crash there is this one or the one before. */
  write(): void {
    this.#writtenAtMs = performance.now();
    if (this.#written === this.#done && existsSync(this.#path)) return;
    const fresh = `${this.#path}.new`;
    const file = openSync(fresh, "w");
    try {
      writeSync(file, `${JSON.stringify({ operations: this.#done })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, this.#path);
    this.#written = this.#done;
  }
}

function readDone(path: string): number {
  try {
    const { operations } = JSON.parse(readFileSync(path, "utf8")) as { readonly operations?: unknown };
    if (typeof operations === "number" && Number.isInteger(operations) && operations >= 0) return operations;
  } catch {
    // FedBatches below.
  }
  throw new UsageError(`${path} is no checkpoint of a feed: give the one of an earlier run, or a new name`);
}
