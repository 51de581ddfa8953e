/**
 * Memory for the large results of tasks that run one after the other: what was read of one is gone with the next. New
 * memory for each would be paid for with every page of it, and with the collector that it makes run.
 */
import type { UnsharedBytes } from "./bytes.ts";

/** The largest that is kept: a full segment of vectors of 384 cells with a line of text each is somewhat smaller. */
const KEPT_BYTES = 40 << 20;

/** Where results are copied to. */
export class ResultRoom {
  #bytes: UnsharedBytes = new Uint8Array(0);

  /** So many bytes, whose content is whatever it was. The ones handed out before are handed out again. */
  of(length: number): UnsharedBytes {
    if (length > KEPT_BYTES) return new Uint8Array(length);
    // A half more than is needed, so that results that grow do not each need their own.
    if (length > this.#bytes.length) this.#bytes = new Uint8Array(Math.min(length + (length >> 1), KEPT_BYTES));
    return this.#bytes.subarray(0, length);
  }
}
