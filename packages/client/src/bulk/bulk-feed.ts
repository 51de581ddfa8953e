/**
 * Operations of a feed, many in one request (`POST /brooklet/v1/feed`), where the server has that. They gather until
 * there are enough of them, or nothing more comes at the moment; each is told of as its line of the answer arrives.
 */
import { causeOf, type FeedLine, pause, waitMs } from "@brooklet/wire";
import { BrookletError, type BrookletErrorCode, unexpectedAnswer } from "../error.ts";
import { type ExchangeOptions, type FetchAnswer, isWorthAnother, refusal, unreachable } from "../exchange.ts";

/** An operation as a line of a feed. */
export interface BulkOperation {
  readonly json: string;
  /** Whether doing it twice does no harm, so that it is sent again when its outcome is not known. */
  readonly isRepeatable: boolean;
}

interface Waiting extends BulkOperation {
  /** The number of times it was sent. */
  attempts: number;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** A line of the answer, with what made it where the server is in this process. */
type Line = FeedLine & { readonly cause?: unknown };

/** Operations in flight unless it is said: a few requests full of them. */
export const BULK_CONCURRENCY = 2_048;

const TARGET = "/brooklet/v1/feed";
/** What comes in one request becomes one segment of its partition: many small ones would have to be merged afterwards. */
const BATCH_OPERATIONS = 1_024;
const BATCH_CHARACTERS = 4 << 20;
/** One is answered while the next is written. */
const REQUESTS = 2;

const knownServers = new WeakMap<ExchangeOptions, Promise<boolean>>();

/** Whether the server takes many operations in a request: a Vespa does not. It is asked once. */
export function takesFeeds(options: ExchangeOptions): Promise<boolean> {
  const known = knownServers.get(options);
  if (known !== undefined) return known;
  const asked = askForFeeds(options);
  knownServers.set(options, asked);
  // One that cannot be reached may be asked again.
  asked.catch(() => knownServers.delete(options));
  return asked.catch(() => false);
}

async function askForFeeds({ url, fetch, headers, closed }: ExchangeOptions): Promise<boolean> {
  closed?.throwIfAborted();
  const response = await fetch(url + TARGET, { method: "GET", headers, body: null });
  await response.body?.cancel();
  return response.status === 405 && response.headers.get("allow") === "POST";
}

/** Sends operations in batches. */
export class BulkSender {
  readonly #exchange: ExchangeOptions;
  readonly #signal: AbortSignal | undefined;
  #pending: Waiting[] = [];
  #characters = 0;
  #requests = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: ExchangeOptions, signal?: AbortSignal) {
    this.#exchange = options;
    this.#signal = signal;
  }

  /** Does an operation, with others that come soon. There must be no other on its document before it is done. */
  apply(operation: BulkOperation): Promise<void> {
    return new Promise((done, failed) => {
      this.#add({ ...operation, attempts: 0, done, failed });
      // Whoever has more at once adds it before the timer comes.
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#flush();
      }, 0);
      if (this.#isFull()) this.#flush();
    });
  }

  #add(waiting: Waiting): void {
    this.#pending.push(waiting);
    this.#characters += waiting.json.length;
  }

  #isFull(): boolean {
    return this.#pending.length >= BATCH_OPERATIONS || this.#characters >= BATCH_CHARACTERS;
  }

  #flush(): void {
    while (this.#pending.length > 0 && this.#requests < REQUESTS) {
      const batch = this.#take();
      this.#requests += 1;
      void this.#send(batch).finally(() => {
        this.#requests -= 1;
        this.#flush();
      });
    }
  }

  #take(): Waiting[] {
    let [count, characters] = [0, 0];
    for (const { json } of this.#pending) {
      if (count > 0 && (count === BATCH_OPERATIONS || characters + json.length > BATCH_CHARACTERS)) break;
      count += 1;
      characters += json.length;
    }
    this.#characters -= characters;
    return this.#pending.splice(0, count);
  }

  /** Sends a batch, and answers each operation of it or sends it again. Never rejects. */
  async #send(batch: readonly Waiting[]): Promise<void> {
    const untold = new Set(batch);
    const again: Waiting[] = [];
    for (const waiting of batch) waiting.attempts += 1;
    const fail = (waiting: Waiting, error: unknown): void => {
      untold.delete(waiting);
      if (isWorthSending(this.#exchange, waiting, error)) again.push(waiting);
      else waiting.failed(error);
    };
    try {
      for await (const line of this.#answers(batch)) {
        const waiting = batch[line.operation ?? -1];
        if (waiting === undefined || !untold.delete(waiting)) continue;
        if (line.status === 200) waiting.done();
        else fail(waiting, errorOf(line));
      }
      if (untold.size > 0) throw unexpectedAnswer("the server did not tell what came of the operation");
    } catch (error) {
      for (const waiting of untold) fail(waiting, error);
    }
    if (again.length > 0) void this.#later(again);
  }

  /** Sends operations again, after a while. */
  async #later(again: readonly Waiting[]): Promise<void> {
    try {
      await pause(waitMs(this.#exchange.retry, Math.max(...again.map(({ attempts }) => attempts))), this.#signal);
      for (const waiting of again) this.#add(waiting);
      this.#flush();
    } catch (reason) {
      for (const { failed } of again) failed(reason);
    }
  }

  /** The lines of the answer. Throws what is to be said of every operation that no line told about. */
  async *#answers(batch: readonly Waiting[]): AsyncGenerator<Line> {
    const { url, fetch, headers, closed } = this.#exchange;
    closed?.throwIfAborted();
    const signal = this.#signal;
    let summary: Line | undefined;
    try {
      const response = await fetch(url + TARGET, {
        method: "POST",
        headers: { ...headers, accept: "application/jsonl", "content-type": "application/jsonl" },
        body: batch.map(({ json }) => `${json}\n`).join(""),
        signal: signal ?? null,
      });
      if (response.status !== 200) throw refusal(response.status, await response.text(), causeOf(response));
      for await (const line of linesOf(response)) {
        if (line.operations === undefined) yield withCauseOf(response, line);
        else summary = line;
      }
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      throw BrookletError.is(cause) ? cause : unreachable(url, cause);
    }
    if (summary === undefined) throw unreachable(url, new Error("the answer broke off"));
    if (summary.message !== undefined) throw errorOf({ outcome: "unknown", ...summary });
  }
}

function isWorthSending({ retry }: ExchangeOptions, { attempts, isRepeatable }: Waiting, error: unknown): boolean {
  if (!BrookletError.is(error) || attempts >= retry.attempts) return false;
  const isSafe = isRepeatable || error.outcome === "not_applied";
  return isSafe && isWorthAnother(error, { isRepeatable: true }, attempts);
}

function errorOf({ status = 500, code = "INTERNAL", message = "", outcome = "unknown", cause }: Line): BrookletError {
  return new BrookletError(code as BrookletErrorCode, message, { status, outcome, cause });
}

function withCauseOf(response: FetchAnswer, line: Line): Line {
  const causes = line.status === 200 ? undefined : causeOf(response);
  return causes instanceof Map ? { ...line, cause: causes.get(line.operation) } : line;
}

async function* linesOf(response: FetchAnswer): AsyncGenerator<Line> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const texts = (rest + decoder.decode(read.value, { stream: true })).split("\n");
      rest = texts.pop() ?? "";
      for (const text of texts) yield JSON.parse(text) as Line;
    }
  } finally {
    reader.releaseLock();
  }
}
