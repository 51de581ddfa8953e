/**
 * How far a bucket is, in a small file beside it: so that a bucket whose log was removed, or in whose place an earlier file was put, is
 * seen to be behind. It is written after each commit and not synced, so that it costs no wait: what it says was on stable storage
 * before, and after a loss of power it may be behind the bucket, never ahead of it.
 */
import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { sealOf } from "../heads.ts";
import type { Generation, Guard } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { isThere } from "./durable-files.ts";

/** Two places that are written in turn: one of them is whole whenever the process ends. */
const PLACES = 2;
const PLACE_BYTES = 24;
const NUMBERS_BYTES = 16;

/** A generation file, open until it is closed. */
export class GenerationFile implements Guard {
  readonly key: Uint8Array;
  /** Whether its device could only be read when it was opened. */
  readonly isReadOnly: boolean;
  readonly #path: string;
  readonly #file: number;
  #place = 0;
  #isClosed = false;
  #reached: Generation | undefined;

  /** Opens one. Throws a `StoreError` if there is none. */
  constructor(path: string, key: Uint8Array) {
    if (!isThere(path)) throw new StoreError("damaged", `${path}, which says how far the bucket is, is missing`);
    this.key = key;
    this.#path = path;
    const writable = openWritable(path);
    this.isReadOnly = writable === undefined;
    this.#file = writable ?? openSync(path, "r");
  }

  /** Whether it could be written, if it was opened now. */
  isWritable(): boolean {
    const file = openWritable(this.#path);
    if (file !== undefined) closeSync(file);
    return file !== undefined;
  }

  /** Makes one that says nothing yet, on stable storage. */
  static make(path: string, key: Uint8Array): void {
    const file = openSync(path, "w", 0o600);
    try {
      const start = placeOf(key, { changes: 0, operation: 0 });
      for (let place = 0; place < PLACES; place += 1) writeSync(file, start, 0, PLACE_BYTES, place * PLACE_BYTES);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  reached(): Generation {
    if (this.#reached !== undefined) return this.#reached;
    const places = Array.from({ length: PLACES }, (_, place) => this.#read(place));
    const whole = places.filter((it) => it !== undefined);
    if (whole.length === 0)
      throw new StoreError("damaged", `${this.#path}, which says how far the bucket is, is not what was written`);
    this.#reached = whole.reduce((left, right) => (isLater(right, left) ? right : left));
    this.#place = places.indexOf(this.#reached);
    return this.#reached;
  }

  reach(generation: Generation): void {
    const before = this.reached();
    if (!isLater(generation, before)) return;
    this.#place = (this.#place + 1) % PLACES;
    try {
      writeSync(this.#file, placeOf(this.key, generation), 0, PLACE_BYTES, this.#place * PLACE_BYTES);
    } catch (error) {
      // Not "full", nor "readonly": what it is to tell of is committed.
      throw new StoreError("io", `${this.#path} cannot be written: ${(error as Error).message}`, error);
    }
    this.#reached = generation;
  }

  sync(): void {
    fsyncSync(this.#file);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#file);
  }

  #read(place: number): Generation | undefined {
    const bytes = new Uint8Array(PLACE_BYTES);
    const length = readSync(this.#file, bytes, 0, PLACE_BYTES, place * PLACE_BYTES);
    const view = new DataView(bytes.buffer);
    const [changes, operation] = [view.getBigUint64(0, true), view.getBigUint64(8, true)].map(Number);
    if (length < PLACE_BYTES || changes === undefined || operation === undefined) return undefined;
    if (Buffer.compare(bytes, placeOf(this.key, { changes, operation })) !== 0) return undefined;
    return { changes, operation };
  }
}

/** A file opened for reading and writing; nothing where its device can only be read. */
function openWritable(path: string): number | undefined {
  try {
    return openSync(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EROFS") return undefined;
    throw error;
  }
}

function placeOf(key: Uint8Array, { changes, operation }: Generation): Uint8Array {
  const bytes = new Uint8Array(PLACE_BYTES);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(changes), true);
  view.setBigUint64(8, BigInt(operation), true);
  bytes.set(sealOf(key, bytes.subarray(0, NUMBERS_BYTES)), NUMBERS_BYTES);
  return bytes;
}

function isLater(left: Generation, right: Generation): boolean {
  return left.changes > right.changes || left.operation > right.operation;
}
