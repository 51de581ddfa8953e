/**
 * Bytes of a feed that came and do not end an operation yet. They stand in one buffer that is used over and over: memory
 * that is asked for anew is paid for with every page of it. A large piece that comes alone is not copied.
 */
import type { UnsharedBytes } from "@brooklet/core";
import { SPLIT_BYTES } from "./limits.ts";

const FIRST_BYTES = 64 << 10;

const SPACE = 0x20;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
/** The least byte of the mark that a feed may begin with. */
const BYTE_ORDER_MARK = 0xbb;

/** A buffer that grows, and whose beginning is passed over. */
export class FeedBuffer {
  #buffer: UnsharedBytes = new Uint8Array(FIRST_BYTES);
  #length = 0;
  /** In place of the buffer: the piece that is all there is. */
  #piece: Uint8Array | undefined;

  /** The first byte that is no white space, of all that was added, and the last. */
  #first: number | undefined;
  #last: number | undefined;

  /** All that was added is a list that was begun and does not end. */
  get isOpenList(): boolean {
    return this.#first === OPEN_LIST && this.#last !== CLOSE_LIST;
  }

  get length(): number {
    return this.#piece?.length ?? this.#length;
  }

  /** All of it, until the next `add` or `pass`. */
  get bytes(): Uint8Array {
    return this.#piece ?? this.#buffer.subarray(0, this.#length);
  }

  /** Appends a copy of `piece`; not of one that is all there is and enough to be split, which is done in the same turn. */
  add(piece: Uint8Array): void {
    this.#first ??= piece.find((byte) => byte > SPACE && byte < BYTE_ORDER_MARK);
    this.#last = piece.findLast((byte) => byte > SPACE) ?? this.#last;
    if (this.length === 0 && piece.length >= SPLIT_BYTES) {
      this.#piece = piece;
      return;
    }
    if (this.#piece !== undefined) this.#copy(this.#piece);
    this.#piece = undefined;
    this.#copy(piece);
  }

  #copy(piece: Uint8Array): void {
    const end = this.#length + piece.length;
    if (end > this.#buffer.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#buffer.length));
      larger.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = larger;
    }
    this.#buffer.set(piece, this.#length);
    this.#length = end;
  }

  /** Passes over the first bytes. */
  pass(bytes: number): void {
    if (this.#piece !== undefined) {
      const rest = this.#piece.subarray(bytes);
      this.#piece = undefined;
      this.#copy(rest);
      return;
    }
    this.#buffer.copyWithin(0, bytes, this.#length);
    this.#length -= bytes;
  }
}
