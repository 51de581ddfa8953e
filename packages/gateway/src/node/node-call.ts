/**
 * A `Call` of Node's request and response, HTTP/1.1 or HTTP/2. Body and answer go straight to them: no `Request`, no
 * `Response`, and above all no `URL` in between.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { ServiceError } from "@brooklet/wire";
import { BodyLimit, type Call, concatenate, NO_BYTES, type Reply } from "../call.ts";
import type { ConnectionLimits } from "./connection-limits.ts";

/** What is received. */
export type Incoming = IncomingMessage | Http2ServerRequest;
/** What is answered with. */
export type Outgoing = ServerResponse | Http2ServerResponse;

/** What a server tells about its state. */
export interface Surroundings {
  /** Whether connections are being closed. */
  readonly draining: boolean;
  readonly limits: Pick<ConnectionLimits, "sendTimeoutMs" | "sendBytesPerSecond">;
}

/** The call of a request. */
export function callFromNode(incoming: Incoming, outgoing: Outgoing, surroundings: Surroundings): Call {
  const { rawHeaders } = incoming;
  let headerBytes = 0;
  for (const text of rawHeaders) headerBytes += text.length;
  let gone: AbortSignal | undefined;
  return {
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    headerCount: rawHeaders.length / 2,
    headerBytes,
    header: (name) => headerOf(incoming, name),
    // Few routes look at it, so it is made when one does.
    get gone() {
      gone ??= goneSignal(outgoing);
      return gone;
    },
    body: (limitBytes) => readBody(incoming, outgoing, limitBytes),
    stream: () => streamBody(incoming, outgoing),
    send: (reply) => send(outgoing, reply, surroundings),
  };
}

function goneSignal(outgoing: Outgoing): AbortSignal {
  const controller = new AbortController();
  const look = (): void => {
    if (!outgoing.writableEnded) controller.abort(disconnected());
  };
  if (outgoing.destroyed) look();
  else outgoing.once("close", look);
  return controller.signal;
}

function headerOf(incoming: Incoming, name: string): string | undefined {
  // HTTP/2 names the host in a header of its own, which wins over `host`.
  const value = (name === "host" ? incoming.headers[":authority"] : undefined) ?? incoming.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

function readBody(incoming: Incoming, outgoing: Outgoing, limitBytes: number): Promise<Uint8Array> {
  if (incoming.headers.expect?.toLowerCase() === "100-continue") outgoing.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let received = 0;
    const onData = (chunk: Uint8Array): void => {
      received += chunk.length;
      if (received <= limitBytes) chunks.push(chunk);
      else {
        incoming.off("data", onData);
        incoming.pause();
        reject(new BodyLimit(received));
      }
    };
    incoming.on("data", onData);
    incoming.once("end", () => resolve(received === 0 ? NO_BYTES : concatenate(chunks, received)));
    incoming.once("error", (cause) => reject(disconnected(cause)));
    // Without an end before it, a close means that the client went away.
    incoming.once("close", () => {
      if (!incoming.readableEnded) reject(disconnected());
    });
  });
}

async function* streamBody(incoming: Incoming, outgoing: Outgoing): AsyncGenerator<Uint8Array> {
  if (incoming.headers.expect?.toLowerCase() === "100-continue") outgoing.writeContinue();
  try {
    // Whoever stops reading may still want to answer, for which the connection must live.
    yield* incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
  } catch (cause) {
    throw disconnected(cause as Error);
  }
}

function disconnected(cause?: Error): ServiceError {
  return new ServiceError("BAD_REQUEST", "The connection was closed before the request was complete", { cause });
}

function send(outgoing: Outgoing, reply: Reply, surroundings: Surroundings): void {
  if (typeof reply.body !== "string" && !(reply.body instanceof Uint8Array)) {
    void sendParts(outgoing, { ...reply, body: reply.body }, surroundings);
    return;
  }
  if (outgoing.destroyed || outgoing.headersSent) return;
  const body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  const headers: Record<string, string | number> = { ...reply.headers };
  if (reply.status !== 204) headers["content-length"] = body.length;
  if (outgoing instanceof Http2ServerResponse) {
    outgoing.writeHead(reply.status, headers);
    outgoing.end(body);
    // The rest of a body that will not be read is refused without calling it an error.
    if (reply.close === true) outgoing.once("finish", () => outgoing.stream?.close(constants.NGHTTP2_NO_ERROR));
  } else {
    if (reply.close === true || surroundings.draining) headers["connection"] = "close";
    outgoing.writeHead(reply.status, headers);
    outgoing.end(body);
  }
  if (!outgoing.writableFinished) limitSending(outgoing, body.length, surroundings.limits);
}

/** Sends parts as they come. The next is asked for when the client took so much that there is room for it. */
async function sendParts(
  outgoing: Outgoing,
  reply: Reply & { readonly body: AsyncIterable<Uint8Array> },
  surroundings: Surroundings,
): Promise<void> {
  const headers = surroundings.draining && !(outgoing instanceof Http2ServerResponse) ? { connection: "close" } : {};
  // Both kinds of answer have the same methods here, in types that do not know of each other.
  const out = outgoing as ServerResponse;
  try {
    if (!out.destroyed) out.writeHead(reply.status, { ...reply.headers, ...headers });
    for await (const part of reply.body) {
      if (out.destroyed) return;
      if (!out.write(part)) await room(out, surroundings.limits.sendTimeoutMs);
    }
    out.end();
  } catch {
    // The status is sent: all that is left is to show that this is not the whole of it.
    out.socket?.destroy();
  }
}

/** Waits until a client took what it was sent, or went away; gives up on one that does not read. */
function room(out: ServerResponse, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => out.socket?.destroy(), timeoutMs);
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

/** Gives up on a client that does not read its answer. */
function limitSending(outgoing: Outgoing, bytes: number, limits: Surroundings["limits"]): void {
  const allowedMs = limits.sendTimeoutMs + (1_000 * bytes) / limits.sendBytesPerSecond;
  const timer = setTimeout(() => outgoing.socket?.destroy(), allowedMs);
  timer.unref();
  outgoing.once("close", () => clearTimeout(timer));
}
