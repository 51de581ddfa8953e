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
  return {
    method: incoming.method ?? "GET",
    target: incoming.url ?? "/",
    headerCount: rawHeaders.length / 2,
    headerBytes,
    header: (name) => headerOf(incoming, name),
    body: (limitBytes) => readBody(incoming, outgoing, limitBytes),
    send: (reply) => send(outgoing, reply, surroundings),
  };
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

function disconnected(cause?: Error): ServiceError {
  return new ServiceError("BAD_REQUEST", "The connection was closed before the request was complete", { cause });
}

function send(outgoing: Outgoing, reply: Reply, surroundings: Surroundings): void {
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

/** Gives up on a client that does not read its answer. */
function limitSending(outgoing: Outgoing, bytes: number, limits: Surroundings["limits"]): void {
  const allowedMs = limits.sendTimeoutMs + (1_000 * bytes) / limits.sendBytesPerSecond;
  const timer = setTimeout(() => outgoing.socket?.destroy(), allowedMs);
  timer.unref();
  outgoing.once("close", () => clearTimeout(timer));
}
