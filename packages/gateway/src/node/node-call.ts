/**
 * What the calls of both protocols have in common. Body and answer go straight to what Node has of a request: no
 * `Request`, no `Response`, and above all no `URL` in between.
 */
import type { Readable } from "node:stream";
import { ServiceError } from "@brooklet/wire";
import { BodyLimit, type BodyRoom, type Call, concatenate, disconnection, NO_BYTES, type Reply } from "../call.ts";
import type { ReceiveClock } from "./receiving.ts";
import type { SendClock, Sending } from "./sending.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** A call that came to a listener. */
export interface NodeCall extends Call, Sending {
  send(reply: Reply): void;
}

/** What a server tells about its state. */
export interface Surroundings {
  /** Whether connections are being closed. */
  readonly draining: boolean;
  readonly sendClock: SendClock;
  readonly receiveClock: ReceiveClock;
  readonly proxies: TrustedProxies;
}

/** The values of a header, of which several may have come. */
export function valuesOf(name: string, rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
}

/**
 * All that `incoming` has; rejects as soon as it passes `limitBytes` or there is no room for it, or when the client goes away before its end.
 * `isBroken`: what ended is not whole, since Node ends a stream that was reset like any other.
 */
export function readWhole(
  incoming: Readable,
  limitBytes: number,
  room: BodyRoom,
  isBroken: () => boolean,
): Promise<Uint8Array> {
  // A request that waited for a place may have lost its client meanwhile; then nothing is told any more.
  if (incoming.destroyed) return Promise.reject(disconnection());
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let received = 0;
    const onData = (chunk: Uint8Array): void => {
      received += chunk.length;
      try {
        if (received > limitBytes) throw new BodyLimit(received);
        if (received > room.heldBytes) room.grow(received);
        chunks.push(chunk);
      } catch (refusal) {
        incoming.off("data", onData);
        incoming.pause();
        // The rest may come for a while, and what came is not held any more.
        chunks.length = 0;
        reject(refusal as Error);
      }
    };
    incoming.on("data", onData);
    incoming.on("end", () => {
      if (isBroken()) reject(disconnection());
      else resolve(received === 0 ? NO_BYTES : concatenate(chunks, received));
    });
    // Without an end before it, a close means that the client went away.
    incoming.on("close", () => {
      if (!incoming.readableEnded) reject(disconnection(incoming.errored ?? undefined));
    });
  });
}

/** Parts of `incoming` as they are taken. Whoever stops reading may still want to answer, for which it must live. */
export async function* readParts(incoming: Readable, clock: ReceiveClock): AsyncGenerator<Uint8Array> {
  const parts = (incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await clock.next(parts.next());
      if (done === true) return;
      yield value;
    }
  } catch (cause) {
    throw ServiceError.is(cause) ? cause : disconnection(cause as Error);
  }
}
