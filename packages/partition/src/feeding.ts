/**
 * A feed through a cluster. Its bytes are split by the core; operations gather by partition until there are enough of
 * them for segments, or the source has nothing more at the moment; a partition has one load under way at a time, so that
 * operations on one document stay in order. What has to look at its document is written by its own after the load it
 * came with.
 */

import {
  type Engine,
  type LaterOperation,
  type Load,
  ServiceError,
  SPLIT_NUMBERS,
  type SplitChunk,
  type SplitOperations,
} from "@brooklet/core";
import { clock } from "./clock.ts";
import type {
  Caller,
  FedOperation,
  FeedOptions,
  LoadOutcome,
  OperationRequest,
  Outcome,
  PartitionKey,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { failedOutcome, serviceError } from "./failure.ts";
import { FeedBuffer } from "./feed-buffer.ts";
import { type Batch, type FeedQueue, FeedQueues } from "./feed-queues.ts";
import * as limits from "./limits.ts";

/** What a feed needs of a cluster. */
export interface FeedPlace {
  /** The most bytes of one partition that are loaded at a time, where memory is short. */
  readonly loadBytes?: number;
  /** Throws where the chunk is no list of objects. */
  split(chunk: Uint8Array): SplitChunk;
  /** Takes the bytes over: they may be gone afterwards, and are filled with others once this is settled unless it was rejected. */
  load(key: PartitionKey, load: Load, timeoutMs: number): Promise<readonly LoadOutcome[]>;
  apply(key: PartitionKey, request: OperationRequest, timeoutMs: number, caller: Caller): Promise<Outcome>;
  /** Gives everyone else a turn, where a clock tells how long one is. */
  turn?(): Promise<void>;
  /** The ids under which a document is stored that is in several content clusters, of one of these. */
  readonly storedIds?: (id: string, cluster: string) => readonly string[] | undefined;
}

/** An operation that has to be written by its own. */
interface Apart extends LaterOperation {
  readonly number: number;
  readonly id: string;
}

/** The part of what is held that waits at most once reading had to. */
const WAITING = 0.75;
const DONE: Outcome = { status: 200 };
const REFUSED: Outcome = {
  status: 403,
  code: "SCOPE_REFUSED",
  message: "The token of this request does not reach what it asks for",
  outcome: "not_applied",
};

function unheard(): ServiceError {
  const message = "Nobody waits for the outcomes of the feed any more";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 0, message, outcome: "not_applied" });
}

/** The operations of a chunk. */
export function splitChunk(engine: Engine, chunk: Uint8Array): SplitChunk {
  return drive(engine.split(chunk), NOWHERE, Deadline.in(Number.POSITIVE_INFINITY));
}

/** Feeds `input`. */
export async function* feedPlace(
  place: FeedPlace,
  input: AsyncIterable<Uint8Array>,
  options: FeedOptions,
): AsyncGenerator<readonly FedOperation[], void, undefined> {
  const run = new FeedRun(place, options);
  void run.read(input);
  const onGone = (): void => run.stop();
  options.gone?.addEventListener("abort", onGone, { once: true });
  if (options.gone?.aborted === true) run.stop();
  try {
    for (let told = await run.next(); told !== undefined; told = await run.next()) yield told;
  } finally {
    options.gone?.removeEventListener("abort", onGone);
    run.stop();
  }
}

/** Tells a source that it is not read to its end. */
async function letGo(iterator: AsyncIterator<Uint8Array> | undefined): Promise<void> {
  await iterator?.return?.();
}

/** The state of a feed. */
class FeedRun {
  readonly #place: FeedPlace;
  readonly #options: Required<Omit<FeedOptions, "gone" | "keys" | "cluster">> & Pick<FeedOptions, "keys" | "cluster">;
  /** Whether anybody listens. */
  readonly #listener: AbortController = new AbortController();
  readonly #queues = new FeedQueues();
  readonly #buffer = new FeedBuffer();
  /** How many there must be before they are looked at again. */
  #enough: number = limits.SPLIT_BYTES;
  #operations = 0;
  /** Bytes that wait or are under way … */
  #held = 0;
  /** … and those of them that wait. */
  #queued = 0;
  #loading = 0;
  #told: FedOperation[] = [];
  #hasEnded = false;
  #isStopped = false;
  #fault: { readonly reason: unknown } | undefined;
  /** Those who wait for anything to happen. */
  #waiting: (() => void)[] = [];
  /** When what waits is loaded though the source has more; at no time while nobody waits for it. */
  #dueMs = Number.POSITIVE_INFINITY;
  /** One for many pieces: a feed has too many of them for a timer each. */
  #alarm: { readonly timer: ReturnType<typeof setTimeout>; readonly atMs: number } | undefined;
  /** Ends the wait for the next piece of the input. */
  #giveUp: ((reason: unknown) => void) | undefined;

  constructor(place: FeedPlace, options: FeedOptions) {
    this.#place = place;
    this.#options = { heldBytes: limits.FEED_HELD_BYTES, ...options };
  }

  /** What came of some operations; nothing at the end, which may be an error. */
  async next(): Promise<readonly FedOperation[] | undefined> {
    for (;;) {
      if (this.#told.length > 0) {
        const told = this.#told;
        this.#told = [];
        this.#ring();
        return told;
      }
      if (this.#hasEnded && this.#loading === 0) {
        if (this.#fault !== undefined) throw serviceError(this.#fault.reason);
        return undefined;
      }
      await this.#heard();
    }
  }

  /** Nobody listens any more: what was begun is finished, nothing else is. */
  stop(): void {
    this.#isStopped = true;
    this.#listener.abort(unheard());
    this.#ring();
  }

  /** Reads the input to its end. Never rejects: what is wrong is told after all outcomes. */
  async read(input: AsyncIterable<Uint8Array>): Promise<void> {
    let iterator: AsyncIterator<Uint8Array> | undefined;
    try {
      iterator = input[Symbol.asyncIterator]();
      while (!this.#isStopped && this.#fault === undefined) {
        const { done, value } = await this.#soon(iterator.next());
        if (done === true) break;
        this.#buffer.add(value);
        if (this.#buffer.length >= this.#enough) this.#split();
        await this.#room();
      }
      if (!this.#isStopped && this.#fault === undefined) this.#endInput();
    } catch (reason) {
      this.#fault ??= { reason };
    }
    // Not waited for: a source that never ends its last wait must not hold up the feed.
    if (this.#isStopped || this.#fault !== undefined) letGo(iterator).catch(() => undefined);
    clearTimeout(this.#alarm?.timer);
    this.#hasEnded = true;
    // It is not over before all of them are begun.
    this.#loading += 1;
    await this.#loadInTurns(this.#queues);
    this.#loading -= 1;
    this.#ring();
  }

  /** The next piece of the input. When it does not come soon, what waits is loaded meanwhile. */
  async #soon<Piece>(next: Promise<Piece>): Promise<Piece> {
    const isBulk = this.#held >= limits.FEED_BULK_BYTES;
    const ofFeedMs = isBulk ? limits.FEED_PATIENCE_IN_BULK_MS : limits.FEED_PATIENCE_MS;
    const patienceMs = ofFeedMs * (1 + this.#buffer.length / limits.SPLIT_BYTES);
    this.#dueMs = clock.now() + patienceMs;
    if (this.#alarm === undefined || this.#alarm.atMs > this.#dueMs) this.#setAlarm(patienceMs);
    try {
      return await new Promise<Piece>((resolve, reject) => {
        this.#giveUp = reject;
        next.then(resolve, reject);
      });
    } finally {
      this.#dueMs = Number.POSITIVE_INFINITY;
    }
  }

  /** Looks at the time again in `afterMs`. */
  #setAlarm(afterMs: number): void {
    clearTimeout(this.#alarm?.timer);
    const timer = setTimeout(() => {
      this.#alarm = undefined;
      const restMs = this.#dueMs - clock.now();
      if (restMs <= 0) void this.#loadAll();
      else if (Number.isFinite(restMs)) this.#setAlarm(restMs);
    }, afterMs);
    this.#alarm = { timer, atMs: clock.now() + afterMs };
  }

  /** Loads what waits, and what can be split off what came last. */
  async #loadAll(): Promise<void> {
    try {
      while (this.#split() > 0);
    } catch (reason) {
      // Who is waited for may wait for what is told of this.
      this.#giveUp?.(reason);
    }
    await this.#loadInTurns(this.#queues);
  }

  /** Loads what waits in queues, in turns between which others are served: a feed may have as many of them as operations. */
  async #loadInTurns(queues: Iterable<FeedQueue>): Promise<void> {
    let startMs = clock.now();
    for (const queue of queues) {
      while (this.#loading >= limits.FEED_LOADS && !this.#isStopped) await this.#heard();
      if (this.#isStopped) return;
      this.#load(queue);
      if (clock.now() - startMs < limits.SLICE_MS) continue;
      await this.#place.turn?.();
      startMs = clock.now();
    }
  }

  #endInput(): void {
    while (this.#split() > 0);
    const isCut = this.#buffer.length > 0;
    // What was cut off between two operations is no whole feed either.
    if (!isCut && !this.#buffer.isOpenList) return;
    const message = isCut
      ? `Operation ${this.#operations}, counted from 0, does not end: a '}' is missing`
      : `The list of operations does not end after ${this.#operations}: a ']' is missing`;
    throw new ServiceError({ code: "INVALID_DOCUMENT", status: 400, number: 18, message, outcome: "not_applied" });
  }

  /** Splits what came; how many bytes of it are done with. */
  #split(): number {
    if (this.#buffer.length === 0) return 0;
    const chunk = this.#buffer.bytes;
    const { consumed, partitions, refused } = this.#place.split(chunk);
    let count = refused.length;
    for (const operations of partitions) {
      const key = operations.key as PartitionKey;
      count += operations.numbers.length / SPLIT_NUMBERS;
      if (this.#options.keys?.has(key) === false) {
        this.#refuse(operations);
        continue;
      }
      const queue = this.#queues.of(key);
      const bytes = queue.add(this.#operations, chunk, operations);
      this.#held += bytes;
      this.#queued += bytes;
      if (queue.bytes >= (this.#place.loadBytes ?? limits.LOAD_BYTES) || queue.count >= limits.LOAD_OPERATIONS)
        this.#load(queue);
    }
    for (const { number, status, code, message } of refused) {
      this.#told.push({
        number: this.#operations + number,
        id: "",
        outcome: { status, code, message, outcome: "not_applied" },
      });
    }
    this.#operations += count;
    this.#buffer.pass(consumed);
    // A long operation is not looked at again with every piece of it.
    this.#enough = Math.max(limits.SPLIT_BYTES, 2 * this.#buffer.length);
    if (refused.length > 0) this.#ring();
    return consumed;
  }

  /** Tells of operations on documents that may not be written. */
  #refuse({ ids, numbers }: SplitOperations): void {
    let idBegin = 0;
    for (let at = 0; at < numbers.length; at += SPLIT_NUMBERS) {
      const idEnd = numbers[at + 1] ?? 0;
      this.#told.push({
        number: this.#operations + (numbers[at] ?? 0),
        id: ids.slice(idBegin, idEnd),
        outcome: REFUSED,
      });
      idBegin = idEnd;
    }
    this.#ring();
  }

  /** Waits while no more may be read. Meanwhile the longest queues are loaded: few at a time, so that the others grow long too. */
  async #room(): Promise<void> {
    const { heldBytes } = this.#options;
    const isFull = (): boolean => this.#held >= heldBytes;
    while ((isFull() || this.#told.length >= limits.FEED_TOLD) && !this.#isStopped) {
      // What happens while they are begun is heard, too.
      const heard = this.#heard();
      if (isFull()) await this.#loadInTurns(this.#queues.longest(heldBytes * WAITING, this.#queued));
      await heard;
    }
  }

  /** Loads what waits in a queue, now or after what is under way. */
  #load(queue: FeedQueue): void {
    if (queue.isLoading) queue.isDue = true;
    if (queue.isLoading || queue.count === 0 || this.#isStopped) return;
    queue.isLoading = true;
    this.#loading += 1;
    const batch = queue.take(this.#place.loadBytes);
    this.#queued -= batch.bytes;
    const loaded = (): void => this.#queues.giveBack(batch);
    // What was given up may go on, and read its memory still: that is left to the collector.
    const failed = (error: unknown): void => this.#tellAll(batch, failedOutcome(error));
    const told = this.#loadNow(queue.key, batch).then(loaded, failed);
    void told.then(() => {
      this.#held -= batch.bytes;
      this.#loading -= 1;
      queue.isLoading = false;
      if (queue.isDue || this.#hasEnded) this.#load(queue);
      if (queue.count === 0 && !queue.isLoading) this.#queues.delete(queue);
      this.#ring();
    });
  }

  async #loadNow(key: PartitionKey, { load: batch, numbers, ids }: Batch): Promise<void> {
    const outcomes = new Map<number, LoadOutcome>();
    const { cluster, timeoutMs } = this.#options;
    const load = cluster === undefined ? batch : { ...batch, cluster };
    for (const outcome of await this.#place.load(key, load, timeoutMs)) {
      outcomes.set(outcome.index, outcome);
    }
    const apart: Apart[] = [];
    numbers.forEach((number, index) => {
      const id = ids[index] ?? "";
      const told = outcomes.get(index);
      if (told !== undefined && "later" in told) apart.push({ number, id, ...told.later });
      else this.#told.push({ number, id, outcome: told?.outcome ?? DONE });
    });
    this.#ring();
    await this.#applyApart(key, apart);
  }

  /** Writes each by its own: those on one document one after the other, others side by side. */
  async #applyApart(key: PartitionKey, apart: readonly Apart[]): Promise<void> {
    const byDocument = new Map<string, Apart[]>();
    for (const one of apart) {
      const others = byDocument.get(one.id);
      if (others === undefined) byDocument.set(one.id, [one]);
      else others.push(one);
    }
    const documents = byDocument.values();
    const applyNext = async (): Promise<void> => {
      for (const document of documents) {
        for (const { number, id, kind, condition, body } of document) {
          const request = { kind, rawPath: "", ...this.#target(id), create: undefined, condition, body };
          if (this.#isStopped) return;
          const caller = { gone: this.#listener.signal };
          const outcome = await this.#place.apply(key, request, this.#options.timeoutMs, caller).catch(failedOutcome);
          this.#told.push({ number, id, outcome });
        }
        this.#ring();
      }
    };
    await Promise.all(Array.from({ length: Math.min(limits.FEED_APART, byDocument.size) }, applyNext));
  }

  /** The document that is meant: of one content cluster, where the feed is for that alone. */
  #target(id: string): Pick<OperationRequest, "id" | "isStored"> {
    const { cluster } = this.#options;
    const [stored] = cluster === undefined ? [] : (this.#place.storedIds?.(id, cluster) ?? []);
    return stored === undefined ? { id } : { id: stored, isStored: true };
  }

  #tellAll({ numbers, ids }: Batch, outcome: Outcome): void {
    numbers.forEach((number, index) => {
      this.#told.push({ number, id: ids[index] ?? "", outcome });
    });
  }

  #ring(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** Settles when anything happens that somebody may wait for. */
  #heard(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
