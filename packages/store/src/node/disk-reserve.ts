/**
 * Space of a device that is kept back for what gives space (L-disk): a file that is full of bytes, so that nobody else has them. When
 * the device is full it is given up: then removes, erasures, folds and the emptying of logs go on, and writes that grow are refused
 * until there is as much again. All threads of a process have the same, and one word in their memory says whether it is there.
 */
import { randomFillSync } from "node:crypto";
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Reserve } from "../reserve.ts";

/** What is kept back unless it is said: that, or a hundredth of a small device. */
export const RESERVE_BYTES: number = 64 << 20;
const DEVICE_PART = 0.01;
const SMALLEST_BYTES = 4 << 20;
const NAME = "reserve";
const CHUNK_BYTES = 1 << 20;
/** What has to be free beside the reserve itself before it is made again: or the next write would give it up at once. */
const MARGIN = 0.125;
/** How often it is looked whether there is space again. */
const LOOK_MS = 250;
const KEPT = 0;
const GIVEN_UP = 1;

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

  /** Makes the reserve of a directory, or takes what is there. On a device without room for it, it is given up from the start. */
  static make(directory: string, bytes: number = usualBytes(directory)): DiskReserve {
    const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const reserve = new DiskReserve({ directory, bytes, state });
    if (!reserve.#fill()) Atomics.store(state, 0, GIVEN_UP);
    return reserve;
  }

  /** The reserve that another thread made. */
  static of(shared: SharedReserve): DiskReserve {
    return new DiskReserve(shared);
  }

  get isGivenUp(): boolean {
    if (Atomics.load(this.shared.state, 0) === KEPT) return false;
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return true;
    this.#lookedMs = nowMs;
    const { directory, bytes, state } = this.shared;
    const { bavail, bsize } = statfsSync(directory);
    if (bavail * bsize < bytes * (1 + MARGIN) || !this.#fill()) return true;
    Atomics.store(state, 0, KEPT);
    return false;
  }

  giveUp(): void {
    if (Atomics.exchange(this.shared.state, 0, GIVEN_UP) === KEPT) this.#resize(0);
    this.#lookedMs = performance.now();
  }

  /** Fills the file; whether there was room. Bytes that cannot be pressed together: a device may do that. */
  #fill(): boolean {
    const file = this.#open();
    try {
      let at = fstatSync(file).size;
      if (at >= this.shared.bytes) {
        ftruncateSync(file, this.shared.bytes);
        return true;
      }
      const chunk = randomFillSync(Buffer.alloc(CHUNK_BYTES));
      while (at < this.shared.bytes) at += writeSync(file, chunk, 0, Math.min(CHUNK_BYTES, this.shared.bytes - at), at);
      return true;
    } catch {
      ftruncateSync(file, 0);
      return false;
    } finally {
      closeSync(file);
    }
  }

  #resize(bytes: number): void {
    const file = this.#open();
    try {
      ftruncateSync(file, bytes);
    } finally {
      closeSync(file);
    }
  }

  #open(): number {
    return openSync(join(this.shared.directory, NAME), constants.O_RDWR | constants.O_CREAT, 0o600);
  }
}

function usualBytes(directory: string): number {
  const { blocks, bsize } = statfsSync(directory);
  return Math.min(RESERVE_BYTES, Math.max(SMALLEST_BYTES, Math.floor(blocks * bsize * DEVICE_PART)));
}
