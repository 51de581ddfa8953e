/**
 * One port for HTTP/1.1 and for HTTP/2 without TLS: the usual feed clients speak only the latter and do not ask before.
 * A connection is told apart by its first bytes, then belongs to Node's server of its protocol for good.
 */
import http from "node:http";
import http2 from "node:http2";
import { Socket } from "node:net";
// A listener that closes goes by the real time, whatever clock a test puts in its place: so do the sockets.
import { performance } from "node:perf_hooks";
import type { Duplex } from "node:stream";
import { clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "node:timers";
import { ServiceError } from "@brooklet/wire";
import type { WholeReply } from "../call.ts";
import { echo } from "../echo.ts";
import { plainFailure } from "../failure.ts";
import type { ConnectionLimits } from "./connection-limits.ts";
import { type Answering, type Refuse, refuseEarly } from "./early-refusal.ts";
import { Http1Call } from "./http1-call.ts";
import { Http2Call } from "./http2-call.ts";
import type { NodeCall, Surroundings } from "./node-call.ts";
import { ReceiveClock } from "./receiving.ts";
import {
  encodedRequestLine,
  endOfRequestLine,
  mayBeRequestLine,
  ReplayedConnection,
  refusedRequest,
  UnfinishedLine,
} from "./request-line.ts";
import { SendClock } from "./sending.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** Who answers the requests of either protocol. */
export interface CallHandler {
  /** Answers one. */
  readonly take: (call: NodeCall) => void;
  /** What one is refused with before it is read. */
  readonly refusal: Refuse;
  /** Counts the answer to one that does not come to it. */
  readonly count: (status: number) => void;
}

/** The first bytes of HTTP/2; no method of HTTP/1.1 begins like them. */
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n");
const RESET_WINDOW_MS = 10_000;
const DRAIN_LOOK_MS = 25;
/** The part of the time to finish in which bodies are still read: the rest is for telling what came of them. */
const READING_GRACE = 0.8;
/** The part of it in which requests that still come are answered: until none came for a moment, and not for long. */
const LAST_REQUESTS = 0.2;
const QUIET_LOOKS = 8;
const LOOKS_MAX = 120;
/** The highest number a stream can have: none is lost that was begun before the client knew. */
const ANY_STREAM = 2 ** 31 - 1;
const HEADER_SLACK_BYTES = 16 * 1024;
const STREAM_WINDOW_BYTES = 1 << 20;
const CONNECTION_WINDOW_BYTES = 4 << 20;
const SESSION_MEMORY_MIB = 16;
const NO_HOST = new ServiceError("BAD_REQUEST", "The request has no Host header");

/** What the listener must know of the gateway's limits. */
export interface HeaderLimits {
  readonly targetBytes: number;
  readonly headerBytes: number;
  readonly headerCount: number;
}

/** A port that is listened on. */
export class Listener implements Surroundings {
  readonly limits: ConnectionLimits;
  readonly sendClock: SendClock;
  readonly receiveClock: ReceiveClock;
  readonly proxies: TrustedProxies;
  draining = false;
  /** When the last request came. */
  #askedMs = 0;
  readonly #handler: CallHandler;
  readonly #http1: http.Server;
  readonly #http2: http2.Http2Server;
  readonly #undecided = new Set<Socket>();
  readonly #lines = new WeakMap<Duplex, UnfinishedLine>();
  /** The last answer of each connection. */
  readonly #answers = new WeakMap<Duplex, http.ServerResponse>();
  readonly #sessions = new Set<http2.ServerHttp2Session>();
  readonly #byAddress = new Map<string, number>();
  /** What the line and the headers of a request may be together. */
  readonly #headBytes: number;

  constructor(handler: CallHandler, limits: ConnectionLimits, headers: HeaderLimits, proxies: TrustedProxies) {
    this.limits = limits;
    this.proxies = proxies;
    this.sendClock = new SendClock(limits);
    this.receiveClock = new ReceiveClock(limits);
    this.#handler = {
      ...handler,
      take: (call) => {
        this.#askedMs = call.arrivedMs;
        handler.take(call);
      },
    };
    this.#headBytes = headers.targetBytes + headers.headerBytes + HEADER_SLACK_BYTES;
    this.#http1 = this.#makeHttp1();
    this.#http2 = this.#makeHttp2(headers);
  }

  /** Begins to listen; gives the port, which the system chooses if `port` is 0. */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#http1.once("error", reject);
      this.#http1.listen({ host, port }, () => {
        this.#http1.off("error", reject);
        resolve();
      });
    });
    const address = this.#http1.address();
    return typeof address === "object" && address !== null ? address.port : port;
  }

  /**
   * Stops, so that no client that does as it is told loses a request: those that still come are answered, and told that this was the last
   * of their connection; when none came for a moment nothing is accepted any more. What is under way is finished for `graceMs` in all,
   * then what is left is cut.
   */
  async close(graceMs: number): Promise<void> {
    const endMs = performance.now() + graceMs;
    this.draining = true;
    for (const session of this.#sessions) farewell(session);
    await this.#quiet(graceMs * LAST_REQUESTS);
    const closed = new Promise<void>((resolve) => this.#http1.close(() => resolve()));
    for (const socket of this.#undecided) socket.destroy();
    for (const session of this.#sessions) session.close();
    const leftMs = Math.max(endMs - performance.now(), 0);
    const looking = setInterval(() => this.#http1.closeIdleConnections(), DRAIN_LOOK_MS);
    const ending = setTimeout(() => this.receiveClock.end(), leftMs * READING_GRACE);
    const cutting = setTimeout(() => {
      this.#http1.closeAllConnections();
      for (const session of this.#sessions) session.destroy();
    }, leftMs);
    await closed;
    clearInterval(looking);
    clearTimeout(ending);
    clearTimeout(cutting);
  }

  /** Settles when in some looks no request came, or after `mostMs`; by the clock a process without a turn would have heard of nobody. */
  async #quiet(mostMs: number): Promise<void> {
    const endMs = performance.now() + mostMs;
    let [quiet, askedMs] = [0, this.#askedMs];
    for (let looks = 0; quiet < QUIET_LOOKS && looks < LOOKS_MAX && performance.now() < endMs; looks += 1) {
      if (this.#byAddress.size === 0) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(DRAIN_LOOK_MS, mostMs)));
      quiet = this.#askedMs === askedMs ? quiet + 1 : 0;
      askedMs = this.#askedMs;
    }
  }

  /** What a client sends before it was answered is done one after the other: a later request may be about what an earlier one does. */
  #inTurn(socket: Socket, outgoing: http.ServerResponse, take: () => void): void {
    const before = this.#answers.get(socket);
    this.#answers.set(socket, outgoing);
    if (before === undefined || before.writableFinished) take();
    else {
      // Nor is more read meanwhile: all that is sent ahead would have to be kept.
      socket.pause();
      before.once("close", () => {
        if (socket.destroyed) return;
        socket.resume();
        take();
      });
    }
  }

  #makeHttp1(): http.Server {
    const limits = this.limits;
    const onRequest: http.RequestListener = (incoming, outgoing) => {
      // The last that the connection may carry: Node says `close` to it, and goes on reading.
      if ("maxRequestsOnConnectionReached" in outgoing && outgoing.maxRequestsOnConnectionReached === true)
        outgoing.shouldKeepAlive = false;
      if (incoming.headers.host === undefined && incoming.httpVersion === "1.1")
        refuse(outgoing, this.#refusal(NO_HOST));
      else this.#inTurn(incoming.socket, outgoing, () => this.#handler.take(new Http1Call(incoming, outgoing, this)));
    };
    const server = http.createServer(
      {
        // Node would refuse it too, and say nothing of it.
        requireHostHeader: false,
        maxHeaderSize: this.#headBytes,
        headersTimeout: limits.headersTimeoutMs,
        // Node cannot tell a feed from a body that does not come: the calls have a clock for what they read.
        requestTimeout: 0,
        keepAliveTimeout: limits.idleTimeoutMs,
        connectionsCheckingInterval: Math.min(1_000, limits.headersTimeoutMs),
      },
      onRequest,
    );
    server.maxConnections = limits.connections;
    server.maxRequestsPerSocket = limits.requestsOfConnection;
    // Node would cut the list here without a word; the gateway counts it and refuses.
    server.maxHeadersCount = 0;
    // `100 Continue` is said when the body is wanted: not at all to a request that is refused before.
    server.on("checkContinue", onRequest);
    server.on("checkExpectation", (incoming: http.IncomingMessage, outgoing: http.ServerResponse) =>
      refuse(outgoing, this.#refusal(expectationFailed(incoming.headers.expect))),
    );
    server.on("clientError", (error, socket: Duplex) => this.#refused(server, error, socket));
    const [serveHttp1] = server.listeners("connection") as ((this: http.Server, socket: Socket) => void)[];
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      if (socket instanceof ReplayedConnection) {
        serveHttp1?.call(server, socket);
        return;
      }
      if (!this.#admit(socket)) return;
      this.#tellApart(socket, () => {
        serveHttp1?.call(server, socket);
        refuseEarly(socket, {
          refuse: this.#handler.refusal,
          requestsOfConnection: limits.requestsOfConnection,
          isDraining: () => this.draining,
        });
        this.#lines.set(socket, new UnfinishedLine(socket, this.#headBytes));
      });
    });
    return server;
  }

  /** Streams are taken as they are: a listener of requests would have Node dress each up as one of HTTP/1.1. */
  #makeHttp2(headers: HeaderLimits): http2.Http2Server {
    const server = http2.createServer({
      maxHeaderListPairs: headers.headerCount + 8,
      maxSessionMemory: SESSION_MEMORY_MIB,
      settings: {
        maxConcurrentStreams: this.limits.streams,
        maxHeaderListSize: headers.targetBytes + headers.headerBytes + HEADER_SLACK_BYTES,
        initialWindowSize: STREAM_WINDOW_BYTES,
      },
    });
    // A broken connection is the client's affair; without a listener it would end the process.
    server.on("sessionError", () => {});
    server.on("session", (session) => this.#watch(session));
    return server;
  }

  /** Counts a connection by its address; one too many is closed at once, and who is sent away without closing soon. */
  #admit(socket: Socket): boolean {
    socket.on("error", () => {});
    const address = socket.remoteAddress ?? "";
    const count = (this.#byAddress.get(address) ?? 0) + 1;
    // A proxy is one address, of many clients.
    if (count > this.limits.connectionsOfAddress && !this.proxies.has(address)) {
      socket.destroy();
      return false;
    }
    this.#byAddress.set(address, count);
    socket.once("finish", () => setTimeout(() => socket.destroy(), this.limits.idleTimeoutMs).unref());
    socket.once("close", () => {
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
    });
    return true;
  }

  /** Waits for enough bytes to know the protocol. They may come one by one. */
  #tellApart(socket: Socket, serveHttp1: () => void): void {
    let first: Buffer = Buffer.alloc(0);
    this.#undecided.add(socket);
    const giveUp = setTimeout(() => {
      forget();
      if (first.length === 0 || !mayBeRequestLine(first)) socket.destroy();
      else this.#answerClientError(Object.assign(new Error(), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
    }, this.limits.headersTimeoutMs);
    const forget = (): void => {
      clearTimeout(giveUp);
      this.#undecided.delete(socket);
      socket.off("data", onData);
      socket.off("close", forget);
      socket.off("end", onEnd);
    };
    const onEnd = (): void => void socket.destroy();
    const onData = (chunk: Buffer): void => {
      first = first.length === 0 ? chunk : Buffer.concat([first, chunk]);
      const compared = Math.min(first.length, PREFACE.length);
      const isPreface = first.subarray(0, compared).equals(PREFACE.subarray(0, compared));
      if (isPreface && compared < PREFACE.length) return;
      // The line as a whole: a parser that was given a part of it keeps that for itself.
      if (
        !isPreface &&
        mayBeRequestLine(first) &&
        first.length < this.#headBytes &&
        endOfRequestLine(first) === undefined
      )
        return;
      forget();
      socket.pause();
      socket.unshift(isPreface ? first : encodedRequestLine(first));
      if (isPreface) this.#http2.emit("connection", socket);
      else serveHttp1();
      process.nextTick(() => socket.resume());
    };
    socket.on("data", onData);
    socket.once("end", onEnd);
    socket.once("close", forget);
  }

  /** Takes up again what was refused for bytes that only have to be encoded; answers the rest. */
  #refused(server: http.Server, error: NodeJS.ErrnoException, socket: Duplex): void {
    // Once: what is refused again is not refused for that.
    const request = socket.destroyed ? undefined : refusedRequest(error, this.#lines.get(socket)?.bytes);
    if (request === undefined || !(socket instanceof Socket)) {
      this.#answerClientError(error, socket);
      return;
    }
    const replayed = new ReplayedConnection(socket, request, this.#headBytes);
    // Requests before it on the connection are answered first.
    const begin = (): void => {
      const before = (socket as Answering)._httpMessage;
      if (before != null) before.once("close", () => setImmediate(begin));
      else if (!socket.destroyed) {
        socket.setTimeout(0);
        server.emit("connection", replayed);
      }
    };
    begin();
  }

  /** Serves an HTTP/2 connection, closes it when idle, and ends one that only resets its streams. */
  #watch(session: http2.ServerHttp2Session): void {
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    if (this.draining) farewell(session);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.setTimeout(this.limits.idleTimeoutMs, () => session.close());
    const sendAway = (): void => {
      if (session.destroyed) return;
      session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      // The frame has to be on its way before the connection is cut.
      setImmediate(() => session.destroy());
    };
    const onReset = tooOften(this.limits.streamResets, sendAway);
    const onControl = tooOften(this.limits.controlFrames, sendAway);
    session.on("ping", onControl);
    session.on("remoteSettings", onControl);
    session.on("stream", (stream, headers, _flags, rawHeaders: readonly string[] = []) => {
      const call = new Http2Call({ stream, headers, rawHeaders }, this, onReset);
      if (headers.expect === undefined || headers.expect.toLowerCase() === "100-continue") this.#handler.take(call);
      else call.send(this.#refusal(expectationFailed(headers.expect)));
    });
  }

  /** What a request is answered that nobody looks at, in the shape of all our errors. */
  #refusal(failure: ServiceError): WholeReply {
    const reply = plainFailure(failure);
    this.#handler.count(reply.status);
    return reply;
  }

  /** Answers what Node's parser refuses, and closes. */
  #answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (!socket.writable || error.code === "ECONNRESET") socket.destroy();
    else {
      const { status, headers, body } = this.#refusal(failureOfClient(error));
      const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ""}\r\ncontent-type: ${headers["content-type"]}`;
      socket.end(`${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
    }
  }
}

/** Answers a request whose body is not read, so that it is the last. */
function refuse(outgoing: http.ServerResponse, { status, headers, body }: WholeReply): void {
  const length = { "content-length": Buffer.byteLength(body) };
  outgoing.writeHead(status, { ...headers, ...length, connection: "close" }).end(body);
}

function expectationFailed(expected: string | undefined): ServiceError {
  const message = `Expect '${echo(expected ?? "")}' is not supported: only 100-continue`;
  return new ServiceError("UNSUPPORTED", message, { status: 417 });
}

/** Does `then` when it was called more than `most` times within ten seconds. */
function tooOften(most: number, then: () => void): () => void {
  let [count, sinceMs] = [0, performance.now()];
  return () => {
    if (performance.now() - sinceMs > RESET_WINDOW_MS) [count, sinceMs] = [0, performance.now()];
    count += 1;
    if (count > most) then();
  };
}

/** Tells a client of HTTP/2 to ask on another connection. What it asks before it heard that is answered. */
function farewell(session: http2.ServerHttp2Session): void {
  if (!session.destroyed) session.goaway(http2.constants.NGHTTP2_NO_ERROR, ANY_STREAM);
}

/** What Node's parser refuses a request for. */
function failureOfClient({ code }: NodeJS.ErrnoException): ServiceError {
  if (code === "HPE_HEADER_OVERFLOW")
    return new ServiceError("HEADERS_TOO_LARGE", "The headers are larger than limit L-head");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return new ServiceError("REQUEST_TIMEOUT", "The request was not complete in time (limit L-slow)");
  return new ServiceError("BAD_REQUEST", "The request is not valid HTTP");
}
