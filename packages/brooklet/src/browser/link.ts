/**
 * The way of a page's requests to whoever has the database: this page's worker, or another page's. Who has it may change; what was
 * sent to the one before and not answered is told as a failure, since nobody knows whether it was done.
 */
import { BrookletError, type Fetch } from "@brooklet/client";
import type { Ask, FromOwner, ToOwner } from "./messages.ts";

/** Whoever has the database. */
export interface Owner {
  readonly id: string;
  readonly send: (message: ToOwner) => void;
}

interface Pending {
  readonly ask: Ask;
  /** The owner it was sent to. */
  sentTo: string | undefined;
  readonly answer: (response: Response) => void;
  readonly fail: (reason: unknown) => void;
}

/** Statuses whose answers have no body. */
const EMPTY: ReadonlySet<number> = new Set([204, 205, 304]);

/** The requests of a page. */
export class Link {
  readonly #pending = new Map<number, Pending>();
  #owner: Owner | undefined;
  readonly #onAsked: () => void;
  #failure: unknown;
  #last = 0;

  /** `onAsked` is told of every request. */
  constructor(onAsked: () => void = () => undefined) {
    this.#onAsked = onAsked;
  }

  /** Whether something waits for an answer. */
  get isAwaiting(): boolean {
    return this.#pending.size > 0;
  }

  /** Sends a request, as soon as there is somebody to send it to. */
  readonly fetch: Fetch = (url, { method = "GET", headers, body, signal }) =>
    new Promise((answer, fail) => {
      if (this.#failure !== undefined) return fail(this.#failure);
      this.#last += 1;
      const number = this.#last;
      const ask: Ask = {
        kind: "ask",
        number,
        url,
        method,
        headers: (headers ?? {}) as Record<string, string>,
        body: (body ?? null) as string | Uint8Array | null,
      };
      const stop = (): void => {
        if (this.#pending.delete(number)) this.#owner?.send({ kind: "abort", number });
        fail(signal?.reason);
      };
      if (signal?.aborted === true) return stop();
      signal?.addEventListener("abort", stop, { once: true });
      const settled = (): void => signal?.removeEventListener("abort", stop);
      const pending: Pending = {
        ask,
        sentTo: undefined,
        answer: (response) => {
          settled();
          answer(response);
        },
        fail: (reason) => {
          settled();
          fail(reason);
        },
      };
      this.#pending.set(number, pending);
      this.#send(pending);
      this.#onAsked();
    });

  /** Takes somebody for the owner from here on. */
  serve(owner: Owner): void {
    if (this.#owner?.id === owner.id) return;
    this.#owner = owner;
    for (const pending of this.#pending.values()) {
      if (pending.sentTo === undefined) this.#send(pending);
      else this.#lose(pending);
    }
  }

  /**
   * Takes that somebody closes the database, or is opening it. Then nobody else has it, and would hear what is asked: it is kept until
   * somebody serves. What was sent before may still be answered.
   */
  hold(from: string, isClosing: boolean): void {
    if ((this.#owner?.id === from) === isClosing) this.#owner = undefined;
  }

  /** Takes what an owner says. */
  receive(message: FromOwner): void {
    if (!("number" in message)) return;
    const pending = this.#pending.get(message.number);
    if (pending === undefined) return;
    if (message.kind === "moved") {
      // It is sent to the next, who may be there already.
      const former = pending.sentTo;
      pending.sentTo = undefined;
      if (this.#owner?.id === former) this.#owner = undefined;
      this.#send(pending);
      return;
    }
    this.#pending.delete(message.number);
    const { status, headers, body } = message;
    pending.answer(new Response(EMPTY.has(status) ? null : body, { status, headers }));
  }

  /** Has everything fail from here on: there is nobody any more. */
  fail(reason: unknown): void {
    this.#failure = reason;
    this.release(reason);
  }

  /** Has what waits fail, and nobody be asked until somebody serves. What was sent may have been done. */
  release(reason: unknown): void {
    for (const [number, { sentTo, fail }] of this.#pending) {
      if (sentTo !== undefined && sentTo === this.#owner?.id) this.#owner.send({ kind: "abort", number });
      fail(sentTo === undefined ? reason : unsure(reason));
    }
    this.#pending.clear();
    this.#owner = undefined;
  }

  /** Has what was sent fail, and what is asked later wait until somebody serves: whoever had the database is gone. */
  leave(): void {
    this.#owner = undefined;
    for (const pending of this.#pending.values()) if (pending.sentTo !== undefined) this.#lose(pending);
  }

  /** Has fail what nobody was sent: nothing was done of it. */
  drop(reason: unknown): void {
    for (const [number, { sentTo, fail }] of this.#pending) {
      if (sentTo === undefined && this.#pending.delete(number)) fail(reason);
    }
  }

  #send(pending: Pending): void {
    if (this.#owner === undefined) return;
    pending.sentTo = this.#owner.id;
    this.#owner.send(pending.ask);
  }

  #lose({ ask, fail }: Pending): void {
    this.#pending.delete(ask.number);
    const message = "The page that had the database was closed before it answered";
    fail(new BrookletError("UNREACHABLE", message, { outcome: "unknown" }));
  }
}

/** The same failure of something that may have been done. */
function unsure(reason: unknown): unknown {
  if (!BrookletError.is(reason)) return reason;
  const { code, message, status } = reason;
  return new BrookletError(code, message, { status, outcome: "unknown", cause: reason });
}
