/** The calls to one thread of buckets, which is started again when it is needed after it ended. */
import { ServiceError } from "@brooklet/core";
import { Cancellation } from "./cancellation.ts";
import type { Outcome, PartitionKey } from "./cluster.ts";
import { closedError, withCause } from "./failure.ts";
import { Lane, type LaneLimits } from "./query/lane.ts";
import type { Surroundings } from "./surroundings.ts";
import {
  type CallName,
  type CallRequest,
  type CallResult,
  Outbox,
  type Packing,
  type ThreadCall,
  type ThreadPort,
  type ThreadReply,
  threadEnded,
} from "./thread-messages.ts";

/** A thread that serves buckets. */
export interface BucketThread extends ThreadPort<ThreadCall, ThreadReply> {
  /** Settles with the error that ended it, or with nothing. */
  readonly ended: Promise<unknown>;
}

/** A call under way takes at most so long to be told to the thread and back: deployments and closing. */
export const PATIENT_MS: number = 10 * 60_000;

const DONE: Outcome = { status: 200 };

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** The calls to one thread, which is started again by the first call after it ended. */
export class Correspondent {
  /** The places for searches. */
  readonly lane: Lane;
  /** As figures have it. */
  readonly #number: number;
  readonly #start: (cancelled: SharedArrayBuffer) => BucketThread;
  readonly #onProblem: (error: unknown) => void;
  readonly #surroundings: Surroundings;
  readonly #pending = new Map<number, Pending>();
  readonly #cancellation = new Cancellation();
  #thread: { readonly outbox: Outbox<ThreadCall>; readonly ended: Promise<unknown> } | undefined;
  #calls = 0;
  #closed = false;

  constructor(
    number: number,
    start: (cancelled: SharedArrayBuffer) => BucketThread,
    onProblem: (error: unknown) => void,
    surroundings: Surroundings,
    lane?: LaneLimits,
  ) {
    this.#number = number;
    this.lane = new Lane(lane, undefined, surroundings.schedule);
    this.#surroundings = surroundings;
    this.#start = start;
    this.#onProblem = onProblem;
    // At once, so that no request pays for it with its deadline.
    this.#thread = this.#begin();
  }

  /** Sends a call; `packed` is what is asked, with its bytes packed. */
  call<Name extends CallName>(
    name: Name,
    packed: (by: Packing) => CallRequest<Name>,
    key: PartitionKey | undefined,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<CallResult<Name>> {
    if (this.#closed) return Promise.reject(closedError());
    this.#thread ??= this.#begin();
    const { outbox } = this.#thread;
    const number = ++this.#calls;
    // Before it is sent: a thread begins with a call as soon as that is there.
    if (gone?.aborted) this.#cancellation.cancel(number);
    const answered = new Promise<CallResult<Name>>((resolve, reject) => {
      // What throws here is told, and nobody waits for it.
      const request = packed(outbox);
      this.#pending.set(number, { resolve, reject });
      outbox.send({ number, name, key, request, timeoutMs, sentMs: this.#surroundings.sharedMs() } as ThreadCall);
    });
    return gone === undefined ? answered : this.#unlessGone(answered, number, gone);
  }

  /** Tells the thread when nobody waits for a call any more. */
  async #unlessGone<Result>(answered: Promise<Result>, number: number, gone: AbortSignal): Promise<Result> {
    const cancel = (): void => this.#cancellation.cancel(number);
    gone.addEventListener("abort", cancel);
    try {
      return await answered;
    } finally {
      gone.removeEventListener("abort", cancel);
      if (gone.aborted) this.#cancellation.forget(number);
    }
  }

  /** Lets the thread finish what it has, and waits for its end. */
  async close(): Promise<void> {
    const thread = this.#thread;
    const closing = thread === undefined ? undefined : this.call("close", () => undefined, undefined, PATIENT_MS);
    this.#closed = true;
    // A thread that ended on its own has nothing left to close.
    await closing?.catch(this.#onProblem);
    await thread?.ended;
  }

  #begin(): { readonly outbox: Outbox<ThreadCall>; readonly ended: Promise<unknown> } {
    const thread = this.#start(this.#cancellation.memory);
    thread.receive((replies) => {
      for (const reply of replies) this.#settle(reply);
    });
    void thread.ended.then((error) => {
      this.#thread = undefined;
      // One that was asked to close ends without a word.
      if (error !== undefined || !this.#closed) this.#onProblem(this.#endOf(error));
      for (const { reject } of this.#pending.values()) reject(threadEnded(error));
      this.#pending.clear();
    });
    return { outbox: new Outbox(thread, this.#surroundings.schedule), ended: thread.ended };
  }

  #endOf(cause: unknown): Error {
    const had = `${this.#pending.size} calls that it had are answered with 503`;
    const message = `Thread ${this.#number} ended; ${had}, and the next call for it starts it again`;
    return new Error(message, cause === undefined ? {} : { cause });
  }

  #settle(reply: ThreadReply): void {
    if (reply.kind === "problem") {
      this.#onProblem(new Error(reply.text));
    } else if (reply.kind === "done") {
      for (const number of reply.numbers) this.#take(number)?.resolve(DONE as never);
    } else if (reply.kind === "result") {
      const { result, cause } = reply;
      const told = cause === undefined ? result : withCause(result as Outcome, new Error(cause));
      this.#take(reply.number)?.resolve(told as never);
    } else {
      const { error, cause } = reply;
      const fields = cause === undefined ? error : { ...error, cause: new Error(cause) };
      this.#take(reply.number)?.reject(new ServiceError(fields));
    }
  }

  #take(number: number): Pending | undefined {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    return pending;
  }
}
