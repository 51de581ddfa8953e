/**
 * The partitions of a bucket as far as they are known in memory, and what is read of one: no less than its head tells, and nothing
 * else. What changes them is `partition-store.ts`'s.
 */
import {
  equalMarks,
  type Head,
  type Heads,
  lost,
  markOfSegments,
  type PartitionRow,
  type SegmentRow,
} from "./heads.ts";
import { followAll, NOTHING } from "./mark.ts";
import { nextLayout, type PartitionState, type StoredManifest, type StoredSegment } from "./partitions.ts";
import { NO_TAIL, type OperationRow, type ReadAhead, type TailLength } from "./read-ahead.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";

type MutableState = { -readonly [Name in keyof PartitionState]: PartitionState[Name] };

/** What is in memory of a partition. */
export interface Known {
  readonly state: MutableState;
  /** What it consists of, as it was committed last. */
  head: Head;
}

/** How partitions are kept in mind. */
export interface KnownPartitionsOptions {
  /** The opening of the store that they are of. */
  readonly incarnation: number;
  /** As many of them at most. */
  readonly remembered: number;
  /** How many there are in the bucket. */
  readonly partitions: number;
  /** Partitions that are not what they have to be, as is known from elsewhere, and why. */
  readonly refused?: Map<string, string> | undefined;
  readonly ahead: ReadAhead;
}

/**
 * Partitions that all buckets of a directory keep in mind together, at nearly a kilobyte each: what a directory costs in memory must not
 * grow with its groups. One that is not among them is read again, by the core too, in some 0.2 ms.
 */
const REMEMBERED = 50_000;
/** … and those that a bucket has at least: as many may be written at once. */
const REMEMBERED_MIN = 64;
const BY_KEY = "SELECT number, key, application FROM partition WHERE key = ?";
const BY_NUMBER = "SELECT number, key, application FROM partition WHERE number = ?";
const LENGTH_OF_TAIL =
  "SELECT count(*) AS operations, coalesce(sum(length(bytes)), 0) AS bytes, coalesce(max(number), 0) AS last FROM operation WHERE partition = ?";

/** How many partitions one of so many buckets remembers. */
export function rememberedOf(buckets: number): number {
  return Math.max(Math.ceil(REMEMBERED / buckets), REMEMBERED_MIN);
}

/** What is known of the partitions of a bucket. */
export class KnownPartitions {
  readonly #sql: Sql;
  readonly #heads: Heads;
  readonly #incarnation: number;
  readonly #remembered: number;
  readonly #known = new Map<string, Known>();
  readonly #refused: Map<string, string>;
  readonly #ahead: ReadAhead;
  /** Rows of partitions are gone: a partition that is not found may be one of them. */
  readonly #lacksSome: boolean;

  constructor(sql: Sql, heads: Heads, options: KnownPartitionsOptions) {
    const { incarnation, partitions, remembered, refused = new Map(), ahead } = options;
    this.#refused = refused;
    this.#ahead = ahead;
    this.#sql = sql;
    this.#heads = heads;
    this.#incarnation = incarnation;
    this.#remembered = remembered;
    this.#lacksSome = this.#count(partitions);
  }

  /** The partition of a key; nothing: there is none. */
  find(key: string): Known | undefined {
    const why = this.#refused.size > 0 ? this.#refused.get(key) : undefined;
    if (why !== undefined) throw new StoreError("damaged", why);
    const known = this.#known.get(key);
    if (known !== undefined) return this.remember(known);
    const row = this.#ahead.row(key) ?? this.row(key);
    return row === undefined ? undefined : this.remember(this.#load(row));
  }

  /** The row of a key, whatever else there is of it. */
  row(key: string): PartitionRow | undefined {
    const [row] = this.#sql.all<PartitionRow>(BY_KEY, key);
    if (row === undefined) this.refuseAbsent();
    return row;
  }

  /** Whether there is a row of a key; one that is gone is none. */
  exists(key: string): boolean {
    return this.#known.has(key) || this.#sql.all(BY_KEY, key).length > 0;
  }

  /** Forgets what is in memory of a partition. */
  forget(key: string): void {
    this.#known.delete(key);
  }

  /** A partition was erased: whatever was wrong with it, there is none. */
  erased(key: string): void {
    this.#refused.delete(key);
    this.forget(key);
  }

  /** Throws if a partition that is not there may be one whose row is gone. */
  refuseAbsent(): void {
    if (this.#lacksSome)
      throw new StoreError("damaged", "rows of partitions are gone, and what is asked for may be one of them");
  }

  #load(row: PartitionRow): Known {
    const { number, key, application } = row;
    const head = this.#heads.read(row);
    const tail = this.#ahead.tail(row) ?? this.#sql.all<TailLength>(LENGTH_OF_TAIL, number)[0] ?? NO_TAIL;
    const { operations, bytes: operationBytes, last: lastOperation } = tail;
    if (operations !== head.operations || lastOperation !== head.lastOperation)
      throw lost(number, `${operations} operations are there of ${head.operations}, the last of them ${lastOperation}`);
    const incarnation = this.#incarnation;
    const state = {
      incarnation,
      key,
      number,
      application,
      layout: nextLayout(),
      lastOperation,
      operations,
      operationBytes,
    };
    return { state, head };
  }

  /** Notes what a partition consists of after its compaction. With a tail it is read again when it is asked for. */
  compacted(known: Known, head: Head, application: number): void {
    if (head.operations > 0) {
      this.forget(known.state.key);
      return;
    }
    known.head = head;
    Object.assign(known.state, {
      application,
      layout: nextLayout(),
      lastOperation: 0,
      operations: 0,
      operationBytes: 0,
    });
    this.remember(known);
  }

  /** Keeps one in mind; the one that was not asked for the longest makes room. */
  remember(known: Known): Known {
    const { key } = known.state;
    this.#known.delete(key);
    this.#known.set(key, known);
    if (this.#known.size > this.#remembered) {
      const [oldest] = this.#known.keys();
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return known;
  }

  /** The segments, which are those that the head tells. */
  segments({ state, head }: Known): StoredSegment[] {
    const { number } = state;
    const ahead = this.#ahead.segments(state);
    // What is not all of it is asked for again, before it is said that some is lost.
    const segments = ahead?.length === head.segments ? ahead : this.#heads.segmentsOf(number);
    demandSegments(number, head, segments);
    return segments.map((segment) => ({
      number: segment.number,
      header: segment.header,
      liveness: segment.liveness,
    }));
  }

  /** The operations after one, which are what is left of those that the head tells. */
  operations({ state, head }: Known, after: number): StoredManifest["operations"] {
    const { number } = state;
    const ahead = this.#ahead.operations(state);
    const isAll = ahead?.length === head.operations && (ahead.at(-1)?.number ?? 0) === head.lastOperation;
    const found = isAll ? ahead.filter((row) => row.number > after) : this.#operationsAfter(number, after);
    this.#ahead.forget(state);
    if (after >= head.lastOperation && found.length === 0) return found;
    const before = isAll ? ahead.length - found.length : after === 0 ? 0 : this.#countOperations(number, after);
    if (before + found.length !== head.operations || found.at(-1)?.number !== head.lastOperation)
      throw lost(number, `${before + found.length} operations are there of ${head.operations}`);
    const tail = before > 0 ? head.tail : found.reduce((mark, row) => followAll(mark, row.number, row.bytes), NOTHING);
    if (!equalMarks(tail, head.tail)) throw lost(number, "an operation is not what was written at its place");
    return found;
  }

  #operationsAfter(partition: number, after: number): OperationRow[] {
    const statement = "SELECT number, bytes FROM operation WHERE partition = ? AND number > ? ORDER BY number";
    return this.#sql.all<OperationRow>(statement, partition, after);
  }

  #countOperations(partition: number, until: number): number {
    const statement = "SELECT count(*) AS count FROM operation WHERE partition = ? AND number <= ?";
    return this.#sql.all<{ count: number }>(statement, partition, until)[0]?.count ?? 0;
  }

  /** Partitions of these numbers, with their heads; each of them consists of what its head tells. */
  whole(numbers: Iterable<number>): PartitionRow[] {
    const rows = [...numbers].flatMap((number) => this.#sql.all<PartitionRow>(BY_NUMBER, number));
    for (const row of rows) {
      this.demandAll({ state: row, head: this.#heads.read(row) });
      this.forget(row.key);
    }
    return rows;
  }

  /**
   * The segments of a partition. Throws unless it consists of what its head tells: what is changed must not cover up what was lost
   * before.
   */
  demandAll({
    state: { number },
    head,
  }: {
    readonly state: { readonly number: number };
    readonly head: Head;
  }): readonly SegmentRow[] {
    const operations = this.#countOperations(number, Number.MAX_SAFE_INTEGER);
    if (operations !== head.operations) throw lost(number, `${operations} operations are there of ${head.operations}`);
    const segments = this.#heads.segmentsOf(number);
    demandSegments(number, head, segments);
    return segments;
  }

  /** Whether rows of partitions are gone. Throws if there are more than there should be: no one can say which. */
  #count(expected: number): boolean {
    const [row] = this.#sql.all<{ count: number }>("SELECT count(*) AS count FROM partition");
    const partitions = row?.count ?? 0;
    if (partitions > expected || this.#heads.count() > expected)
      throw new StoreError("damaged", `there are ${partitions} partitions, and should be ${expected}`);
    return partitions < expected;
  }
}

/** Throws unless segments are those that a head tells. */
function demandSegments(partition: number, head: Head, segments: readonly SegmentRow[]): void {
  if (segments.length !== head.segments)
    throw lost(partition, `${segments.length} segments are there of ${head.segments}`);
  if (!equalMarks(markOfSegments(segments), head.segmentMark))
    throw lost(partition, "a segment is not what was written last");
}
