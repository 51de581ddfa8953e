/**
 * How answers leave: parts as a client takes them, and an end for clients that do not read. One clock serves all answers
 * of a listener: a timer for each would cost as much as a small answer itself.
 */
import type { Writable } from "node:stream";
import { clearInterval, clearTimeout, setInterval, setTimeout } from "node:timers";
import type { ConnectionLimits } from "./connection-limits.ts";

/** The limits of sending (L-send). */
export type SendLimits = Pick<ConnectionLimits, "sendTimeoutMs" | "sendBytesPerSecond">;

/** Something that is being sent. */
export interface Sending {
  /** Ends it, whatever is not sent yet. */
  cut(): void;
}

/** How often it is looked for answers that were not read in time: in a fraction of what they have, or once a second. */
const LOOKS_PER_TIMEOUT = 4;
const LOOK_MS_MAX = 1_000;

/** The answers that are being sent, and until when each has to be read. */
export class SendClock {
  readonly #limits: SendLimits;
  readonly #lookMs: number;
  readonly #dueMs = new Map<Sending, number>();
  #looking: NodeJS.Timeout | undefined;

  constructor(limits: SendLimits) {
    this.#limits = limits;
    this.#lookMs = Math.min(limits.sendTimeoutMs / LOOKS_PER_TIMEOUT, LOOK_MS_MAX);
  }

  /** How long a client may let an answer wait that comes in parts. */
  get partTimeoutMs(): number {
    return this.#limits.sendTimeoutMs;
  }

  /** An answer of so many bytes is on its way. Follow it with one `end`. */
  begin(sending: Sending, bytes: number): void {
    const { sendTimeoutMs, sendBytesPerSecond } = this.#limits;
    this.#dueMs.set(sending, performance.now() + sendTimeoutMs + (1_000 * bytes) / sendBytesPerSecond);
    this.#looking ??= setInterval(() => this.#look(), this.#lookMs).unref();
  }

  /** It was taken, or there is nobody any more to take it. */
  end(sending: Sending): void {
    this.#dueMs.delete(sending);
  }

  #look(): void {
    if (this.#dueMs.size === 0) {
      clearInterval(this.#looking);
      this.#looking = undefined;
    }
    const nowMs = performance.now();
    for (const [sending, dueMs] of this.#dueMs) {
      if (dueMs > nowMs) continue;
      this.#dueMs.delete(sending);
      sending.cut();
    }
  }
}

/** Writes parts as they come. The next is asked for when the client took so much that there is room for it. */
export async function writeParts(
  out: Writable,
  parts: AsyncIterable<Uint8Array>,
  sending: Sending,
  timeoutMs: number,
): Promise<void> {
  try {
    for await (const part of parts) {
      if (out.destroyed || out.writableEnded) return;
      if (!out.write(part)) await room(out, sending, timeoutMs);
    }
    out.end();
  } catch {
    // The status is sent: all that is left is to show that this is not the whole of it.
    sending.cut();
  }
}

/** Waits until a client took what it was sent, or went away; gives up on one that does not read. */
function room(out: Writable, sending: Sending, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => sending.cut(), timeoutMs);
    timer.unref();
    const go = (): void => {
      clearTimeout(timer);
      out.off("drain", go);
      out.off("close", go);
      resolve();
    };
    out.once("drain", go);
    out.once("close", go);
  });
}
