/**
 * One request and its answer, in the shape all routes work on. It is not the Web's `Request`, because that one passes
 * the path through `URL`, which collapses `..` and would let `…/group/u1/../u2/x` change owner.
 */
import { ServiceError } from "@brooklet/wire";
import type { Parameter } from "./parameters.ts";

/** What comes before the body of a request. */
export interface CallHead {
  readonly method: string;
  /** The request target exactly as sent: never decoded, never normalised. */
  readonly target: string;
  readonly headerCount: number;
  readonly headerBytes: number;
  /** When it came, by the monotonic clock: what a request may take is counted from then on. */
  readonly arrivedMs: number;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
}

/** A request as it arrived. */
export interface Call extends CallHead {
  /** From which address it came, where that is known. */
  readonly address?: string | undefined;
  /**
   * The body as sent, still compressed. Rejects with `BodyLimit` as soon as `limitBytes` are passed. What comes in parts takes room for each
   * before it is kept; what is there as a whole takes none.
   */
  body(limitBytes: number, room: BodyRoom): Promise<Uint8Array>;
  /**
   * What the JSON object says that is the body, as texts by name, where nobody has to read it to know that its values are plain and
   * that it is not above the limit. It is a body in any case.
   */
  plainBody?(limitBytes: number): PlainBody | undefined;
  /** Aborted when the client goes away before it has its answer; nothing where it cannot. */
  readonly gone: AbortSignal | undefined;
  /** The body as sent, part by part as it is taken. Throws if the client goes away before its end. */
  stream(): AsyncIterable<Uint8Array>;
  /** Whoever goes on with what a request began when its client is gone, where the platform would give that up. */
  readonly keeper?: Keeper | undefined;
  /** Sends an answer by itself, where the platform has a shorter way than a `Response`. Does not throw. */
  readonly send?: (reply: Reply) => void;
}

/** What a platform gives with a request, so that work on it is done to its end. */
export interface Keeper {
  waitUntil(work: Promise<unknown>): void;
}

/** The memory that a body takes while it is read. */
export interface BodyRoom {
  readonly heldBytes: number;
  /** Takes room until it is so much in all. Throws where there is none. */
  grow(bytes: number): void;
}

/** The values of a JSON object that are texts, numbers and switches, as texts; and vectors, for their digits. */
export interface PlainBody {
  readonly properties: readonly Parameter[];
  readonly vectors: readonly (readonly [name: string, cells: Float32Array])[];
}

/** An answer. Header names are in lower case. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The whole of it, or its parts as they come: the next is asked for when the one before was taken. */
  readonly body: Uint8Array | string | AsyncIterable<Uint8Array>;
  /** The connection cannot be used again: the rest of the request's body was not read. */
  readonly close?: boolean;
  /** What made a failure; of a feed, what made those of its operations, by their numbers. Only this process sees it. */
  readonly cause?: unknown;
  /** The code of a failure; of one that the core found in a search, where its answer is JSON. */
  readonly code?: string;
}

/** An answer that is there as a whole. */
export interface WholeReply extends Reply {
  readonly body: Uint8Array | string;
}

/** A body is longer than the reader was told to read. */
export class BodyLimit extends Error {
  override readonly name = "BodyLimit";
  readonly receivedBytes: number;

  constructor(receivedBytes: number) {
    super(`${receivedBytes} bytes received`);
    this.receivedBytes = receivedBytes;
  }
}

/** What a client is told, should it still listen, that went away before its request was complete. */
export function disconnection(cause?: Error): ServiceError {
  return new ServiceError("BAD_REQUEST", "The connection was closed before the request was complete", { cause });
}

/** A URL with a path, without parameters, a fragment, or letters that have to be encoded. */
const PLAIN_URL = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+\/[!$-;=@-~]*$/i;

/** The target of a URL that is given as text, without normalising it. */
export function rawTargetOf(url: string): string {
  // That of a plain URL stands there as it is sent.
  const path = url.indexOf("/", url.indexOf("://") + 3);
  if (path > 0 && PLAIN_URL.test(url)) return url.slice(path);
  const withoutFragment = url.split("#", 1)[0] ?? "";
  const target = withoutFragment.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, "");
  // As a browser sends it: bytes of UTF-8, encoded.
  const encoded = target.replace(/[^\0-\x7f]+/g, (text) => encodeURIComponent(wellFormed(text)));
  return encoded.startsWith("/") ? encoded : `/${encoded}`;
}

/** A text without half characters, as it is in UTF-8. */
function wellFormed(text: string): string {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}

/**
 * A call made of a Web request. Without `rawTarget` its path is the one `URL` normalised. Whatever is asked of such a request may
 * be asked of another world: each thing is asked once.
 */
export function callFromRequest(request: Request, rawTarget?: string, keeper?: Keeper): Call {
  return new WebCall(request, rawTarget, keeper);
}

/** The headers of a request. */
class HeadersRead {
  readonly named: Map<string, string> = new Map();
  bytes = 0;
}

function readHeader(this: HeadersRead, value: string, name: string): void {
  this.named.set(name, value);
  this.bytes += name.length + value.length;
}

/** Methods, and no closures for each request: the code of those does not stay (docs/decisions/0187). */
class WebCall implements Call {
  readonly method: string;
  readonly target: string;
  readonly arrivedMs: number = performance.now();
  readonly keeper: Keeper | undefined;
  readonly #request: Request;
  readonly #headers = new HeadersRead();
  #gone: AbortSignal | undefined;
  #host: string | undefined;

  constructor(request: Request, rawTarget: string | undefined, keeper: Keeper | undefined) {
    const { method, headers } = request;
    this.method = method;
    this.target = rawTarget ?? rawTargetOf(request.url);
    this.keeper = keeper;
    this.#request = request;
    headers.forEach(readHeader, this.#headers);
  }

  get headerCount(): number {
    return this.#headers.named.size;
  }

  get headerBytes(): number {
    return this.#headers.bytes;
  }

  get gone(): AbortSignal {
    this.#gone ??= this.#request.signal;
    return this.#gone;
  }

  header(name: string): string | undefined {
    const value = this.#headers.named.get(name);
    if (value !== undefined || name !== "host") return value;
    this.#host ??= new URL(this.#request.url).host;
    return this.#host;
  }

  async body(limitBytes: number, room: BodyRoom): Promise<Uint8Array> {
    const request = this.#request;
    // What says how long it is comes as a whole, which costs less than its parts.
    const isShort = Number(this.#headers.named.get("content-length") ?? Number.POSITIVE_INFINITY) <= limitBytes;
    if (isShort) return whole(await request.arrayBuffer().catch(broken), limitBytes);
    return request.body === null ? NO_BYTES : await collect(this.stream(), limitBytes, room);
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#request.body ?? [];
    } catch (cause) {
      broken(cause as Error);
    }
  }
}

/** Platforms say in words of their own that a client went away. */
function broken(cause: Error): never {
  throw disconnection(cause);
}

/** The bytes, unless they are more than they were said to be. */
function whole(buffer: ArrayBuffer, limitBytes: number): Uint8Array {
  if (buffer.byteLength > limitBytes) throw new BodyLimit(buffer.byteLength);
  return new Uint8Array(buffer);
}

/** No bytes. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

async function collect(stream: AsyncIterable<Uint8Array>, limitBytes: number, room: BodyRoom): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let received = 0;
  for await (const chunk of stream) {
    received += chunk.length;
    if (received > limitBytes) throw new BodyLimit(received);
    room.grow(received);
    chunks.push(chunk);
  }
  return concatenate(chunks, received);
}

/** Joins chunks of a known total length. */
export function concatenate(chunks: readonly Uint8Array[], totalBytes: number): Uint8Array {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const whole = new Uint8Array(totalBytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
