/**
 * Reads request bodies under three limits: of one body as sent, of one body inflated, and of all bodies held at a time, what came of those that
 * are not whole yet included.
 * Nothing is read for a request that says beforehand that it is too large.
 */
import { ServiceError } from "@brooklet/wire";
import { BodyLimit, type BodyRoom, type Call, NO_BYTES } from "./call.ts";
import { echo } from "./echo.ts";
import { type Gunzip, InflationLimit, inflate, inflationFailure, statedBytes } from "./inflate.ts";
import type { GatewayLimits } from "./limits.ts";

/** What a body without a length is taken to need until more of it came. */
const UNKNOWN_LENGTH_BYTES = 64 * 1024;

/** A body, and the memory it takes from the budget until it is released. */
export interface HeldBody {
  readonly bytes: Uint8Array;
  release(): void;
}

/** What is read, as messages call it, and how large it may be after inflation. */
export interface BodyKind {
  readonly name: string;
  readonly limitBytes: number;
  /** The name of that limit, and what to do about it; L-body by default. */
  readonly limit?: string;
}

/** All bodies of a gateway. */
export class Bodies {
  readonly #limits: GatewayLimits;
  readonly #gunzip: Gunzip;
  readonly #budget: Budget;

  constructor(limits: GatewayLimits, gunzip: Gunzip) {
    this.#limits = limits;
    this.#gunzip = gunzip;
    this.#budget = new Budget(limits.bodyBytesInFlight);
  }

  /** Bytes held at present. */
  get heldBytes(): number {
    return this.#budget.heldBytes;
  }

  /** Reads and inflates the body of a call. */
  async read(call: Call, kind: BodyKind): Promise<HeldBody> {
    const isCompressed = isGzip(call.header("content-encoding"));
    const declared = call.header("content-length");
    const declaredBytes = declared === undefined ? UNKNOWN_LENGTH_BYTES : Number(declared) || 0;
    if (declared !== undefined && declaredBytes > kind.limitBytes) throw tooLarge(declaredBytes, kind);
    const held = new Held(this.#budget, declaredBytes);
    try {
      const sent = await call.body(kind.limitBytes, held);
      held.keep(isCompressed && sent.length > 0 ? await this.#inflate(sent, kind.limitBytes, held) : sent);
      return held;
    } catch (error) {
      held.release();
      throw error instanceof BodyLimit ? tooLarge(error.receivedBytes, kind) : error;
    }
  }

  /** The body part by part, inflated. It is held by nobody here: whoever takes the parts limits what it holds of them. */
  stream(call: Call): AsyncIterable<Uint8Array> {
    return isGzip(call.header("content-encoding")) ? inflate(call.stream(), this.#limits) : call.stream();
  }

  /** Has room for what may come out before anything does: for what is stated, or where more comes, for all that is allowed. */
  async #inflate(sent: Uint8Array, limitBytes: number, room: BodyRoom): Promise<Uint8Array> {
    const { inflationFreeBytes, inflationRatio } = this.#limits;
    const allowedBytes = Math.min(limitBytes, inflationFreeBytes + inflationRatio * sent.length);
    let most = Math.min(Math.max(statedBytes(sent), 1), allowedBytes);
    for (;;) {
      room.grow(sent.length + most);
      try {
        return await this.#gunzip(sent, most);
      } catch (cause) {
        if (!(cause instanceof InflationLimit) || most === allowedBytes)
          throw inflationFailure(cause, sent.length, allowedBytes);
        most = allowedBytes;
      }
    }
  }
}

/** The memory that all bodies of a gateway may take together. */
class Budget {
  heldBytes = 0;
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  hold(bytes: number): void {
    if (bytes > 0 && this.heldBytes + bytes > this.#mostBytes) {
      throw new ServiceError("UNAVAILABLE", "Too many bytes of request bodies are in flight (limit L-mem)");
    }
    this.heldBytes += bytes;
  }
}

/** A body with what it takes of the budget, also while it is read. */
class Held implements HeldBody, BodyRoom {
  bytes: Uint8Array = NO_BYTES;
  heldBytes = 0;
  readonly #budget: Budget;
  #isOver = false;

  constructor(budget: Budget, bytes: number) {
    this.#budget = budget;
    this.#hold(bytes);
  }

  grow(bytes: number): void {
    // Some of it may still come: there is nobody to give that back.
    if (this.#isOver) throw new ServiceError("BAD_REQUEST", "The body was given up before it was complete");
    if (bytes > this.heldBytes) this.#hold(bytes);
  }

  /** Takes what it is in the end, and no more room than that. */
  keep(bytes: Uint8Array): void {
    this.#hold(bytes.length);
    this.bytes = bytes;
  }

  release(): void {
    if (!this.#isOver) this.#budget.heldBytes -= this.heldBytes;
    this.#isOver = true;
  }

  #hold(bytes: number): void {
    this.#budget.hold(bytes - this.heldBytes);
    this.heldBytes = bytes;
  }
}

function tooLarge(receivedBytes: number, kind: BodyKind): ServiceError {
  const message = `${kind.name} size ${receivedBytes} bytes exceeds maximum size of ${kind.limitBytes} bytes.`;
  return new ServiceError("TOO_LARGE", `${message} See limit ${kind.limit ?? "L-body"}.`);
}

function isGzip(encoding: string | undefined): boolean {
  const name = encoding?.trim().toLowerCase() ?? "";
  if (name === "" || name === "identity") return false;
  if (name === "gzip" || name === "x-gzip") return true;
  throw new ServiceError(
    "UNSUPPORTED_ENCODING",
    `Content-Encoding '${echo(name)}' is not accepted: use gzip or identity`,
  );
}
