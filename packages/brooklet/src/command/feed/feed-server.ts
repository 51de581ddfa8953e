/**
 * A feed to a server that has `/brooklet/v1/feed`: its operations go in batches, a request each, and what comes of them comes back
 * while the next are read. What the server refuses for the moment, or what a connection that breaks leaves untold, begins the next
 * batch, after a while, as far as it is safe to send it again. Operations on one document keep their order.
 */
import { BrookletError } from "@brooklet/client";
import type { FedOperation, Outcome } from "@brooklet/partition";
import { askedWaitMs, type FeedLine, pause, type Waits, waitMs } from "@brooklet/wire";
import { ASKED_MS_MAX, type FeedTarget, FOR_NOW, keyHeader, messageOf, reasonOf } from "../server.ts";
import { ServerFailure, UsageError } from "../surroundings.ts";
import { splitBytes } from "./feed-objects.ts";
import { isRepeatable, nameOf } from "./feed-source.ts";

/** Where feeds in bulk go. */
export const FEED_PATH = "/brooklet/v1/feed";
/** Bytes of a batch at first: proxies take a megabyte where nobody set their limit. */
const FIRST_BYTES = 1_000_000;
/** Bytes of a batch at most. Those of a group that come together are stored together. */
const MOST_BYTES = 16 << 20;
/** A batch that took longer is not followed by a larger one. */
const LONG_MS = 2_000;
/** Times that an operation is refused for the moment before it has failed, and a server before it is given up. */
const REFUSALS = 10;
/** Batches in a row of which nothing is told before the server is given up. */
const SILENT_BATCHES = 3;
/** The status of what is too long for the server, or for what stands before it. */
const TOO_LONG = 413;
const LINE_END: Uint8Array = new TextEncoder().encode("\n");

/** Why a server is given up whose answers end as they should. */
const NOT_A_WORD = new Error("its answers ended without a word of what was sent");

/** Before the next batch. */
const WAITS: Waits = { firstWaitMs: 100, longestWaitMs: 5_000 };

/** What came of operations, as it is told. */
export type FedBatches = AsyncGenerator<readonly FedOperation[], void, undefined>;

/** An operation that is to be sent. */
interface Pending {
  /** Its place in the feed, from 0. */
  readonly number: number;
  readonly bytes: Uint8Array;
  /** Times that it was refused for the moment. */
  refusals: number;
  /** Whether an earlier batch, of which nothing was told of it, may have done it. */
  isUnsure: boolean;
}

/** One that was sent in the current batch. */
interface Sent {
  readonly pending: Pending;
  /** Its document, once it is known what came of it for good. */
  answered?: string;
  /** Why it was refused for the moment, by the server that did nothing of it. */
  refusal?: Outcome;
}

/** Feeds a server; what comes of each operation, in no order. */
export async function* feedServer(
  server: FeedTarget,
  input: AsyncIterable<Uint8Array>,
  waits: Waits = WAITS,
): FedBatches {
  const queue = new Queue(input);
  const size = new BatchSize();
  try {
    for (let refused = 0, silent = 0; ; ) {
      const operations = await queue.take(size.bytes);
      if (operations.length === 0) break;
      const batch = new FeedBatch(server, operations);
      const beganMs = performance.now();
      yield* batch.told();
      const { resent, failed } = batch.left();
      if (failed.length > 0) yield failed;
      queue.putBack(resent);
      if (batch.isTooLong) {
        size.cut(batch.bytes);
        continue;
      }
      size.note(batch, performance.now() - beganMs);
      if (queue.isEmpty) break;
      if (batch.hasTold || (batch.isWhole && batch.hasPutOff)) refused = silent = 0;
      else if (batch.isRefused) refused += 1;
      else silent += 1;
      if (refused === REFUSALS || silent === SILENT_BATCHES) throw disconnection(server.url, batch.fault ?? NOT_A_WORD);
      if (resent.length === 0 && batch.hasTold) continue;
      const failures = resent.reduce((most, { refusals }) => Math.max(most, refusals), refused + silent);
      const askedMs = BrookletError.is(batch.fault) ? batch.fault.retryAfterMs : undefined;
      await pause(waitMs(waits, failures, Math.min(askedMs ?? 0, ASKED_MS_MAX)));
    }
  } finally {
    queue.close();
  }
  if (queue.failure !== undefined) throw queue.failure;
}

/** How long batches are: as long as the server and what stands before it take soon. */
class BatchSize {
  bytes = FIRST_BYTES;
  #most = MOST_BYTES;

  /** After a batch: what is not answered to its end may have been too much for the time that a request has. */
  note({ bytes, isWhole }: FeedBatch, tookMs: number): void {
    if (!isWhole) this.bytes = Math.min(this.bytes, FIRST_BYTES);
    else if (2 * bytes > this.bytes && tookMs < LONG_MS) this.bytes = Math.min(2 * this.bytes, this.#most);
  }

  /** After one that was refused as too long. */
  cut(bytes: number): void {
    this.bytes = Math.min(this.bytes, Math.ceil(bytes / 2));
    this.#most = this.bytes;
  }
}

/** What is to be sent: first what was sent before, then the operations of the feed, which are read ahead. */
class Queue {
  /** Why the feed ended before its end. */
  failure: unknown;
  #waiting: Pending[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #count = 0;
  #wake: (() => void) | undefined;
  #room: (() => void) | undefined;

  constructor(input: AsyncIterable<Uint8Array>) {
    void this.#read(input);
  }

  /** Nothing is left. */
  get isEmpty(): boolean {
    return this.#isOver && this.#waiting.length === 0;
  }

  /** The next operations, as soon as there are some, of so many bytes or a single one; none at the end. */
  async take(bytes: number): Promise<readonly Pending[]> {
    while (this.#waiting.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    let [count, taken] = [0, 0];
    for (const { bytes: one } of this.#waiting) {
      if (count > 0 && taken + one.length + LINE_END.length > bytes) break;
      count += 1;
      taken += one.length + LINE_END.length;
    }
    this.#waitingBytes -= taken;
    this.#room?.();
    return this.#waiting.splice(0, count);
  }

  /** Puts operations before all others. */
  putBack(operations: readonly Pending[]): void {
    this.#waiting = [...operations, ...this.#waiting];
    for (const { bytes } of operations) this.#waitingBytes += bytes.length + LINE_END.length;
  }

  /** Reads no further. */
  close(): void {
    this.#isOver = true;
    this.#room?.();
  }

  async #read(input: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const objects of splitBytes(input)) {
        if (this.#isOver) break;
        for (const bytes of objects) {
          this.#waiting.push({ number: this.#count, bytes, refusals: 0, isUnsure: false });
          this.#waitingBytes += bytes.length + LINE_END.length;
          this.#count += 1;
        }
        this.#wake?.();
        while (this.#waitingBytes >= MOST_BYTES && !this.#isOver) {
          await new Promise<void>((resolve) => {
            this.#room = resolve;
          });
        }
      }
    } catch (error) {
      this.failure = error;
    }
    this.#isOver = true;
    this.#wake?.();
  }
}

/** One batch: what was sent in it, and what the server told of that. */
class FeedBatch {
  /** With the ends of the lines. */
  readonly bytes: number;
  /** Something was told for good. */
  hasTold = false;
  /** Something was refused for the moment. */
  hasPutOff = false;
  /** The answer ended as one does. */
  isWhole = false;
  /** The server, or what stands before it, takes none of it at once, and may take less. */
  isTooLong = false;
  /** Why the answer ended before its end. */
  fault: unknown;
  readonly #server: FeedTarget;
  readonly #sent: readonly Sent[];
  /** The server takes no requests at the moment, or not this one. */
  #refusal: Outcome | undefined;

  constructor(server: FeedTarget, operations: readonly Pending[]) {
    this.#server = server;
    this.#sent = operations.map((pending) => ({ pending }));
    this.bytes = operations.reduce((sum, { bytes }) => sum + bytes.length + LINE_END.length, 0);
  }

  /** The server takes none of it now, and may later. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** Sends it; what comes of it for good. Throws what sending again does not mend. */
  async *told(): FedBatches {
    const ending = new AbortController();
    try {
      for await (const lines of linesOf(await this.#post(ending.signal))) {
        const told = lines.flatMap((line) => this.#take(line));
        if (told.length > 0) yield told;
      }
      if (!this.isWhole) throw new Error("the answer broke off");
    } catch (error) {
      if (error instanceof UsageError) throw error;
      const { code } = Object((error as Error).cause) as { readonly code?: unknown };
      this.#refuse(NEVER_OPEN.has(code) ? neverOpen(this.#server.url, error) : error);
    } finally {
      ending.abort();
    }
  }

  /** What was sent and is not answered: what is sent again, and what fails as that would not be safe, or of no use. */
  left(): { readonly resent: readonly Pending[]; readonly failed: readonly FedOperation[] } {
    const answeredLast = new Map<string, number>();
    for (const [at, { answered }] of this.#sent.entries()) if (answered !== undefined) answeredLast.set(answered, at);
    const resent: Pending[] = [];
    const failed: FedOperation[] = [];
    for (const [at, { pending, answered, refusal = this.#refusal }] of this.#sent.entries()) {
      if (answered !== undefined) continue;
      const id = nameOf(pending.bytes);
      // What came after it on its document is done: it cannot come after that.
      const isLate = (answeredLast.get(id) ?? -1) > at;
      const isSafe = !isLate && (refusal?.outcome === "not_applied" || isRepeatable(pending.bytes));
      if (refusal?.outcome !== "not_applied") pending.isUnsure = true;
      const isForGood = refusal?.status === TOO_LONG && !this.isTooLong;
      if (isSafe && !isForGood) resent.push(pending);
      else failed.push(fedOperation(pending, { id, ...(refusal ?? unknownOutcome(this.#server.url, this.fault)) }));
    }
    return { resent, failed };
  }

  #post(signal: AbortSignal): Promise<Response> {
    const body = new Uint8Array(this.bytes);
    let end = 0;
    for (const { pending } of this.#sent) {
      body.set(pending.bytes, end);
      end += pending.bytes.length + LINE_END.length;
      body.set(LINE_END, end - LINE_END.length);
    }
    return fetch(this.#server.url.replace(/\/$/, "") + FEED_PATH + queryOf(this.#server), {
      method: "POST",
      headers: { ...keyHeader(this.#server), accept: "application/jsonl", "content-type": "application/jsonl" },
      body,
      redirect: "manual",
      signal,
    });
  }

  /** The answer is no list of outcomes. */
  #refuse(error: unknown): void {
    if (!this.isWhole) this.fault = error;
    if (!BrookletError.is(error)) return;
    this.fault = error;
    const { status = 500, code, message, outcome = "unknown" } = error;
    if (!FOR_NOW.has(status) && status !== TOO_LONG) throw error;
    this.isTooLong = status === TOO_LONG && this.#sent.length > 1;
    // Of what alone is too long it is known what came of it.
    this.hasTold ||= status === TOO_LONG && !this.isTooLong;
    this.#refusal = { status, code, message, outcome };
  }

  /** Takes a line of the answer: what it tells for good. */
  #take(line: FeedLine): readonly FedOperation[] {
    if (line.operations !== undefined) {
      this.isWhole = line.message === undefined;
      if (line.message !== undefined) throw brokenOff(line);
      return [];
    }
    const sent = this.#sent[line.operation ?? -1];
    if (sent === undefined || sent.answered !== undefined) return [];
    const { pending } = sent;
    const told = fedOperation(pending, line);
    const { status } = told.outcome;
    const isForNow = (status === 429 || status === 503) && line.outcome === "not_applied";
    if (isForNow) pending.refusals += 1;
    if (isForNow && pending.refusals < REFUSALS) {
      sent.refusal = told.outcome;
      this.hasPutOff = true;
      return [];
    }
    sent.answered = told.id;
    this.hasTold = true;
    return [told];
  }
}

/** The query of the path of a feed that is for one content cluster alone. */
function queryOf({ cluster }: FeedTarget): string {
  return cluster === undefined ? "" : `?cluster=${encodeURIComponent(cluster)}`;
}

/** What came of an operation in the end, whatever the last stream tells of itself. */
function fedOperation({ number, isUnsure }: Pending, line: FeedLine): FedOperation {
  const { id = "", status = 500, code, message, ignoredOperation } = line;
  if (ignoredOperation === true) return { number, id, outcome: { status, ignoredOperation } };
  const outcome = isUnsure && status !== 200 ? "unknown" : line.outcome;
  const failure = { ...(code && { code }), ...(message && { message }), ...(outcome && { outcome }) };
  return { number, id, outcome: { status, ...failure } };
}

/** The lines of an answer. */
async function* linesOf({ status, headers, body }: Response): AsyncGenerator<FeedLine[]> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    const texts = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = texts.pop() ?? "";
    if (status === 200) yield texts.map((text) => JSON.parse(text) as FeedLine);
    else rest = [...texts, rest].join("\n");
  }
  if (status === 200) return;
  const assumed = status === TOO_LONG ? "TOO_LARGE" : "UNEXPECTED_ANSWER";
  const { code = assumed, message = `status ${status}, ${messageOf(rest)}`, ...told } = readFailure(rest);
  // Who refuses as too much did nothing; a 503 that does not say it is a proxy's, which may have lost an answer.
  const { outcome = status === 429 || status === TOO_LONG ? "not_applied" : "unknown" } = told;
  const retryAfterMs = askedWaitMs(headers);
  throw new BrookletError(code as BrookletError["code"], message, { status, outcome, retryAfterMs });
}

function readFailure(text: string): FeedLine {
  try {
    return JSON.parse(text) as FeedLine;
  } catch {
    return {};
  }
}

/** A feed that is no list of operations, or was given up by the server. */
function brokenOff({ status = 500, code = "INTERNAL", message = "" }: FeedLine): Error {
  return status === 400 ? new UsageError(message) : new ServerFailure(message, code);
}

function unknownOutcome(url: string, cause: unknown): Outcome {
  const { code, message } = disconnection(url, cause);
  return { status: 500, code, message, outcome: "unknown" };
}

/** What Node says of a connection over which nothing was sent. */
const NEVER_OPEN: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]);

/** A connection that was not made: nothing was sent, so that it is as if the server had refused it for the moment. */
function neverOpen(url: string, cause: unknown): BrookletError {
  const message = `${url} cannot be reached${reasonOf(cause)}: is the server running?`;
  return new BrookletError("UNREACHABLE", message, { status: 503, outcome: "not_applied", cause });
}

function disconnection(url: string, cause: unknown): BrookletError {
  if (BrookletError.is(cause)) return cause;
  const reason = reasonOf(cause);
  const message = `${url} did not answer to the end${reason}: what was not told may be done; feed it again`;
  return new BrookletError("UNREACHABLE", message, { outcome: "unknown", cause });
}
