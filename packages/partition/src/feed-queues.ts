/** Operations of a feed while they wait, by the partition they are for; in the form in which they are loaded. */
import { type Load, SPLIT_NUMBERS, type SplitOperations, type UnsharedBytes } from "@brooklet/core";
import type { PartitionKey } from "./cluster.ts";
import { FEED_OPERATION_BYTES, FEED_QUEUE_BYTES } from "./limits.ts";

/** Operations that are loaded together. */
export interface Batch {
  readonly load: Load & { readonly operations: UnsharedBytes };
  readonly numbers: readonly number[];
  readonly ids: readonly string[];
  /** What they counted while they waited. */
  readonly bytes: number;
}

const NOTHING: UnsharedBytes = new Uint8Array(0);
/** The longest length that an array can have, as a varint. */
const LENGTH_BYTES = 6;
/** Many queues of a feed hold one short operation and never more. */
const FIRST_BYTES = 512;

/** The operations of one partition. */
export class FeedQueue {
  readonly key: PartitionKey;
  /** Some of them are under way. */
  isLoading = false;
  /** Those that wait are to be loaded next, few as they are. */
  isDue = false;
  #numbers: number[] = [];
  #ids: string[] = [];
  /** Where each of them ends in the buffer. */
  #ends: number[] = [];
  #buffer: UnsharedBytes = NOTHING;
  #length = 0;
  /** Room that the next buffer is made with: a little more than the last one needed, so that it seldom has to grow. */
  #firstBytes = FIRST_BYTES;

  readonly #spare: Spare;

  constructor(key: PartitionKey, spare: Spare) {
    this.key = key;
    this.#spare = spare;
  }

  /** What waits takes about so many bytes. */
  get bytes(): number {
    return this.count === 0 ? 0 : bytesOf(this.#length, this.count);
  }

  get count(): number {
    return this.#numbers.length;
  }

  /** Adds operations of a chunk, whose first one has the number `first`; how many bytes more wait now. */
  add(first: number, chunk: Uint8Array, { ids, numbers }: SplitOperations): number {
    const before = this.bytes;
    let bytes = 0;
    for (let at = 0; at < numbers.length; at += SPLIT_NUMBERS) bytes += (numbers[at + 3] ?? 0) + LENGTH_BYTES;
    this.#makeRoom(bytes);
    let idBegin = 0;
    for (let at = 0; at < numbers.length; at += SPLIT_NUMBERS) {
      const idEnd = numbers[at + 1] ?? 0;
      const begin = numbers[at + 2] ?? 0;
      this.#append(chunk.subarray(begin, begin + (numbers[at + 3] ?? 0)));
      this.#numbers.push(first + (numbers[at] ?? 0));
      this.#ids.push(ids.slice(idBegin, idEnd));
      this.#ends.push(this.#length);
      idBegin = idEnd;
    }
    return this.bytes - before;
  }

  /**
   * What waits, the first operations of it where all are more than `bytesMax`, one at least. What is left then is to be loaded
   * next.
   */
  take(bytesMax: number = Number.POSITIVE_INFINITY): Batch {
    const before = this.bytes;
    const count = before <= bytesMax ? this.count : this.#countWithin(bytesMax);
    const [numbers, ids] = [this.#numbers.splice(0, count), this.#ids.splice(0, count)];
    const end = this.#ends[count - 1] ?? 0;
    const left = this.#ends.splice(0).slice(count);
    const load = { count, operations: this.#buffer.subarray(0, end), ids };
    // What is loaded is handed over with its memory.
    const rest = this.#buffer.slice(end, this.#length);
    this.#firstBytes = Math.max(Math.ceil(this.#length * 1.25), FIRST_BYTES);
    [this.#buffer, this.#length] = [rest.length === 0 ? NOTHING : rest, rest.length];
    this.#ends = left.map((at) => at - end);
    this.isDue = left.length > 0;
    return { load, numbers, ids, bytes: before - this.bytes };
  }

  #countWithin(bytesMax: number): number {
    const isOver = (end: number, at: number): boolean => bytesOf(end, at + 1) > bytesMax;
    return Math.max(this.#ends.findIndex(isOver), 1);
  }

  /** Appends an operation, for which there is room. */
  #append(object: Uint8Array): void {
    let rest = object.length;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
    this.#buffer[this.#length++] = rest;
    this.#buffer.set(object, this.#length);
    this.#length += object.length;
  }

  #makeRoom(bytes: number): void {
    const end = this.#length + bytes;
    if (end <= this.#buffer.length) return;
    const wanted = roundLength(Math.max(end, 2 * this.#buffer.length, this.#firstBytes));
    const larger = this.#spare.take(wanted) ?? new Uint8Array(wanted);
    larger.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = larger;
  }
}

/** What so many operations of one partition take while they wait. */
function bytesOf(length: number, count: number): number {
  return length + count * FEED_OPERATION_BYTES + FEED_QUEUE_BYTES;
}

/** A length for a buffer: one of few, so that one queue can use what another one did. */
function roundLength(bytes: number): number {
  const step = Math.max(2 ** Math.floor(Math.log2(bytes)) / 4, 1);
  return Math.ceil(bytes / step) * step;
}

/** How many buffers are kept. */
const SPARE_MAX = 4;

/** Buffers that were loaded and can be filled again: new memory is paid for with every page of it. */
class Spare {
  readonly #buffers: UnsharedBytes[] = [];

  /** One with so much room and not much more, if there is one. */
  take(bytes: number): UnsharedBytes | undefined {
    const at = this.#buffers.findIndex(({ length }) => length >= bytes && length <= 4 * bytes);
    return at < 0 ? undefined : this.#buffers.splice(at, 1)[0];
  }

  /** Keeps one, unless it was handed over to another thread. */
  give({ buffer }: UnsharedBytes): void {
    if (buffer.byteLength === 0) return;
    this.#buffers.push(new Uint8Array(buffer));
    if (this.#buffers.length > SPARE_MAX) this.#buffers.shift();
  }
}

/** What all feeds of this thread share, until the collector wants it: one that is sent in many requests is many feeds. */
let shared: WeakRef<Spare> | undefined;

function sharedSpare(): Spare {
  const known = shared?.deref();
  if (known !== undefined) return known;
  const spare = new Spare();
  shared = new WeakRef(spare);
  return spare;
}

/** All queues that hold something. */
export class FeedQueues {
  readonly #queues = new Map<PartitionKey, FeedQueue>();
  readonly #spare = sharedSpare();

  /** The queue of a partition. */
  of(key: PartitionKey): FeedQueue {
    const known = this.#queues.get(key);
    if (known !== undefined) return known;
    const queue = new FeedQueue(key, this.#spare);
    this.#queues.set(key, queue);
    return queue;
  }

  /** What was batch is loaded: its memory is used for what comes. */
  giveBack({ load }: Batch): void {
    this.#spare.give(load.operations);
  }

  delete(queue: FeedQueue): void {
    this.#queues.delete(queue.key);
  }

  /** The longest that may be loaded now, as many as must be for the others to take at most `bytes` of the `waiting` that all take. */
  longest(bytes: number, waiting: number): FeedQueue[] {
    // Of very many all would be looked at each time that one of them is loaded.
    if (waiting <= bytes) return [];
    const free = [...this.#queues.values()].filter(({ isLoading, count }) => !isLoading && count > 0);
    const chosen: FeedQueue[] = [];
    let left = waiting;
    for (const queue of free.sort((one, other) => other.bytes - one.bytes)) {
      if (left <= bytes) break;
      left -= queue.bytes;
      chosen.push(queue);
    }
    return chosen;
  }

  [Symbol.iterator](): IterableIterator<FeedQueue> {
    return [...this.#queues.values()][Symbol.iterator]();
  }
}
