/**
 * Bytes beyond ASCII in a request line: curl as it is typed, Ruby and older clients send the UTF-8 of a query without
 * encoding it. Node's parser refuses them whatever it is told to be lenient about, so they are percent-encoded before it
 * sees them, which means the same. Nothing here reads a body or knows where one ends: the first line of a connection is seen
 * whole before the parser has it, and of later ones the parser says that it met such a byte within a target, which began
 * behind the last method before it. What may be such a beginning is kept from packet to packet, for the parser gives
 * nothing back. Such a request is the last of its connection.
 */
import { METHODS } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

const LINE_END = 0x0a;
const SPACE = 0x20;
const BEYOND_ASCII = 0x80;
/** A method, a target, and a version of HTTP/1. A part of a line that was cut is none. */
const REQUEST_LINE = /^\r?\n?[A-Z]{2,32} [^ ]+ HTTP\/1\.[01]\r?\n$/;
/** The longest first: a method that ends like another is that. */
const METHOD = new RegExp(`(?:${[...METHODS].sort((a, b) => b.length - a.length).join("|")})$`);
const METHOD_BYTES_MAX = Math.max(...METHODS.map((method) => method.length));
const LAST = Buffer.from("Connection: close\r\n");

/** Whether bytes may be the beginning of a request line; those of TLS are not. */
export function mayBeRequestLine(bytes: Uint8Array): boolean {
  const [first = 0] = bytes;
  return (first >= 0x41 && first <= 0x5a) || first === 0x0d || first === LINE_END;
}

/** Where the request line ends that begins the bytes; nothing if its end is not there yet. */
export function endOfRequestLine(bytes: Buffer): number | undefined {
  // An empty line may come before it.
  const end = bytes.indexOf(LINE_END, bytes[0] === 0x0d ? 2 : bytes[0] === LINE_END ? 1 : 0);
  return end < 0 ? undefined : end + 1;
}

/** The beginning of a request with its line in ASCII; the same bytes if it is so, or if they begin with no such line. */
export function encodedRequestLine(bytes: Buffer): Buffer {
  const end = endOfRequestLine(bytes);
  if (end === undefined) return bytes;
  const line = bytes.subarray(0, end);
  if (line.every((byte) => byte < BEYOND_ASCII)) return bytes;
  const text = line.toString("latin1");
  if (!REQUEST_LINE.test(text)) return bytes;
  const encoded = text.replace(/[\u0080-\u00ff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  return Buffer.concat([Buffer.from(encoded, "latin1"), LAST, bytes.subarray(end)]);
}

/** What Node tells of bytes that its parser refuses. */
interface ParserError extends Error {
  readonly code?: string | undefined;
  readonly bytesParsed?: number;
  readonly rawPacket?: Buffer;
}

/** Where the request begins of whose target the bytes are the last; nothing if they end elsewhere. */
function beginOfRequest(bytes: Buffer): number | undefined {
  const space = bytes.lastIndexOf(SPACE);
  if (space < 0 || bytes.indexOf(LINE_END, space) >= 0) return undefined;
  const [method] = METHOD.exec(bytes.toString("latin1", Math.max(0, space - METHOD_BYTES_MAX), space)) ?? [];
  return method === undefined ? undefined : space - method.length;
}

/** The end of what a parser was given, as far as a request line may begin there that goes on in the next packet. */
export class UnfinishedLine {
  /** That end; a copy, for the packets are large. */
  bytes: Buffer = Buffer.alloc(0);

  /** Follows a socket that Node reads for its parser. `bytesMax`: what a line may be before the parser refuses it. */
  constructor(socket: Socket, bytesMax: number) {
    // Behind the listener of the parser: of a packet that is refused, this has what came before it.
    socket.on("data", (packet: Buffer) => {
      const joined = packet.lastIndexOf(SPACE) < METHOD_BYTES_MAX ? Buffer.concat([this.bytes, packet]) : packet;
      const begin = beginOfRequest(joined);
      const isKept = begin !== undefined && joined.length - begin <= bytesMax;
      this.bytes = Buffer.from(joined.subarray(isKept ? begin : -METHOD_BYTES_MAX));
    });
  }
}

/**
 * What came of a request whose line was refused for a byte beyond ASCII, from its line on; nothing if that is not why.
 * `before`: what stood before the packet that was refused.
 */
export function refusedRequest(
  { code, bytesParsed, rawPacket }: ParserError,
  before: Buffer = Buffer.alloc(0),
): Buffer | undefined {
  if (code !== "HPE_INVALID_URL" || rawPacket === undefined || bytesParsed === undefined) return undefined;
  if ((rawPacket[bytesParsed] ?? 0) < BEYOND_ASCII) return undefined;
  const bytes = Buffer.concat([before, rawPacket]);
  const begin = beginOfRequest(bytes.subarray(0, before.length + bytesParsed));
  return begin === undefined ? undefined : bytes.subarray(begin);
}

/**
 * A connection whose parser refused a request, for another parser: what was refused comes first, its line encoded. The one
 * before has no part in the socket any more.
 */
export class ReplayedConnection extends Duplex {
  readonly #socket: Socket;
  #request: Buffer | undefined;

  /** `bytesMax`: what a line may be before it is given to the parser to be refused. */
  constructor(socket: Socket, request: Buffer, bytesMax: number) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    this.#request = request;
    const ofParser = socket.listeners("data");
    const ofEnd = socket.listeners("end");
    // Node reads a socket with its parser until somebody else listens.
    socket.on("data", (bytes: Buffer) => this.#take(bytes, bytesMax));
    for (const listener of ofParser) socket.off("data", listener as () => void);
    for (const listener of ofEnd) socket.off("end", listener as () => void);
    socket.on("end", () => this.push(null));
    socket.once("close", () => this.destroy());
    this.#take(Buffer.alloc(0), bytesMax);
    socket.resume();
  }

  /** As a socket has it: whom it belongs to. */
  get remoteAddress(): string | undefined {
    return this.#socket.remoteAddress;
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(bytes: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, encoding, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }

  #take(bytes: Buffer, bytesMax: number): void {
    let given = bytes;
    if (this.#request !== undefined) {
      const request = Buffer.concat([this.#request, bytes]);
      const isWhole = endOfRequestLine(request) !== undefined || request.length > bytesMax;
      this.#request = isWhole ? undefined : request;
      if (!isWhole) return;
      given = encodedRequestLine(request);
    }
    if (given.length > 0 && !this.push(given)) this.#socket.pause();
  }
}
