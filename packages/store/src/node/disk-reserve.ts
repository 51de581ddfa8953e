/**
 * Space of a device that is kept back for what gives space (L-disk): a file that is full of bytes, so that nobody else has them. When
 * the device is full it is given up: then removes, erasures, folds and the emptying of logs go on, and writes that grow are refused
 * until there is as much again. All threads of a process have the same, and one of them at a time is at its file: who needs room while
 * another fills it, or gives it up, has that room.
 */
import { randomFillSync } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Reserve } from "../reserve.ts";
import { StoreError, storeErrorAt, systemFailure } from "../store-error.ts";

/** What is kept back unless it is said: that, or a hundredth of a small device. */
const RESERVE_BYTES: number = 64 << 20;
const DEVICE_PART = 0.01;
const SMALLEST_BYTES = 4 << 20;
const NAME = "reserve";
const CHUNK_BYTES = 1 << 20;
/** What has to be free beside the reserve itself before it is made again: or the next write would give it up at once. */
const MARGIN = 0.125;
/** How often it is looked whether there is space again. */
const LOOK_MS = 250;
/** How often it is tried where room is seen, and is not given: a quota is told by no figure. */
const DENIED_MS = 10_000;
/** How long who needs the room waits for a thread that is at the file, which ends with its next chunk. */
const FILE_MS = 5_000;
const KEPT = 0;
const GIVEN_UP = 1;
const FREE = 0;
const TAKEN = 1;
/** Words of the shared memory: whether it is there, how often it was given up, whether a thread is at the file, and how many need the room. */
const [STATE, TURNS, FILE, WANTED, WORDS] = [0, 1, 2, 3, 4] as const;

/** The reserve of a directory, as another thread of the process has it. */
export interface SharedReserve {
  readonly directory: string;
  readonly bytes: number;
  readonly state: Int32Array;
}

/** The reserve of a data directory. */
export class DiskReserve implements Reserve {
  readonly shared: SharedReserve;
  #lookedMs = Number.NEGATIVE_INFINITY;

  private constructor(shared: SharedReserve) {
    this.shared = shared;
  }

  /**
   * Makes the reserve of a directory, or takes what is there. On a device without room for it, it is given up from the start. One of no bytes makes
   * no file, and only tells what a device that fails is.
   */
  static make(directory: string, bytes: number = reserveBytesOf(directory)): DiskReserve {
    const state = new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT));
    const reserve = new DiskReserve({ directory, bytes, state });
    if (bytes > 0 && !reserve.#fill()) Atomics.store(state, STATE, GIVEN_UP);
    return reserve;
  }

  /** The reserve that another thread made. */
  static of(shared: SharedReserve): DiskReserve {
    return new DiskReserve(shared);
  }

  /** Does work of who has a directory and serves nothing yet: once more with what is kept back there, where the device is full. */
  static beside<Result>(directory: string, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      const failed = storeErrorAt(directory, error);
      if (!(failed instanceof StoreError && failed.kind === "full")) throw error;
      const path = join(directory, NAME);
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) throw failed;
      truncateSync(path, 0);
      return work();
    }
  }

  /** Keeps nothing back in a directory: gives what an earlier process kept, or had to give up, to the device. */
  static remove(directory: string): void {
    rmSync(join(directory, NAME), { force: true });
  }

  get isGivenUp(): boolean {
    const { directory, bytes, state } = this.shared;
    if (Atomics.load(state, STATE) === KEPT) return false;
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return true;
    this.#lookedMs = nowMs;
    if (Atomics.compareExchange(state, FILE, FREE, TAKEN) === TAKEN) return true;
    try {
      if (Atomics.load(state, STATE) === KEPT) return false;
      const { bavail, bsize } = statfsSync(directory);
      if (bavail * bsize < bytes * (1 + MARGIN)) return true;
      if (!this.#fill()) {
        this.#lookedMs = nowMs + DENIED_MS;
        return true;
      }
      Atomics.store(state, STATE, KEPT);
      return false;
    } catch {
      // A device that can only be read, or fails: nothing is kept back there yet.
      return true;
    } finally {
      this.#leave();
    }
  }

  get turns(): number {
    return Atomics.load(this.shared.state, TURNS);
  }

  giveUp(turns: number): boolean {
    const { bytes, state } = this.shared;
    if (bytes === 0) return false;
    Atomics.add(state, WANTED, 1);
    const endMs = performance.now() + FILE_MS;
    while (Atomics.compareExchange(state, FILE, FREE, TAKEN) === TAKEN && performance.now() < endMs)
      Atomics.wait(state, FILE, TAKEN, FILE_MS);
    try {
      Atomics.store(state, STATE, GIVEN_UP);
      const file = this.#open();
      try {
        this.#empty(file);
      } finally {
        closeSync(file);
      }
    } catch {
      // What it was to be given up for says what is the matter with the device.
      return this.turns !== turns;
    } finally {
      Atomics.sub(state, WANTED, 1);
      this.#leave();
    }
    this.#lookedMs = performance.now();
    return this.turns !== turns;
  }

  isDenied(): boolean {
    if (Atomics.compareExchange(this.shared.state, FILE, FREE, TAKEN) === TAKEN) return false;
    try {
      const file = this.#open();
      const { size } = fstatSync(file);
      try {
        const chunk = randomFillSync(Buffer.alloc(CHUNK_BYTES));
        for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at, chunk.length - at, size + at);
        // A process may have a limit for the length of a file; nothing is written there.
        ftruncateSync(file, this.#longestFile() + CHUNK_BYTES);
        return false;
      } finally {
        if (fstatSync(file).size !== size) ftruncateSync(file, size);
        closeSync(file);
        if (this.shared.bytes === 0 && size === 0) DiskReserve.remove(this.shared.directory);
      }
    } catch (error) {
      return systemFailure(error) === "full";
    } finally {
      this.#leave();
    }
  }

  #longestFile(): number {
    const folder = join(this.shared.directory, "buckets");
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0);
    return Math.max(0, ...sizes);
  }

  #leave(): void {
    Atomics.store(this.shared.state, FILE, FREE);
    Atomics.notify(this.shared.state, FILE);
  }

  /** Fills the file; whether there was room that nobody needed. Bytes that cannot be pressed together: a device may do that. */
  #fill(): boolean {
    const { bytes, state } = this.shared;
    const file = this.#open();
    try {
      let at = fstatSync(file).size;
      if (at >= bytes) {
        ftruncateSync(file, bytes);
        return true;
      }
      const chunk = randomFillSync(Buffer.alloc(CHUNK_BYTES));
      while (at < bytes && Atomics.load(state, WANTED) === 0)
        at += writeSync(file, chunk, 0, Math.min(CHUNK_BYTES, bytes - at), at);
      if (at < bytes) this.#empty(file);
      return at >= bytes;
    } catch {
      this.#empty(file);
      return false;
    } finally {
      closeSync(file);
    }
  }

  /** Gives back what is in the file. Only then that is counted: who sees it counted has the room. */
  #empty(file: number): void {
    if (fstatSync(file).size === 0) return;
    ftruncateSync(file, 0);
    Atomics.add(this.shared.state, TURNS, 1);
  }

  #open(): number {
    return openSync(join(this.shared.directory, NAME), constants.O_RDWR | constants.O_CREAT, 0o600);
  }
}

/** What is kept back on the device of a directory, where nothing else is said. */
export function reserveBytesOf(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.min(RESERVE_BYTES, Math.max(SMALLEST_BYTES, Math.floor(blocks * bsize * DEVICE_PART)));
}
