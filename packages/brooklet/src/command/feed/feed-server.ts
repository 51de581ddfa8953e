/**
 * A feed to a server that has `/brooklet/v1/feed`: its operations go on one stream of HTTP/2, and what comes of them comes
 * back meanwhile. What the server refuses for the moment ends the stream, as does a connection that breaks: then what is
 * safe to send again begins the next one, after a while. Operations on one document keep their order.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { BrookletError } from "@brooklet/client";
import type { FedOperation, Outcome } from "@brooklet/partition";
import { askedWaitMs, type FeedLine, pause, type Waits, waitMs } from "@brooklet/wire";
import { ASKED_MS_MAX, type FeedTarget, keyHeader } from "../server.ts";
import { ServerFailure, UsageError } from "../surroundings.ts";
import { splitBytes } from "./feed-objects.ts";
import { isRepeatable, nameOf } from "./feed-source.ts";

/** Where feeds in bulk go. */
export const FEED_PATH = "/brooklet/v1/feed";
const WINDOW_BYTES = 1 << 20;
/** What waits to be sent counts, and where it is more Node refuses even the answer's head: its 10 are less than a few long operations. */
const SESSION_MEMORY_MB = 512;
/** Times that an operation is refused for the moment before it has failed, and a server before it is given up. */
const REFUSALS = 10;
/** Streams in a row on which nothing is told before the server is given up. */
const SILENT_STREAMS = 3;
const LINE_END: Uint8Array = new TextEncoder().encode("\n");

/** Why a server is given up whose answers end as they should. */
const NOT_A_WORD = new Error("its answers ended without a word of what was sent");

/** Before the next stream. */
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
  /** Whether an earlier stream, on which nothing was told of it, may have done it. */
  isUnsure: boolean;
}

/** One that was sent on the current stream. */
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
  for (let refused = 0, silent = 0; ; ) {
    const stream = new FeedStream(server, queue);
    yield* stream.told();
    const { resent, failed } = stream.left();
    if (failed.length > 0) yield failed;
    queue.putBack(resent);
    if (queue.isEmpty) break;
    if (stream.hasTold || (stream.isWhole && stream.hasPutOff)) refused = silent = 0;
    else if (stream.isRefused) refused += 1;
    else silent += 1;
    if (refused === REFUSALS || silent === SILENT_STREAMS) throw disconnection(server.url, stream.fault ?? NOT_A_WORD);
    const failures = resent.reduce((most, { refusals }) => Math.max(most, refusals), refused + silent);
    const askedMs = BrookletError.is(stream.fault) ? stream.fault.retryAfterMs : undefined;
    await pause(waitMs(waits, failures, Math.min(askedMs ?? 0, ASKED_MS_MAX)));
  }
  if (queue.failure !== undefined) throw queue.failure;
}

/** The query of the path of a feed that is for one content cluster alone. */
function queryOf({ cluster }: FeedTarget): string {
  return cluster === undefined ? "" : `?cluster=${encodeURIComponent(cluster)}`;
}

/** What is to be sent: first what was sent before, then the operations of the feed. */
class Queue {
  /** Why the feed ended before its end. */
  failure: unknown;
  readonly #source: AsyncGenerator<Uint8Array[], void, undefined>;
  #before: readonly Pending[] = [];
  /** Read, and not taken yet. */
  #arrived: readonly Pending[] | undefined;
  #isReading = false;
  #isOver = false;
  #count = 0;
  #wake: (() => void) | undefined;

  constructor(input: AsyncIterable<Uint8Array>) {
    this.#source = splitBytes(input);
  }

  /** Nothing is left. */
  get isEmpty(): boolean {
    return this.#isOver && this.#before.length === 0 && this.#arrived === undefined;
  }

  /** The next operations, as soon as there are some; nothing at the end, or if it is interrupted. */
  async next(): Promise<readonly Pending[] | undefined> {
    if (this.#before.length > 0) {
      const before = this.#before;
      this.#before = [];
      return before;
    }
    if (this.#arrived === undefined && !this.#isOver) {
      if (!this.#isReading) void this.#read();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const arrived = this.#arrived;
    this.#arrived = undefined;
    return arrived;
  }

  /** Whoever waits for operations waits no more. */
  interrupt(): void {
    this.#wake?.();
  }

  /** Puts operations before all others. */
  putBack(operations: readonly Pending[]): void {
    this.#before = [...operations, ...this.#before];
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const { done, value = [] } = await this.#source.next();
      this.#isOver = done === true;
      if (done !== true) this.#arrived = value.map((bytes) => this.#numbered(bytes));
    } catch (error) {
      this.failure = error;
      this.#isOver = true;
    }
    this.#isReading = false;
    this.#wake?.();
  }

  #numbered(bytes: Uint8Array): Pending {
    this.#count += 1;
    return { number: this.#count - 1, bytes, refusals: 0, isUnsure: false };
  }
}

/** One stream: what was sent on it, and what the server told of that. */
class FeedStream {
  /** Something was told for good. */
  hasTold = false;
  /** Something was refused for the moment. */
  hasPutOff = false;
  /** The answer ended as one does. */
  isWhole = false;
  /** Why the stream ended before its end. */
  fault: unknown;
  readonly #server: FeedTarget;
  readonly #queue: Queue;
  /** From the first of which it is not known what came of it. */
  readonly #sent = new Map<number, Sent>();
  #first = 0;
  #count = 0;
  /** The server takes no requests at the moment. */
  #refusal: Outcome | undefined;
  #isStopped = false;
  #wake: (() => void) | undefined;

  constructor(server: FeedTarget, queue: Queue) {
    this.#server = server;
    this.#queue = queue;
  }

  /** The server takes none of it now, and may later. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** Sends what is queued; what comes of it for good. Throws what sending again does not mend. */
  async *told(): FedBatches {
    const settings = { initialWindowSize: WINDOW_BYTES };
    const session = connect(this.#server.url, { settings, maxSessionMemory: SESSION_MEMORY_MB });
    const stream = this.#open(session);
    const sending = this.#send(stream).catch((error: unknown) => this.#fail(error));
    try {
      for await (const lines of linesOf(stream)) {
        const told = lines.flatMap((line) => this.#take(line));
        if (told.length > 0) yield told;
      }
      if (!this.isWhole) throw new Error("the answer broke off");
    } catch (error) {
      if (error instanceof UsageError) throw error;
      this.#refuse(session.connecting ? neverOpen(this.#server.url, this.fault ?? error) : error);
    } finally {
      this.#stop();
      stream.close(constants.NGHTTP2_CANCEL);
      session.close();
      await sending;
    }
  }

  /** What was sent and is not answered: what is sent again, and what fails as that would not be safe. */
  left(): { readonly resent: readonly Pending[]; readonly failed: readonly FedOperation[] } {
    const answeredLast = new Map<string, number>();
    for (const [at, { answered }] of this.#sent) if (answered !== undefined) answeredLast.set(answered, at);
    const resent: Pending[] = [];
    const failed: FedOperation[] = [];
    for (const [at, { pending, answered, refusal = this.#refusal }] of this.#sent) {
      if (answered !== undefined) continue;
      const id = nameOf(pending.bytes);
      // What came after it on its document is done: it cannot come after that.
      const isLate = (answeredLast.get(id) ?? -1) > at;
      const isSafe = !isLate && (refusal?.outcome === "not_applied" || isRepeatable(pending.bytes));
      if (refusal?.outcome !== "not_applied") pending.isUnsure = true;
      if (isSafe) resent.push(pending);
      else failed.push(fedOperation(pending, { id, ...(refusal ?? unknownOutcome(this.#server.url, this.fault)) }));
    }
    return { resent, failed };
  }

  #open(session: ClientHttp2Session): ClientHttp2Stream {
    session.once("error", (error) => this.#fail(error));
    const stream = session.request({
      ":method": "POST",
      ...keyHeader(this.#server),
      ":path": new URL(this.#server.url).pathname.replace(/\/$/, "") + FEED_PATH + queryOf(this.#server),
      accept: "application/jsonl",
      "content-type": "application/jsonl",
    });
    stream.once("error", (error) => this.#fail(error));
    stream.on("drain", () => this.#wake?.());
    stream.once("close", () => this.#stop());
    return stream;
  }

  #fail(error: unknown): void {
    if (!this.isWhole) this.fault ??= error;
  }

  /** The answer is no list of outcomes. */
  #refuse(error: unknown): void {
    this.#fail(error);
    if (!BrookletError.is(error)) return;
    this.fault = error;
    const { status = 500, code, message, outcome = "unknown" } = error;
    if (status !== 429 && status !== 503) throw error;
    this.#refusal = { status, code, message, outcome };
  }

  /** Nothing more is sent. */
  #stop(): void {
    this.#isStopped = true;
    this.#queue.interrupt();
    this.#wake?.();
  }

  async #send(stream: ClientHttp2Stream): Promise<void> {
    while (!this.#isStopped) {
      const operations = await this.#queue.next();
      if (operations === undefined) break;
      if (this.#isStopped) this.#queue.putBack(operations);
      else {
        this.#note(operations);
        if (!writeAll(stream, operations)) await this.#drained();
      }
    }
    if (!stream.destroyed) stream.end();
  }

  async #drained(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (this.#isStopped) resolve();
    });
  }

  /** Notes that operations are sent: the server counts them from 0. */
  #note(operations: readonly Pending[]): void {
    for (const pending of operations) {
      this.#sent.set(this.#count, { pending });
      this.#count += 1;
    }
  }

  /** Takes a line of the answer: what it tells for good. */
  #take(line: FeedLine): readonly FedOperation[] {
    if (line.operations !== undefined) {
      this.isWhole = line.message === undefined;
      if (line.message !== undefined) throw brokenOff(line);
      return [];
    }
    const sent = this.#sent.get(line.operation ?? -1);
    if (sent === undefined || sent.answered !== undefined) return [];
    const { pending } = sent;
    const told = fedOperation(pending, line);
    const { status } = told.outcome;
    const isForNow = (status === 429 || status === 503) && line.outcome === "not_applied";
    if (isForNow) pending.refusals += 1;
    if (isForNow && pending.refusals < REFUSALS) {
      sent.refusal = told.outcome;
      this.hasPutOff = true;
      // Nothing more is sent before it: what comes after it on its document must not overtake it.
      this.#stop();
      return [];
    }
    sent.answered = told.id;
    this.hasTold = true;
    while (this.#sent.get(this.#first)?.answered !== undefined) {
      this.#sent.delete(this.#first);
      this.#first += 1;
    }
    return [told];
  }
}

/** Writes operations, each on a line. Those that stand so in the feed already are written without a copy. */
function writeAll(stream: ClientHttp2Stream, operations: readonly Pending[]): boolean {
  let hasRoom = true;
  stream.cork();
  for (let first = 0, next = 1; first < operations.length; first = next, next += 1) {
    while (next < operations.length && isNextLine(operations[next - 1]?.bytes, operations[next]?.bytes)) next += 1;
    const [from, to] = [operations[first]?.bytes ?? LINE_END, operations[next - 1]?.bytes ?? LINE_END];
    const lines = new Uint8Array(from.buffer, from.byteOffset, to.byteOffset + to.length - from.byteOffset);
    stream.write(lines);
    hasRoom = stream.write(LINE_END);
  }
  stream.uncork();
  return hasRoom;
}

/** Whether an object stands on the line after another, in the same part of the input. */
function isNextLine(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  if (one === undefined || other === undefined || one.buffer !== other.buffer) return false;
  const end = one.byteOffset + one.length;
  return other.byteOffset === end + 1 && new Uint8Array(one.buffer, end, 1)[0] === LINE_END[0];
}

/** What came of an operation in the end, whatever the last stream tells of itself. */
function fedOperation({ number, isUnsure }: Pending, line: FeedLine): FedOperation {
  const { id = "", status = 500, code, message, ignoredOperation } = line;
  if (ignoredOperation === true) return { number, id, outcome: { status, ignoredOperation } };
  const outcome = isUnsure && status !== 200 ? "unknown" : line.outcome;
  const failure = { ...(code && { code }), ...(message && { message }), ...(outcome && { outcome }) };
  return { number, id, outcome: { status, ...failure } };
}

async function* linesOf(stream: ClientHttp2Stream): AsyncGenerator<FeedLine[]> {
  let status = 200;
  let retryAfterMs: number | undefined;
  stream.once("response", (headers) => {
    status = Number(headers[":status"]);
    retryAfterMs = askedWaitMs({ get: (name) => headers[name]?.toString() ?? null });
  });
  let rest = "";
  for await (const part of stream.setEncoding("utf8") as AsyncIterable<string>) {
    const texts = (rest + part).split("\n");
    rest = texts.pop() ?? "";
    if (status === 200) yield texts.map((text) => JSON.parse(text) as FeedLine);
    else rest = [...texts, rest].join("\n");
  }
  if (status === 200) return;
  const { code = "UNEXPECTED_ANSWER", message = rest.slice(0, 200), ...told } = readFailure(rest);
  // Who refuses as too much did nothing; a 503 that does not say it is a proxy's, which may have lost an answer.
  const { outcome = status === 429 ? "not_applied" : "unknown" } = told;
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
  return status === 400 ? new UsageError(message) : new ServerFailure(`${message} (${code})`);
}

function unknownOutcome(url: string, cause: unknown): Outcome {
  const { code, message } = disconnection(url, cause);
  return { status: 500, code, message, outcome: "unknown" };
}

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

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message})` : "";
}
