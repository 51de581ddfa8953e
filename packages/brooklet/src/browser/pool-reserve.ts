/**
 * Space of the browser's storage that is kept back for what gives space: a file beside those of a pool. Chromium grants each open file a
 * megabyte at least, and what was granted only comes back when the file is closed; so the file is opened anew wherever it gets smaller.
 */
import type { Reserve } from "@brooklet/store";
import type { AccessHandle } from "./platform.ts";

/** A few files that get a megabyte each, and a database of some megabytes that gets as much again as it has. */
const RESERVE_BYTES = 8 << 20;
const CHUNK_BYTES = 1 << 20;

/** The reserve of a pool. */
export class PoolReserve implements Reserve {
  /** Whether there was no more room than what is kept back, when it was made. */
  readonly wasFull: boolean;
  readonly #open: () => Promise<AccessHandle>;
  /** Nothing while it is opened anew. */
  #file: AccessHandle | undefined;
  #isKept: boolean;
  #isClosed = false;
  turns = 0;

  private constructor(open: () => Promise<AccessHandle>, file: AccessHandle, wasFull: boolean) {
    this.#open = open;
    this.#file = file;
    this.#isKept = fill(file);
    this.wasFull = wasFull || !this.#isKept;
  }

  /** Makes it, or takes what is there. Without room for it, it is given up from the start. */
  static async make(open: () => Promise<AccessHandle>): Promise<PoolReserve> {
    const tried = await open();
    let hasRoom = false;
    try {
      const bytes = Math.min(tried.getSize(), RESERVE_BYTES);
      hasRoom = growsTo(tried, 2 * RESERVE_BYTES);
      tried.truncate(bytes);
    } finally {
      tried.close();
    }
    return new PoolReserve(open, await open(), !hasRoom);
  }

  get isGivenUp(): boolean {
    if (this.#isKept) return false;
    if (this.#file === undefined) return true;
    this.#isKept = fill(this.#file);
    if (!this.#isKept) this.#empty(this.#file);
    return !this.#isKept;
  }

  giveUp(turns: number): boolean {
    if (this.#isKept && this.#file !== undefined) {
      this.#isKept = false;
      this.#empty(this.#file);
      this.turns += 1;
    }
    return this.turns !== turns;
  }

  /** Lets go of the file, which keeps what it has. */
  close(): void {
    this.#isClosed = true;
    this.#file?.close();
    this.#file = undefined;
  }

  #empty(file: AccessHandle): void {
    this.#file = undefined;
    try {
      file.truncate(0);
    } finally {
      file.close();
    }
    void this.#open().then(
      (opened) => {
        if (this.#isClosed) opened.close();
        else this.#file = opened;
      },
      // It stays given up: removes go on, and the next page makes it.
      () => undefined,
    );
  }
}

/** Fills a file; whether there was room. */
function fill(file: AccessHandle): boolean {
  if (file.getSize() >= RESERVE_BYTES) return true;
  // A browser that has no room says so to one byte as well, and sooner.
  if (!growsTo(file, RESERVE_BYTES)) return false;
  const chunk = new Uint8Array(CHUNK_BYTES);
  try {
    for (let at = 0; at < RESERVE_BYTES; at += CHUNK_BYTES) if (file.write(chunk, { at }) < CHUNK_BYTES) return false;
    file.flush();
    return true;
  } catch {
    return false;
  }
}

function growsTo(file: AccessHandle, bytes: number): boolean {
  try {
    return file.write(new Uint8Array(1), { at: bytes - 1 }) === 1;
  } catch {
    return false;
  }
}
