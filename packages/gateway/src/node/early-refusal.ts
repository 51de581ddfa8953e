/**
 * Refuses requests of a connection before its parser has them. In an overload refusing is most of what is done: a parser, a request and
 * a response for each leave no time for those that are answered. The first request of a connection, and what is not plain, goes the
 * usual way.
 */
import http from "node:http";
import type { Socket } from "node:net";
import type { CallHead, WholeReply } from "../call.ts";
import { RequestFrame, requestHead } from "./request-frame.ts";

/**
 * So late, milliseconds, a refusal is told: who asks again at once would have the server refuse all the time, and takes it from those that it
 * answers. What is asked behind it on the same connection waits there.
 */
export const HOLD_MS = 50;

/** What one request is refused with at present; nothing: it has to be looked at. */
export type Refuse = (head: CallHead) => WholeReply | undefined;

/** How it is with a connection. */
export interface EarlyRefusalOptions {
  readonly refuse: Refuse;
  /** Requests that a connection may carry (L-idle). */
  readonly requestsOfConnection: number;
  readonly isDraining: () => boolean;
}

/** What Node notes of a socket on which an answer is under way. */
export interface Answering {
  readonly _httpMessage?: http.ServerResponse | null;
}

/** Stands before the parser of a socket. Call it when the parser has begun to listen, and before anybody else does. */
export function refuseEarly(socket: Socket, options: EarlyRefusalOptions): void {
  const [parse] = socket.listeners("data") as ((packet: Buffer) => void)[];
  if (parse === undefined) return;
  const frame = new RequestFrame();
  /** Whether what is to come of a request belongs to one that was refused. */
  let isRefused = false;
  const take = (packet: Buffer): void => {
    // What comes after the last request of a connection is nobody's.
    if (socket.writableEnded) return;
    const rest = frame.restIn(packet);
    if (rest > 0) {
      frame.takeRest(rest);
      if (!isRefused) parse.call(socket, packet.subarray(0, rest));
      if (rest < packet.length) take(packet.subarray(rest));
      return;
    }
    const text = frame.take(packet);
    isRefused = text !== undefined && isRefusedNow(text, socket, frame, options);
    if (!isRefused) parse.call(socket, packet);
  };
  socket.off("data", parse);
  socket.on("data", take);
}

function isRefusedNow(text: string, socket: Socket, frame: RequestFrame, options: EarlyRefusalOptions): boolean {
  // With its first request the connection is known to the server, which from then on closes it when it is idle.
  if (frame.requests === 1 || options.isDraining()) return false;
  // What came before is answered first, and a client that does not read is not given more.
  if ((socket as Answering)._httpMessage != null || socket.writableNeedDrain) return false;
  const head = requestHead(text);
  const reply = head && options.refuse(head);
  if (reply === undefined) return false;
  const isLast = reply.close === true || frame.requests >= options.requestsOfConnection;
  const bytes = replyBytes(reply, isLast, head?.method === "HEAD");
  socket.pause();
  setTimeout(() => {
    socket.resume();
    if (isLast) socket.end(bytes);
    else socket.write(bytes);
  }, HOLD_MS);
  return true;
}

function replyBytes({ status, headers, body }: WholeReply, isLast: boolean, isHead: boolean): string | Buffer {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  let head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ""}\r\n`;
  for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
  head += `content-length: ${length}\r\nDate: ${date()}\r\nConnection: ${isLast ? "close" : "keep-alive"}\r\n\r\n`;
  if (isHead) return head;
  return typeof body === "string" ? head + body : Buffer.concat([Buffer.from(head, "latin1"), body]);
}

let dateText = "";
let dateSecond = 0;

function date(): string {
  const second = Math.floor(Date.now() / 1_000);
  if (second !== dateSecond) [dateSecond, dateText] = [second, new Date().toUTCString()];
  return dateText;
}
