/** A call over HTTP/1.1. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type BodyRoom, disconnection, type Reply } from "../call.ts";
import { type NodeCall, readParts, readWhole, type Surroundings, valuesOf } from "./node-call.ts";
import { writeParts } from "./sending.ts";

/** One request and its answer on a connection. */
export class Http1Call implements NodeCall {
  readonly method: string;
  readonly target: string;
  readonly headerCount: number;
  readonly headerBytes: number;
  readonly arrivedMs: number = performance.now();
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #surroundings: Surroundings;
  #gone: AbortController | undefined;

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, surroundings: Surroundings) {
    const { method = "GET", url = "/", rawHeaders } = incoming;
    [this.method, this.target, this.headerCount] = [method, url, rawHeaders.length / 2];
    let headerBytes = 0;
    for (const text of rawHeaders) headerBytes += text.length;
    this.headerBytes = headerBytes;
    [this.#incoming, this.#outgoing, this.#surroundings] = [incoming, outgoing, surroundings];
  }

  get address(): string | undefined {
    return this.#surroundings.proxies.addressOf(this.#incoming.socket.remoteAddress, (name) => this.header(name));
  }

  header(name: string): string | undefined {
    // Node takes the first of several.
    if (name === "host") return valuesOf("host", this.#incoming.rawHeaders).join() || undefined;
    const value = this.#incoming.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  // Few routes look at it, so it is made when one does.
  get gone(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#outgoing.destroyed) this.#leave();
      else this.#outgoing.once("close", () => this.#leave());
    }
    return this.#gone.signal;
  }

  body(limitBytes: number, room: BodyRoom): Promise<Uint8Array> {
    this.#continue();
    const { receiveClock } = this.#surroundings;
    return receiveClock.whole(readWhole(this.#incoming, limitBytes, room, () => !this.#incoming.complete));
  }

  stream(): AsyncIterable<Uint8Array> {
    this.#continue();
    return readParts(this.#incoming, this.#surroundings.receiveClock);
  }

  send(reply: Reply): void {
    try {
      this.#send(reply);
    } catch {
      // There is nobody to tell but by the end.
      this.cut();
    }
  }

  cut(): void {
    this.#outgoing.socket?.destroy();
  }

  #send({ status, headers, body, close }: Reply): void {
    const out = this.#outgoing;
    const { draining, sendClock } = this.#surroundings;
    const isOpen = !out.destroyed && !out.headersSent;
    const ending = close === true || draining ? { connection: "close" } : {};
    if (typeof body !== "string" && !ArrayBuffer.isView(body)) {
      if (isOpen) out.writeHead(status, { ...headers, ...ending });
      // Begun even where nobody listens any more: it is by its end that the parts let go of what they hold.
      void writeParts(out, body, this, sendClock.partTimeoutMs).then(() => this.#endEarly());
      return;
    }
    if (!isOpen) return;
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    const length = status === 204 ? {} : { "content-length": bytes.length };
    out.writeHead(status, { ...headers, ...length, ...ending });
    out.end(bytes);
    this.#receiveRest();
    if (out.writableFinished) return;
    sendClock.begin(this, bytes.length);
    out.once("close", () => sendClock.end(this));
  }

  /** What breaks off while it is told was begun as one whose connection goes on: its client, which still sends, sees the end. */
  #endEarly(): void {
    const incoming = this.#incoming;
    if (incoming.complete) return;
    const end = (): void => {
      // What still comes has no reader any more.
      incoming.resume();
      incoming.socket.end();
    };
    if (this.#outgoing.writableFinished) end();
    else this.#outgoing.once("finish", end);
    this.#receiveRest();
  }

  /** The connection can go on when the rest of a body came that nobody reads; it is not waited for without end. */
  #receiveRest(): void {
    const incoming = this.#incoming;
    if (incoming.complete || incoming.destroyed) return;
    const received = new Promise<void>((resolve) => incoming.once("close", resolve));
    // The answer has left the connection by then.
    this.#surroundings.receiveClock.whole(received).catch(() => incoming.socket.destroy());
  }

  #leave(): void {
    if (!this.#outgoing.writableEnded) this.#gone?.abort(disconnection());
  }

  /** The body is wanted: a client that asked beforehand is told so. */
  #continue(): void {
    if (this.#incoming.headers.expect?.toLowerCase() === "100-continue") this.#outgoing.writeContinue();
  }
}
