/**
 * A call over HTTP/2: one stream of Node's own, without the objects of HTTP/1.1 that Node can put around it. They cost
 * more than the rest of the way from the socket to a partition.
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { setTimeout } from "node:timers";
import { type BodyRoom, disconnection, type Reply } from "../call.ts";
import { type NodeCall, readParts, readWhole, type Surroundings, valuesOf } from "./node-call.ts";
import { writeParts } from "./sending.ts";

/** How long a client that was refused may go on sending: some take an answer with the end of its stream for none. */
const LINGER_MS = 1_000;

/** A request as the session gives it. */
export interface Http2Request {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as they came, the ones that begin with `:` too. */
  readonly rawHeaders: readonly string[];
}

/** One request and its answer on a stream. */
export class Http2Call implements NodeCall {
  readonly method: string;
  readonly target: string;
  readonly headerCount: number;
  readonly headerBytes: number;
  readonly arrivedMs: number = performance.now();
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #surroundings: Surroundings;
  readonly #onReset: () => void;
  /** HTTP/2 names the host in a header of its own, beside which `host` may say the same. */
  readonly #host: string | undefined;
  #gone: AbortController | undefined;
  #isAnswered = false;
  #isCut = false;

  /** `onReset` is told if the client takes the request back, or breaks it off. */
  constructor({ stream, headers, rawHeaders }: Http2Request, surroundings: Surroundings, onReset: () => void) {
    this.method = headers[":method"] ?? "GET";
    this.target = headers[":path"] ?? "/";
    this.headerCount = rawHeaders.length / 2;
    const named = [headers[":authority"] ?? [], ...valuesOf("host", rawHeaders)].flat();
    this.#host = named.filter((host, at) => at === 0 || host !== headers[":authority"]).join() || undefined;
    let headerBytes = 0;
    for (const text of rawHeaders) headerBytes += text.length;
    this.headerBytes = headerBytes;
    [this.#stream, this.#headers, this.#surroundings, this.#onReset] = [stream, headers, surroundings, onReset];
    // A broken stream is the client's affair; without a listener it would end the process.
    stream.on("error", ignore);
    stream.on("close", () => this.#closed());
  }

  get address(): string | undefined {
    const remote = this.#stream.session?.socket?.remoteAddress;
    return this.#surroundings.proxies.addressOf(remote, (name) => this.header(name));
  }

  header(name: string): string | undefined {
    const value = name === "host" ? this.#host : this.#headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  // Few routes look at it, so it is made when one does.
  get gone(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.#stream.destroyed) this.#leave();
    }
    return this.#gone.signal;
  }

  body(limitBytes: number, room: BodyRoom): Promise<Uint8Array> {
    this.#continue();
    const { receiveClock } = this.#surroundings;
    return receiveClock.whole(readWhole(this.#stream, limitBytes, room, () => this.#stream.aborted));
  }

  async *stream(): AsyncGenerator<Uint8Array> {
    this.#continue();
    yield* readParts(this.#stream, this.#surroundings.receiveClock);
    // A stream that was reset ends like one that is whole.
    if (this.#stream.aborted) throw disconnection();
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
    this.#isCut = true;
    this.#stream.destroy(new Error("the answer was not sent to its end"));
  }

  #send({ status, headers, body }: Reply): void {
    const stream = this.#stream;
    const isOpen = !stream.destroyed && !stream.closed && !stream.headersSent;
    if (typeof body !== "string" && !ArrayBuffer.isView(body)) {
      if (isOpen) stream.respond({ ...headers, ":status": status });
      // Begun even where nobody listens any more: it is by its end that the parts let go of what they hold.
      void writeParts(stream, body, this, this.#surroundings.sendClock.partTimeoutMs).then(() => {
        this.#isAnswered = true;
        this.#receiveRest();
      });
      return;
    }
    if (!isOpen) return;
    this.#isAnswered = true;
    const bytes = typeof body === "string" ? Buffer.from(body) : body;
    if (status === 204) {
      stream.respond({ ...headers, ":status": status }, { endStream: true });
    } else if (bytes.length === 0) {
      stream.respond({ ...headers, ":status": status, "content-length": 0 }, { endStream: true });
    } else {
      // To `HEAD` as much is promised as `GET` would be given.
      stream.respond({ ...headers, ":status": status, "content-length": bytes.length });
      // Ended when it was written: Node makes an error, with its trace, for every stream that is over before.
      if (this.method !== "HEAD") stream.write(bytes, () => stream.end());
    }
    this.#receiveRest();
    this.#surroundings.sendClock.begin(this, bytes.length);
  }

  /** What still comes of a body has no reader. It is refused, without calling that an error, when the client had time to see the answer. */
  #receiveRest(): void {
    const stream = this.#stream;
    if (stream.readableEnded || stream.endAfterHeaders || stream.destroyed) return;
    stream.resume();
    const end = (): unknown => setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), LINGER_MS).unref();
    if (stream.writableFinished) end();
    else stream.once("finish", end);
  }

  #closed(): void {
    this.#surroundings.sendClock.end(this);
    this.#leave();
    if (this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR && !this.#isCut) this.#onReset();
  }

  #leave(): void {
    if (!this.#isAnswered) this.#gone?.abort(disconnection());
  }

  /** The body is wanted: a client that asked beforehand is told so. */
  #continue(): void {
    const { expect } = this.#headers;
    if (expect?.toLowerCase() !== "100-continue" || this.#stream.destroyed || this.#stream.headersSent) return;
    this.#stream.additionalHeaders({ ":status": 100 });
  }
}

function ignore(): void {}
