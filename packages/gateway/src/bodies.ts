/**
 * Reads request bodies under three limits: of one body as sent, of one body inflated, and of all bodies held at a time.
 * Nothing is read for a request that says beforehand that it is too large.
 */
import { ServiceError } from "@brooklet/wire";
import { BodyLimit, type Call } from "./call.ts";
import { echo } from "./echo.ts";
import { type Gunzip, inflate, inflationFailure } from "./inflate.ts";
import type { GatewayLimits } from "./limits.ts";

/** What a body without a length is taken to need until it is read. */
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
  #heldBytes = 0;

  constructor(limits: GatewayLimits, gunzip: Gunzip) {
    this.#limits = limits;
    this.#gunzip = gunzip;
  }

  /** Bytes held at present. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Reads and inflates the body of a call. */
  async read(call: Call, kind: BodyKind): Promise<HeldBody> {
    const isCompressed = isGzip(call.header("content-encoding"));
    const declared = call.header("content-length");
    const declaredBytes = declared === undefined ? UNKNOWN_LENGTH_BYTES : Number(declared);
    if (declared !== undefined && declaredBytes > kind.limitBytes) throw tooLarge(declaredBytes, kind);
    let held = this.#hold(declaredBytes);
    try {
      const sent = await call.body(kind.limitBytes);
      const bytes = isCompressed && sent.length > 0 ? await this.#inflate(sent, kind.limitBytes) : sent;
      held += this.#hold(bytes.length - held);
      return new Held(bytes, held, this.#giveBack);
    } catch (error) {
      this.#giveBack(held);
      throw error instanceof BodyLimit ? tooLarge(error.receivedBytes, kind) : error;
    }
  }

  /** The body part by part, inflated. It is held by nobody here: whoever takes the parts limits what it holds of them. */
  stream(call: Call): AsyncIterable<Uint8Array> {
    return isGzip(call.header("content-encoding")) ? inflate(call.stream(), this.#limits) : call.stream();
  }

  async #inflate(sent: Uint8Array, limitBytes: number): Promise<Uint8Array> {
    const { inflationFreeBytes, inflationRatio } = this.#limits;
    const allowedBytes = Math.min(limitBytes, inflationFreeBytes + inflationRatio * sent.length);
    try {
      return await this.#gunzip(sent, allowedBytes);
    } catch (cause) {
      throw inflationFailure(cause, sent.length, allowedBytes);
    }
  }

  #hold(bytes: number): number {
    if (bytes > 0 && this.#heldBytes + bytes > this.#limits.bodyBytesInFlight) {
      throw new ServiceError("UNAVAILABLE", "Too many bytes of request bodies are in flight (limit L-mem)");
    }
    this.#heldBytes += bytes;
    return bytes;
  }

  readonly #giveBack = (bytes: number): void => {
    this.#heldBytes -= bytes;
  };
}

/** A body with what it takes of the budget. */
class Held implements HeldBody {
  readonly bytes: Uint8Array;
  readonly #held: number;
  readonly #giveBack: (bytes: number) => void;

  constructor(bytes: Uint8Array, held: number, giveBack: (bytes: number) => void) {
    this.bytes = bytes;
    this.#held = held;
    this.#giveBack = giveBack;
  }

  release(): void {
    this.#giveBack(this.#held);
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
