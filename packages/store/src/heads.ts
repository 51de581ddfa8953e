/**
 * Heads: what each partition of a bucket consists of, and what the bucket does, so that a row that is gone or came back is seen.
 * The head of a partition says how many operations and segments it has and what they are, and what is noted of it; that of the bucket,
 * how many partitions there are and how often it changed. They are sealed with a key that is not in the file. The rows themselves are
 * `partition-store.ts`'s.
 */
/// <reference path="./siphash.d.ts" />
import SipHash from "siphash";
import type { BucketIdentity } from "./bucket-identity.ts";
import { follow, followText, type Mark, NOTHING } from "./mark.ts";
import { NOTED_HEAD_BYTES, storedNotes } from "./notes.ts";
import type { StoredChange } from "./partitions.ts";
import { type PartitionRow, ReadAhead, type SegmentRow } from "./read-ahead.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";

export type { PartitionRow, SegmentRow } from "./read-ahead.ts";

/** What a partition consists of. */
export interface Head {
  readonly operations: number;
  /** Number of the last of them; 0: there is none. */
  readonly lastOperation: number;
  readonly tail: Mark;
  readonly segments: number;
  readonly segmentMark: Mark;
}

/** How many partitions a bucket has, and how often anything but a tail's end changed in it. */
export interface BucketHead {
  readonly partitions: number;
  readonly changes: number;
}

/** What is noted of partitions, by their keys. */
export type NotesByKey = Pick<ReadonlyMap<string, string>, "get">;

/** The head of a partition without anything in it. */
export const EMPTY: Head = { operations: 0, lastOperation: 0, tail: NOTHING, segments: 0, segmentMark: NOTHING };

/** The head of the bucket has the number that no partition has. */
const OF_BUCKET = 0;
const HALF = 2 ** 32;
const TAG_BYTES = 8;
const FIELDS_BYTES = 32;
const HEAD_BYTES: number = FIELDS_BYTES + TAG_BYTES;
/** What stands in a head for a note that is lost: no partition has that note. */
const LOST_NOTE = "";
/** Marks of notes that are kept. */
const MARKS_MAX = 1_000;
const BUCKET_BYTES: number = 12 + TAG_BYTES;
const KEY_BYTES = 16;
const NO_KEY: Uint8Array = new Uint8Array(KEY_BYTES);
const WRITE = "INSERT OR REPLACE INTO head (partition, bytes) VALUES (?, ?)";
const encoder = new TextEncoder();

/** The key of heads that belongs to the secret of a storage; another than what is handed out is sealed with. */
export function headKeyOf(secret: Uint8Array): Uint8Array {
  const halves = ["heads, first half", "heads, second half"].map((name) => hash(wordsOf(secret), encoder.encode(name)));
  return Uint8Array.from(halves.flatMap((half) => [...half]));
}

/** The heads of one bucket. */
export class Heads {
  readonly #sql: Sql;
  readonly #identity: BucketIdentity;
  readonly #key: Uint32Array;
  readonly #notes: NotesByKey;
  readonly #ahead: ReadAhead;
  /** What a partition's key is told by, which is computed for each write of a partition otherwise. */
  readonly #names = new WeakMap<object, Uint8Array>();
  readonly #marks = new Map<string, Uint8Array>();

  /** `notes`: what is noted of partitions as it is written; what is stored now by default. `ahead`: what heads are read from, too. */
  constructor(
    sql: Sql,
    { bucket, buckets }: BucketIdentity,
    notes: NotesByKey = storedNotes(sql),
    ahead: ReadAhead = new ReadAhead(sql),
  ) {
    this.#sql = sql;
    this.#notes = notes;
    this.#ahead = ahead;
    this.#identity = { bucket, buckets };
    this.#key = wordsOf(sql.guard?.key ?? NO_KEY);
  }

  /** The head of the bucket. Throws a `StoreError` if it is not what was written. */
  bucket(): BucketHead {
    const bytes = this.#bytes(OF_BUCKET);
    if (bytes === undefined) throw new StoreError("damaged", "what the bucket consists of is missing");
    if (bytes.length !== BUCKET_BYTES)
      throw new StoreError("damaged", "the head of the bucket is not what was written");
    const view = viewOf(bytes);
    const head = { partitions: view.getUint32(0, true), changes: readLong(view, 4) };
    if (!same(bytes, this.#bucketBytes(head)))
      throw new StoreError(
        "damaged",
        "the head of the bucket was sealed with another secret, or is not what was written",
      );
    return head;
  }

  writeBucket(head: BucketHead): void {
    this.#sql.run(WRITE, OF_BUCKET, this.#bucketBytes(head));
  }

  /** The head of a partition. Throws a `StoreError` if there is none, or one that was not written for this row and its note. */
  read(row: PartitionRow): Head {
    return this.#readWith(row, this.#notes.get(row.key));
  }

  #readWith(row: PartitionRow, note: string | undefined): Head {
    const bytes = this.#ahead.head(row) ?? this.#bytes(row.number);
    if (bytes === undefined) throw lost(row.number, "what it consists of is missing");
    if (bytes.length !== HEAD_BYTES && bytes.length !== NOTED_HEAD_BYTES)
      throw lost(row.number, "its head is not what was written");
    if ((bytes.length === NOTED_HEAD_BYTES) !== (note !== undefined))
      throw lost(row.number, note === undefined ? "what is noted of it is lost" : "nothing was noted of it");
    const head = headIn(bytes);
    if (!same(bytes, this.#headBytes(row, row, head, note)))
      throw lost(row.number, "its row, what is noted of it, and its head do not belong together");
    return head;
  }

  /** Whether something is noted of a partition that is not what its head says was noted last. */
  hasOtherNote({ number, key }: PartitionRow): boolean {
    const [bytes, note] = [this.#bytes(number), this.#notes.get(key)];
    if (note === undefined || bytes?.length !== NOTED_HEAD_BYTES) return false;
    return !same(bytes.slice(FIELDS_BYTES, FIELDS_BYTES + TAG_BYTES), this.#markOf(note));
  }

  /** Writes the head of a partition, with what is noted of it. `owner` stands for the partition in memory. */
  write(owner: object, row: PartitionRow, head: Head, note: string | undefined = this.#notes.get(row.key)): void {
    this.#ahead.forget(row);
    this.#sql.run(WRITE, row.number, this.#headBytes(owner, row, head, note));
  }

  /** Heads of before version 7 did not tell what is noted: those that are what was written do from here on. */
  sealNotes(): void {
    for (const row of this.#rows()) {
      if (this.#notes.get(row.key) === undefined) continue;
      try {
        this.write(row, row, this.#readWith(row, undefined));
      } catch (error) {
        // It stays what it is: damaged.
        if (!(error instanceof StoreError)) throw error;
      }
    }
  }

  remove(row: Pick<PartitionRow, "number" | "key">): void {
    this.#ahead.forget(row);
    this.#sql.run("DELETE FROM head WHERE partition = ?", row.number);
  }

  /** How many partitions have a head. */
  count(): number {
    return (this.#sql.all<{ count: number }>("SELECT count(*) AS count FROM head")[0]?.count ?? 1) - 1;
  }

  /** The head of a partition as its rows are now. */
  derived(partition: number): Head {
    const rows = this.#sql.all<{ number: number; length: number; end: Uint8Array }>(
      "SELECT number, length(bytes) AS length, substr(bytes, -8) AS end FROM operation WHERE partition = ? ORDER BY number",
      partition,
    );
    const segments = this.segmentsOf(partition);
    return {
      operations: rows.length,
      lastOperation: rows.at(-1)?.number ?? 0,
      tail: rows.reduce(follow, NOTHING),
      segments: segments.length,
      segmentMark: markOfSegments(segments),
    };
  }

  segmentsOf(partition: number): SegmentRow[] {
    const statement =
      "SELECT number, schema, documents, header, liveness FROM segment WHERE partition = ? ORDER BY number";
    return this.#sql.all<SegmentRow>(statement, partition);
  }

  /** Makes the heads of all partitions of a bucket as their rows are now, and that of the bucket. A note that is lost stays that. */
  derive(changes = 0): void {
    const rows = this.#rows();
    for (const row of rows) {
      const had = this.#bytes(row.number)?.length === NOTED_HEAD_BYTES ? LOST_NOTE : undefined;
      this.write(row, row, this.derived(row.number), this.#notes.get(row.key) ?? had);
    }
    this.writeBucket({ partitions: rows.length, changes });
  }

  #rows(): PartitionRow[] {
    return this.#sql.all<PartitionRow>("SELECT number, key, application FROM partition ORDER BY number");
  }

  #bytes(partition: number): Uint8Array | undefined {
    return this.#sql.all<{ bytes: Uint8Array }>("SELECT bytes FROM head WHERE partition = ?", partition)[0]?.bytes;
  }

  #headBytes(owner: object, { number, key, application }: PartitionRow, head: Head, note?: string): Uint8Array {
    let name = this.#names.get(owner);
    if (name === undefined) {
      name = hash(this.#key, encoder.encode(key));
      this.#names.set(owner, name);
    }
    const marks = note === undefined ? 0 : TAG_BYTES;
    const fields = FIELDS_BYTES + marks;
    const sealed = new Uint8Array(fields + 24);
    const view = viewOf(sealed);
    view.setUint32(0, head.operations, true);
    writeLong(view, 4, head.lastOperation);
    writeMark(view, 12, head.tail);
    view.setUint32(20, head.segments, true);
    writeMark(view, 24, head.segmentMark);
    if (note !== undefined) sealed.set(this.#markOf(note), FIELDS_BYTES);
    writeLong(view, fields, number);
    writeLong(view, fields + 8, application);
    sealed.set(name, fields + 16);
    const bytes = sealed.slice(0, fields + TAG_BYTES);
    bytes.set(hash(this.#key, sealed), fields);
    return bytes;
  }

  /** What a note is told by, which is computed for each write of its partition otherwise. */
  #markOf(note: string): Uint8Array {
    const known = this.#marks.get(note) ?? hash(this.#key, encoder.encode(note));
    if (this.#marks.size >= MARKS_MAX) this.#marks.clear();
    this.#marks.set(note, known);
    return known;
  }

  #bucketBytes({ partitions, changes }: BucketHead): Uint8Array {
    const sealed = new Uint8Array(BUCKET_BYTES);
    const view = viewOf(sealed);
    view.setUint32(0, partitions, true);
    writeLong(view, 4, changes);
    view.setUint32(12, this.#identity.bucket, true);
    view.setUint32(16, this.#identity.buckets, true);
    const bytes = sealed.slice();
    bytes.set(hash(this.#key, sealed), 12);
    return bytes;
  }
}

/** What a partition of this head and these segments consists of after a change; nothing where operations are left of its tail. */
export function headAfter(
  head: Head,
  segments: readonly SegmentRow[],
  change: StoredChange | undefined,
): Head | undefined {
  if (change === undefined) return head;
  if (change.folded < head.lastOperation) return undefined;
  const removed = new Set(change.removedSegments);
  const livenesses = new Map(change.liveness.map(({ segment, liveness }) => [segment, liveness]));
  const left: SegmentRow[] = segments
    .filter(({ number }) => !removed.has(number))
    .map((segment) => ({ ...segment, liveness: livenesses.get(segment.number) ?? segment.liveness }));
  const after = [...left, ...change.newSegments].sort((one, other) => one.number - other.number);
  return { ...EMPTY, segments: after.length, segmentMark: markOfSegments(after) };
}

/** The mark of segments in the order of their numbers. */
export function markOfSegments(segments: readonly SegmentRow[]): Mark {
  return segments.reduce((mark, { number, schema, documents, header, liveness }) => {
    const headed = follow(followText(mark, schema), { number, length: header.length, end: header });
    return follow(headed, { number: documents, length: liveness.length, end: liveness });
  }, NOTHING);
}

/** Whether two marks are of the same. */
export function equalMarks(left: Mark, right: Mark): boolean {
  return left.high === right.high && left.low === right.low;
}

/** A partition does not consist of what it has to. */
export function lost(partition: number, what: string): StoreError {
  return new StoreError("damaged", `partition ${partition}: ${what}`);
}

function headIn(bytes: Uint8Array): Head {
  const view = viewOf(bytes);
  return {
    operations: view.getUint32(0, true),
    lastOperation: readLong(view, 4),
    tail: readMark(view, 12),
    segments: view.getUint32(20, true),
    segmentMark: readMark(view, 24),
  };
}

/** 8 bytes that only who has the key can make for a message. */
export function sealOf(key: Uint8Array, message: Uint8Array): Uint8Array {
  return hash(wordsOf(key), message);
}

/** SipHash-2-4, 8 bytes. */
function hash(key: Uint32Array, message: Uint8Array): Uint8Array {
  const { h, l } = SipHash.hash(key, message);
  const bytes = new Uint8Array(TAG_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, l >>> 0, true);
  view.setUint32(4, h >>> 0, true);
  return bytes;
}

function wordsOf(key: Uint8Array): Uint32Array {
  const view = viewOf(key);
  return Uint32Array.from({ length: KEY_BYTES / 4 }, (_, index) => view.getUint32(index * 4, true));
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

function writeLong(view: DataView, at: number, value: number): void {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / HALF), true);
}

function readLong(view: DataView, at: number): number {
  return view.getUint32(at, true) + view.getUint32(at + 4, true) * HALF;
}

function writeMark(view: DataView, at: number, { high, low }: Mark): void {
  view.setUint32(at, high, true);
  view.setUint32(at + 4, low, true);
}

function readMark(view: DataView, at: number): Mark {
  return { high: view.getUint32(at, true), low: view.getUint32(at + 4, true) };
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
