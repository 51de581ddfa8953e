/**
 * Operations of a feed, many in one request (`POST /brooklet/v1/feed`), where the server has that. They gather until
 * there are enough of them, or nothing more comes at the moment; each is told of as its line of the answer arrives.
 */
import { causeOf, type FeedLine, nextTurn, pause, type UnsharedBytes, waitMs } from "@brooklet/wire";
import { JsonBytes } from "@brooklet/wire/json-bytes";
import { BrookletError, type BrookletErrorCode, unexpectedAnswer } from "../error.ts";
import { type ExchangeOptions, type FetchAnswer, isWorthAnother, refusal, unreachable } from "../exchange.ts";
import type { FeedOptions } from "../feed.ts";
import type { Settlement } from "./feed-run.ts";

/** An operation as a line of a feed. */
export interface BulkOperation {
  /** What the line says. */
  readonly line: object;
  /** Whether doing it twice does no harm, so that it is sent again when its outcome is not known. */
  readonly isRepeatable: boolean;
}

/** An operation that is not told of yet. */
interface Waiting {
  readonly isRepeatable: boolean;
  readonly settlement: Settlement;
  /** The number of times it was sent. */
  attempts: number;
  /** Whether one of these times may have done it, although it failed. */
  isUnsure: boolean;
}

/** Operations of one request: their lines, and where each of those begins. */
interface Batch {
  readonly json: JsonBytes;
  readonly waiting: Waiting[];
  readonly begins: number[];
  /** It takes no further operation. */
  isFull: boolean;
}

/** An operation that is sent again, with its line. */
interface Again {
  readonly waiting: Waiting;
  readonly line: UnsharedBytes;
}

/** A line of the answer, with what made it where the server is in this process. */
type Line = FeedLine & { readonly cause?: unknown };

/** Operations in flight unless it is said: a few requests full of them. */
export const BULK_CONCURRENCY = 2_048;

const TARGET = "/brooklet/v1/feed";
/** What comes in one request becomes one segment of its partition: many small ones would have to be merged afterwards. */
const BATCH_OPERATIONS = 1_024;
/** Bytes of a request, unless what stands before the server takes less. */
const BATCH_BYTES = 4 << 20;
/** One is answered while the next is written. */
const REQUESTS = 2;

const knownServers = new WeakMap<ExchangeOptions, Promise<boolean>>();

/** Whether the server takes many operations in a request: a Vespa does not. It is asked once. */
export function takesFeeds(options: ExchangeOptions): Promise<boolean> {
  const known = knownServers.get(options);
  if (known !== undefined) return known;
  const asked = askForFeeds(options).catch(() => {
    // One that cannot be reached may be asked again.
    knownServers.delete(options);
    return false;
  });
  knownServers.set(options, asked);
  return asked;
}

async function askForFeeds({ url, fetch, headers, closed }: ExchangeOptions): Promise<boolean> {
  closed?.throwIfAborted();
  const response = await fetch(url + TARGET, { method: "GET", headers, body: null });
  await response.body?.cancel();
  // What is busy, or behind a proxy that does not reach it, may be asked again.
  if (response.status >= 429) throw unexpectedAnswer(`${response.status}`);
  return response.status === 405 && response.headers.get("allow") === "POST";
}

/** Sends operations in batches. */
export class BulkSender {
  readonly #exchange: ExchangeOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #target: string;
  /** Those that are to be sent; only the last of them takes more. */
  readonly #batches: Batch[] = [];
  /** Room of batches that were answered: new memory is paid for with every page of it. */
  readonly #spare: JsonBytes[] = [];
  #requests = 0;
  /** Bytes after which a request takes no further operation. */
  #room = BATCH_BYTES;
  /** The server has told of operations, and did not stay away since: one that is away now is restarted. */
  #isThere = false;
  #timer: ReturnType<typeof nextTurn> | undefined;

  /** `cluster`: the only content cluster that is written. */
  constructor(options: ExchangeOptions, { signal, cluster }: Pick<FeedOptions, "signal" | "cluster">) {
    this.#exchange = options;
    this.#signal = signal;
    this.#target = cluster === undefined ? TARGET : `${TARGET}?${new URLSearchParams({ cluster })}`;
  }

  /**
   * Does an operation, with others that come soon. There must be no other on its document before it is done. Its line is
   * written at once: what becomes of its values later changes nothing.
   */
  apply({ line, isRepeatable }: BulkOperation, settlement: Settlement): void {
    const waiting = { isRepeatable, settlement, attempts: 0, isUnsure: false };
    this.#add(waiting, (json) => {
      json.value(line);
      json.text("\n");
    });
    // Whoever has more at once adds it before the timer comes.
    this.#timer ??= nextTurn(() => {
      this.#timer = undefined;
      this.#flush();
    });
    if (this.#batches[0]?.isFull) this.#flush();
  }

  #add(waiting: Waiting, write: (json: JsonBytes) => void): void {
    let batch = this.#batches.at(-1);
    if (batch?.isFull !== false) {
      batch = { json: this.#spare.pop() ?? new JsonBytes(), waiting: [], begins: [], isFull: false };
      this.#batches.push(batch);
    }
    const { json, begins } = batch;
    const begin = json.length;
    try {
      write(json);
    } catch (reason) {
      json.cut(begin);
      throw reason;
    }
    batch.isFull = json.length >= this.#room || begins.length >= BATCH_OPERATIONS;
    if (batch.isFull && begin > 0) {
      // It is the first of another: where there is less room than it needs it is refused alone.
      const line = json.bytes.slice(begin);
      json.cut(begin);
      this.#add(waiting, (next) => next.raw(line));
    } else {
      batch.waiting.push(waiting);
      begins.push(begin);
    }
  }

  #flush(): void {
    while (this.#requests < REQUESTS) {
      const batch = this.#batches.shift();
      if (batch === undefined) return;
      if (batch.waiting.length === 0) continue;
      this.#requests += 1;
      void this.#send(batch).finally(() => {
        this.#requests -= 1;
        this.#flush();
      });
    }
  }

  /** Sends a batch, and answers each operation of it or sends it again. Never rejects. */
  async #send(batch: Batch): Promise<void> {
    const told = new Uint8Array(batch.waiting.length);
    const again: Again[] = [];
    let isTooLong = false;
    // What a whole request is refused with asks for it: a line of an answer cannot.
    let askedMs: number | undefined;
    for (const waiting of batch.waiting) waiting.attempts += 1;
    const fail = (at: number, waiting: Waiting, error: unknown): void => {
      told[at] = 1;
      if (BrookletError.is(error) && (isTooLong || this.#isWorthAnother(waiting, error))) {
        waiting.isUnsure ||= error.outcome === "unknown";
        again.push({ waiting, line: batch.json.bytes.slice(batch.begins[at], batch.begins[at + 1]) });
        askedMs = error.retryAfterMs;
        return;
      }
      this.#isThere &&= waiting.attempts < this.#exchange.retry.attempts;
      waiting.settlement.failed(waiting.isUnsure && BrookletError.is(error) ? unsure(error) : error);
    };
    const failOthers = (error: unknown): void => {
      for (const [at, waiting] of batch.waiting.entries()) if (told[at] === 0) fail(at, waiting, error);
    };
    try {
      await this.#answers(batch.json.bytes, (line) => {
        const at = line.operation ?? -1;
        const waiting = batch.waiting[at];
        if (waiting === undefined || told[at] === 1) return;
        if (line.status !== 200) return fail(at, waiting, errorOf(line));
        told[at] = 1;
        this.#isThere = true;
        waiting.settlement.done(line.ignoredOperation);
      });
      failOthers(unexpectedAnswer("the server told nothing of it"));
      // Whoever was sent it has read all of it.
      batch.json.cut();
      if (this.#spare.length < REQUESTS) this.#spare.push(batch.json);
    } catch (error) {
      // Proxies take a megabyte where nobody set their limit.
      const { status, outcome } = error as Partial<BrookletError>;
      isTooLong = status === 413 && outcome === "not_applied" && batch.waiting.length > 1;
      if (isTooLong) this.#room = Math.min(this.#room, batch.json.length / 2);
      failOthers(error);
    }
    if (again.length > 0) void this.#later(again, askedMs);
  }

  #isWorthAnother({ attempts, isRepeatable }: Waiting, error: BrookletError): boolean {
    return (
      attempts < this.#exchange.retry.attempts && isWorthAnother(error, isRepeatable, this.#isThere ? 1 : attempts)
    );
  }

  /** Sends operations again, after a while. */
  async #later(again: readonly Again[], askedMs: number | undefined): Promise<void> {
    try {
      const attempts = Math.max(...again.map(({ waiting }) => waiting.attempts));
      await pause(waitMs(this.#exchange.retry, attempts, askedMs), this.#signal);
      for (const { waiting, line } of again) this.#add(waiting, (json) => json.raw(line));
      this.#flush();
    } catch (reason) {
      for (const { waiting } of again) waiting.settlement.failed(reason);
    }
  }

  /**
   * Gives each line of the answer but the last to `tell`. Throws what is to be said of every
   * operation that no line told about.
   */
  async #answers(body: UnsharedBytes, tell: (line: Line) => void): Promise<void> {
    const { url, fetch, headers, closed } = this.#exchange;
    closed?.throwIfAborted();
    const signal = this.#signal;
    let summary: Line | undefined;
    try {
      const response = await fetch(url + this.#target, {
        method: "POST",
        headers: { ...headers, accept: "application/jsonl", "content-type": "application/jsonl" },
        body,
        signal: signal ?? null,
      });
      if (response.status !== 200) throw refusal(response, await response.text());
      for await (const texts of linesOf(response)) {
        for (const text of texts) {
          const done = DONE.exec(text);
          const line = done ? { operation: Number(done[1]), status: 200 } : (JSON.parse(text) as Line);
          if (line.operations === undefined) tell(withCauseOf(response, line));
          else summary = line;
        }
      }
    } catch (cause) {
      signal?.throwIfAborted();
      throw unreachable(url, cause);
    }
    if (summary === undefined) throw unreachable(url, new Error("the answer broke off"));
    if (summary.message !== undefined) throw errorOf({ outcome: "unknown", ...summary });
  }
}

/** The same failure of what may have been done by an earlier try; the failure itself may be that of others, too. */
function unsure(error: BrookletError): BrookletError {
  const { code, message, cause } = error;
  return new BrookletError(code, message, { ...error, outcome: "unknown", cause });
}

function errorOf({ status = 500, code = "INTERNAL", message = "", outcome = "unknown", cause }: Line): BrookletError {
  return new BrookletError(code as BrookletErrorCode, message, { status, outcome, cause });
}

function withCauseOf(response: FetchAnswer, line: Line): Line {
  const causes = line.status === 200 ? undefined : causeOf(response);
  return causes instanceof Map ? { ...line, cause: causes.get(line.operation) } : line;
}

/** A line that says that an operation is done, as nearly all do: it need not be read. No text within a line ends so: its own quotation mark would have to follow. */
const DONE = /^{"operation":(\d+),.*"status":200}$/;

/** The lines of an answer, those that arrive together together. */
async function* linesOf(response: FetchAnswer): AsyncGenerator<readonly string[]> {
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const texts = (rest + decoder.decode(read.value, { stream: true })).split("\n");
      rest = texts.pop() ?? "";
      yield texts;
    }
  } finally {
    reader.releaseLock();
  }
}
