/**
 * How long a client may take to send a body (L-slow). A body that is read whole has one time for all of it; a stream may go
 * on as long as it likes, and is given up when nothing more of it comes, counted only while it is waited for. One clock
 * serves all requests of a listener, whose protocol has none that tells the two apart.
 */
import { clearInterval, setInterval } from "node:timers";
import { ServiceError } from "@brooklet/wire";
import type { ConnectionLimits } from "./connection-limits.ts";

/** The limits of receiving (L-slow). */
export type ReceiveLimits = Pick<ConnectionLimits, "requestTimeoutMs" | "streamTimeoutMs">;

/** How often it is looked for bodies that do not come: in a fraction of what they have, or once a second. */
const LOOKS_PER_TIMEOUT = 4;
const LOOK_MS_MAX = 1_000;

interface Awaited {
  readonly dueMs: number;
  readonly giveUp: (reason: ServiceError) => void;
}

/** What is waited for of bodies, and until when. */
export class ReceiveClock {
  readonly #limits: ReceiveLimits;
  readonly #lookMs: number;
  readonly #awaited = new Set<Awaited>();
  #looking: NodeJS.Timeout | undefined;
  #ended: ServiceError | undefined;

  constructor(limits: ReceiveLimits) {
    this.#limits = limits;
    const shortestMs = Math.min(limits.requestTimeoutMs, limits.streamTimeoutMs);
    this.#lookMs = Math.min(shortestMs / LOOKS_PER_TIMEOUT, LOOK_MS_MAX);
  }

  /** What is left to come of a request. */
  whole<Received>(received: Promise<Received>): Promise<Received> {
    return this.#within(this.#limits.requestTimeoutMs, received);
  }

  /** The next piece of a stream. */
  next<Piece>(piece: Promise<Piece>): Promise<Piece> {
    return this.#within(this.#limits.streamTimeoutMs, piece);
  }

  /** Gives up all that is waited for, now and later: what came before can still be answered for. */
  end(): void {
    this.#ended = new ServiceError("UNAVAILABLE", "The server is being stopped: nothing more is read");
    for (const { giveUp } of this.#awaited) giveUp(this.#ended);
  }

  #within<Received>(timeoutMs: number, received: Promise<Received>): Promise<Received> {
    return new Promise((resolve, reject) => {
      const awaited: Awaited = { dueMs: performance.now() + timeoutMs, giveUp: reject };
      const settle = (told: () => void): void => {
        this.#awaited.delete(awaited);
        told();
      };
      received.then(
        (what) => settle(() => resolve(what)),
        (error: unknown) => settle(() => reject(error)),
      );
      this.#awaited.add(awaited);
      this.#looking ??= setInterval(() => this.#look(), this.#lookMs).unref();
      if (this.#ended !== undefined) reject(this.#ended);
    });
  }

  #look(): void {
    if (this.#awaited.size === 0) {
      clearInterval(this.#looking);
      this.#looking = undefined;
    }
    const nowMs = performance.now();
    for (const awaited of this.#awaited) {
      if (awaited.dueMs > nowMs) continue;
      this.#awaited.delete(awaited);
      awaited.giveUp(new ServiceError("REQUEST_TIMEOUT", "The request was not complete in time (limit L-slow)"));
    }
  }
}
