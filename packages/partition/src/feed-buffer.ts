/**
 * Bytes of a feed that came and do not end an operation yet. They stand in one buffer that is used over and over: memory
 * that is asked for anew is paid for with every page of it.
 */
import type { UnsharedBytes } from "@brooklet/core";

const FIRST_BYTES = 64 << 10;

/** A buffer that grows, and whose beginning is passed over. */
export class FeedBuffer {
  #buffer: UnsharedBytes = new Uint8Array(FIRST_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All of it, until the next `add` or `pass`. */
  get bytes(): UnsharedBytes {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Appends a copy of `piece`. */
  add(piece: Uint8Array): void {
    const end = this.#length + piece.length;
    if (end > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#buffer.length));
      larger.set(this.bytes);
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = end;
  }

  /** Passes over the first bytes. */
  pass(bytes: number): void {
    this.#buffer.copyWithin(0, bytes, this.#length);
    this.#length -= bytes;
  }
}
