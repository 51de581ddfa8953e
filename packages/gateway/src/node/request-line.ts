/**
 * Bytes beyond ASCII in a request line: curl as it is typed, Ruby and older clients send the UTF-8 of a query without
 * encoding it. Node's parser refuses them whatever it is told to be lenient about, so they are percent-encoded before it
 * sees them, which means the same. It is done to lines alone: nothing here knows where a body begins or ends. Such a request is the
 * last of its connection, so that the next one begins another, of which the first line is always seen whole.
 */
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

const LINE_END = 0x0a;
const BEYOND_ASCII = 0x80;
/** A method, a target, and a version of HTTP/1. A part of a line that was cut is none. */
const REQUEST_LINE = /^\r?\n?[A-Z]{2,32} [^ ]+ HTTP\/1\.[01]\r?\n$/;
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

/**
 * What came of a request whose line was refused for a byte beyond ASCII, from its line on; nothing if that is not why, or if
 * the line began in a packet before, which only the parser has.
 */
export function refusedRequest({ code, bytesParsed, rawPacket }: ParserError): Buffer | undefined {
  if (code !== "HPE_INVALID_URL" || rawPacket === undefined || bytesParsed === undefined) return undefined;
  if ((rawPacket[bytesParsed] ?? 0) < BEYOND_ASCII) return undefined;
  const begin = bytesParsed === 0 ? 0 : rawPacket.lastIndexOf(LINE_END, bytesParsed - 1) + 1;
  const request = rawPacket.subarray(begin);
  return /^[A-Z]{2,32} \S*$/.test(rawPacket.toString("latin1", begin, bytesParsed)) ? Buffer.from(request) : undefined;
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
