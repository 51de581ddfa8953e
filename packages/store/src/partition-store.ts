/**
 * All SQL of partitions. A partition is a row, the operations of its tail, and its segments with their blocks; the
 * bytes in them are the core's. What is known of recently used partitions is kept in memory, with a layout number that
 * changes whenever the core must read the manifest anew. When to write, fold or check-point is decided elsewhere.
 */
import { givePagesBack } from "./free-pages.ts";
import { type BucketHead, EMPTY, type Head, Heads, headAfter, type PartitionRow } from "./heads.ts";
import { type Known, KnownPartitions, rememberedOf } from "./known-partitions.ts";
import { followAll } from "./mark.ts";
import { alwaysHasNote, Notes } from "./notes.ts";
import { type PartitionRows, partitionsWithTail, writePartitionRows, writtenSince } from "./partition-rows.ts";
import {
  type BlockReceiver,
  type NumberedKey,
  nextIncarnation,
  nextLayout,
  nothing,
  type PartitionState,
  type Partitions,
  type StoredBlock,
  type StoredChange,
  type StoredCompaction,
  type StoredManifest,
  type TailEntry,
  type TailKey,
} from "./partitions.ts";
import { ReadAhead } from "./read-ahead.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";
import { StoredBlocks } from "./stored-blocks.ts";
import { BLOCKS_PER_SEGMENT, type BucketIdentity } from "./tables.ts";

/** How a store behaves. */
export interface PartitionStoreOptions extends BucketIdentity {
  /** Number of the deployed application: partitions made now are written with it. */
  readonly application: number;
  /** Partitions remembered; by default the share of a bucket in those that all have. */
  readonly remembered?: number;
  /** Partitions that nobody may read, and why, until they are erased. */
  readonly refused?: Map<string, string>;
}

/** Segments of erased partitions have this number for their partition, which none has, until their blocks are deleted. */
export const ERASED = 0;
/** Blocks deleted in one statement at most: short ones are many. */
const DROP_BLOCKS = 64;
/** Blocks of a partition that is not small any more: to measure more of them takes longer than a request is to wait for it. */
const FEW_BLOCKS = 128;

/** The partitions of an open bucket, many in tables. */
export function partitionsInTables(sql: Sql, options: PartitionStoreOptions): PartitionStore {
  return new PartitionStore(sql, options);
}

/** The partitions of one bucket. */
export class PartitionStore implements Partitions {
  readonly #incarnation = nextIncarnation();
  readonly #sql: Sql;
  readonly #known: KnownPartitions;
  readonly #heads: Heads;
  readonly #ahead: ReadAhead;
  readonly #blocks: StoredBlocks;
  readonly #buckets: number;
  #application: number;
  #nextPartition: number;
  #nextOperation: number;
  #nextSegment: number;
  #bucket: BucketHead;
  readonly #notes: Notes;

  constructor(sql: Sql, options: PartitionStoreOptions) {
    this.#sql = sql;
    this.#blocks = new StoredBlocks(sql);
    this.#application = options.application;
    this.#buckets = options.buckets;
    this.#notes = new Notes(sql);
    // Numbers of partitions are congruent to their bucket: cores that serve several buckets tell them apart by it.
    const lastPartition = this.#maximum("SELECT max(number) AS last FROM partition");
    const about = new Map(
      sql.all<{ name: string; value: number }>("SELECT name, value FROM about").map((row) => [row.name, row.value]),
    );
    this.#nextPartition = Math.max(
      about.get("next_partition") ?? 0,
      Math.max(lastPartition, options.bucket) + options.buckets,
    );
    this.#nextOperation = Math.max(
      about.get("next_operation") ?? 1,
      this.#maximum("SELECT max(number) AS last FROM operation") + 1,
    );
    this.#nextSegment = Math.max(
      about.get("next_segment") ?? 1,
      this.#maximum("SELECT max(number) AS last FROM segment") + 1,
    );
    const ahead = new ReadAhead(sql);
    this.#ahead = ahead;
    this.#heads = new Heads(sql, options, this.#notes, ahead);
    this.#bucket = this.#heads.bucket();
    const { partitions } = this.#bucket;
    const incarnation = this.#incarnation;
    const { remembered = rememberedOf(options.buckets), refused } = options;
    this.#known = new KnownPartitions(sql, this.#heads, { incarnation, partitions, remembered, refused, ahead });
    this.#refuseOlder();
  }

  get application(): number {
    return this.#application;
  }

  set application(application: number) {
    this.#application = application;
  }

  /** The first number that no segment of this bucket has or had. */
  get firstFreeSegment(): number {
    return this.#nextSegment;
  }

  /** The number that the next partition of this bucket gets. */
  get nextPartition(): number {
    return this.#nextPartition;
  }

  /** Number of the latest operation of the bucket. */
  get lastOperation(): number {
    return this.#nextOperation - 1;
  }

  /** The partition of `key` as it is now; what happens later does not show in what is returned. */
  state(key: string): PartitionState {
    return { ...(this.#known.find(key)?.state ?? nothing(this.#incarnation, key)) };
  }

  /** What a core that holds `layout` and the operations up to `operation` lacks of a partition. */
  manifest(key: string, layout: number, operation: number): StoredManifest {
    const known = this.#known.find(key);
    const state = known?.state ?? nothing(this.#incarnation, key);
    const same = layout === state.layout;
    if (known === undefined) return { layout: state.layout, segments: same ? undefined : [], operations: [] };
    return {
      layout: state.layout,
      segments: same ? undefined : this.#known.segments(known),
      operations: this.#known.operations(known, same ? operation : 0),
    };
  }

  /** One operation of the tail of a partition. */
  operation(key: string, number: number): Uint8Array {
    const statement = "SELECT bytes FROM operation WHERE number = ? AND partition = ?";
    const [row] = this.#sql.all<{ bytes: Uint8Array }>(statement, number, this.state(key).number);
    if (row === undefined) throw new StoreError("damaged", `operation ${number} is missing`);
    return row.bytes;
  }

  /** Blocks in the order asked for. */
  read(blocks: readonly StoredBlock[]): Uint8Array[] {
    return this.#blocks.read(blocks);
  }

  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void {
    this.#blocks.deliver(blocks, receiver);
  }

  /** Appends to tails, all in one transaction, making the partitions that do not exist. */
  append(entries: readonly TailEntry[]): void {
    // Only what is committed may be seen: what others hold changes after the transaction.
    const touched = new Map<string, { readonly known: Known; head: Head; bytes: number }>();
    const insert = "INSERT INTO operation (number, partition, bytes) VALUES (?, ?, ?)";
    const { partitions } = this.#bucket;
    this.#transact(() => {
      for (const { key, bytes } of entries) {
        let one = touched.get(key);
        if (one === undefined) {
          const known = this.#known.find(key) ?? this.#create(key);
          one = { known, head: known.head, bytes: 0 };
          touched.set(key, one);
        }
        const number = this.#nextOperation++;
        this.#sql.run(insert, number, one.known.state.number, bytes);
        const { operations, tail } = one.head;
        const grown = { operations: operations + 1, lastOperation: number, tail: followAll(tail, number, bytes) };
        one.head = { ...one.head, ...grown };
        one.bytes += bytes.length;
      }
      for (const { known, head } of touched.values()) this.#heads.write(known, known.state, head);
      if (this.#bucket.partitions > partitions) this.#changed();
    });
    for (const { known, head, bytes } of touched.values()) {
      this.#known.remember(known);
      known.head = head;
      known.state.lastOperation = head.lastOperation;
      known.state.operations = head.operations;
      known.state.operationBytes += bytes;
    }
  }

  /**
   * Puts the result of compaction in place, or the segments that a load wrote, in one transaction; makes the partition if
   * it does not exist. The layout changes with it.
   */
  commit(key: string, change: StoredChange, wholly: boolean, note?: string): void {
    this.#compact([{ key, change, wholly }], note);
    if (note !== undefined) this.#notes.written(key, note);
  }

  commitAll(compactions: readonly StoredCompaction[]): void {
    this.#compact(compactions);
  }

  /** Puts changes in place, all or none of them. `note` is of the only one. */
  #compact(compactions: readonly StoredCompaction[], note?: string): void {
    const segments = compactions.flatMap(({ change }) => change?.newSegments ?? []);
    const nextSegment = Math.max(this.#nextSegment, ...segments.map(({ number }) => number + 1));
    const written = this.#transact(() => {
      const written = compactions.map((compaction) => this.#put(compaction, note));
      this.#setAbout("next_operation", this.#nextOperation);
      this.#setAbout("next_segment", nextSegment);
      this.#changed();
      return written;
    });
    this.#nextSegment = nextSegment;
    for (const one of written) this.#known.compacted(...one);
  }

  /** Puts a change in place: what the partition consists of then. */
  #put({ key, change, wholly }: StoredCompaction, note: string | undefined): Parameters<KnownPartitions["compacted"]> {
    const known = this.#known.find(key) ?? this.#create(key);
    const { number } = known.state;
    const segments = this.#known.demandAll(known);
    if (change !== undefined) {
      this.#sql.run("DELETE FROM operation WHERE partition = ? AND number <= ?", number, change.folded);
      for (const segment of change.removedSegments) this.#removeSegment(number, segment);
      for (const { segment, liveness } of change.liveness) {
        this.#sql.run("UPDATE segment SET liveness = ? WHERE number = ? AND partition = ?", liveness, segment, number);
      }
      for (const segment of change.newSegments) this.#addSegment(number, segment);
    }
    const application = wholly ? this.#application : known.state.application;
    if (note !== undefined) this.#notes.write(number, note);
    const head = headAfter(known.head, segments, change) ?? this.#heads.derived(number);
    this.#markWritten({ number, key, application }, head, note, known.state);
    return [known, head, application];
  }

  /** Puts a partition as another bucket had it, with its numbers, into this one, which has none of its key or its numbers. */
  take(rows: PartitionRows): void {
    this.#transact(() => {
      writePartitionRows(this.#sql, rows);
      this.#heads.write(rows, rows, this.#heads.derived(rows.number));
      this.#changed(1);
    });
  }

  /** Notes that everything in a partition was written with the deployed application. */
  markCurrent(key: string): void {
    const known = this.#known.find(key);
    if (known === undefined) return;
    this.#transact(() => {
      this.#known.demandAll(known);
      this.#markWritten({ number: known.state.number, key, application: this.#application });
      this.#changed();
    });
    known.state.application = this.#application;
  }

  noted(key: string): string | undefined {
    const note = this.#notes.get(key);
    // It has to be what the head tells, that there is none too.
    if (note !== undefined || (alwaysHasNote(key) && this.#known.exists(key))) this.#known.find(key);
    return note;
  }

  note(key: string, note: string): void {
    this.#transact(() => {
      const known = this.#known.find(key) ?? this.#create(key);
      this.#known.demandAll(known);
      this.#notes.write(known.state.number, note);
      this.#heads.write(known.state, known.state, known.head, note);
      this.#changed();
    });
    this.#notes.written(key, note);
    this.#known.forget(key);
  }

  isWithin(key: string, bytes: number): boolean {
    const statement =
      "SELECT length(block.bytes) AS bytes FROM segment JOIN block ON block.id >= segment.number * ? AND block.id < (segment.number + 1) * ? WHERE segment.partition = ? LIMIT ?";
    const parameters = [BLOCKS_PER_SEGMENT, BLOCKS_PER_SEGMENT, this.state(key).number, FEW_BLOCKS];
    const blocks = this.#sql.all<{ bytes: number }>(statement, ...parameters);
    return blocks.length < FEW_BLOCKS && blocks.reduce((sum, block) => sum + block.bytes, 0) <= bytes;
  }

  storedBytes(key: string): number {
    const statement =
      "SELECT coalesce(sum(length(block.bytes)), 0) AS bytes FROM segment JOIN block ON block.id >= segment.number * ? AND block.id < (segment.number + 1) * ? WHERE segment.partition = ?";
    const { number } = this.state(key);
    if (number === 0) return 0;
    return this.#sql.all<{ bytes: number }>(statement, BLOCKS_PER_SEGMENT, BLOCKS_PER_SEGMENT, number)[0]?.bytes ?? 0;
  }

  /** Partitions in order of their number, from `number` on. */
  from(number: number, limit: number): NumberedKey[] {
    // Who asks for all of them must not be told of fewer.
    this.#known.refuseAbsent();
    return this.#sql.all("SELECT number, key FROM partition WHERE number >= ? ORDER BY number LIMIT ?", number, limit);
  }

  expect(keys: readonly string[]): void {
    this.#ahead.expect(keys);
  }

  /** Partitions with a tail, in order of their number after `number`. */
  withTail(number: number, limit: number): TailKey[] {
    return partitionsWithTail(this.#sql, number, limit);
  }

  writtenSince(operation: number, segment: number): readonly string[] {
    return writtenSince(this.#sql, operation, segment);
  }

  /** Partitions written with another application than the deployed one, in order of their number after `number`. */
  outdated(number: number, limit: number): NumberedKey[] {
    return this.#sql.all(
      "SELECT number, key FROM partition WHERE number > ? AND application <> ? ORDER BY number LIMIT ?",
      number,
      this.#application,
      limit,
    );
  }

  /**
   * Deletes segments of other schemas than these, from segment `from` on and as many at most. Where to go on; nothing: there
   * are no more.
   */
  eraseOthers(schemas: readonly string[], from: number, limit: number): number | undefined {
    const others =
      "SELECT number, partition FROM segment WHERE number >= ? AND schema NOT IN (SELECT value FROM json_each(?)) ORDER BY number LIMIT ?";
    const found = this.#sql.all<{ number: number; partition: number }>(others, from, JSON.stringify(schemas), limit);
    const last = found.at(-1);
    if (last === undefined) return undefined;
    const partitions = new Set(found.map(({ partition }) => partition));
    this.#transact(() => {
      // Those of erased partitions belong to none.
      const rows = this.#known.whole(partitions);
      for (const { number, partition } of found) this.#removeSegment(partition, number);
      for (const row of rows) this.#markWritten(row);
      // Their numbers are never used again.
      this.#setAbout("next_segment", this.#nextSegment);
      this.#changed();
    });
    return last.number + 1;
  }

  /** The blocks stay, and their segments as numbers without content, by which `dropErased` finds them. */
  erase(key: string, also: () => void = () => undefined): void {
    // What is damaged can be erased: nothing of it is looked at.
    const row = this.#known.row(key);
    if (row === undefined) {
      this.#known.erased(key);
      return;
    }
    const { number } = row;
    this.#transact(() => {
      this.#sql.run("DELETE FROM operation WHERE partition = ?", number);
      const empty = "UPDATE segment SET partition = ?, header = x'', liveness = x'' WHERE partition = ?";
      this.#sql.run(empty, ERASED, number);
      this.#sql.run("DELETE FROM partition WHERE number = ?", number);
      this.#heads.remove(row);
      this.#notes.erase(number);
      // Numbers that were used are never used again, though the last of them are gone.
      this.#setAbout("next_operation", this.#nextOperation);
      this.#setAbout("next_segment", this.#nextSegment);
      const keep = "INSERT OR REPLACE INTO about (name, value) VALUES ('next_partition', ?)";
      this.#sql.run(keep, this.#nextPartition);
      this.#changed(-1);
      also();
    });
    this.#notes.erased(key);
    this.#known.erased(key);
  }

  giveBack(bytesMax: number): boolean {
    return givePagesBack(this.#sql, bytesMax);
  }

  dropErased(bytesMax: number): boolean {
    if (this.#erasedSegment() === undefined) return false;
    return this.#transact(() => {
      let [dropped, segment] = [0, this.#erasedSegment()];
      for (; segment !== undefined && dropped < bytesMax; segment = this.#erasedSegment())
        dropped += this.#dropBlocks(segment, bytesMax - dropped);
      this.#changed();
      return true;
    });
  }

  /** A segment of an erased partition. */
  #erasedSegment(): number | undefined {
    const statement = "SELECT number FROM segment WHERE partition = ? ORDER BY number LIMIT 1";
    return this.#sql.all<{ number: number }>(statement, ERASED)[0]?.number;
  }

  /** Deletes blocks of a segment, and with the last of them the segment. How many bytes; at least 1. */
  #dropBlocks(segment: number, bytesMax: number): number {
    const first = segment * BLOCKS_PER_SEGMENT;
    const end = first + BLOCKS_PER_SEGMENT;
    const statement = "SELECT id, length(bytes) AS bytes FROM block WHERE id >= ? AND id < ? ORDER BY id LIMIT ?";
    const blocks = this.#sql.all<{ id: number; bytes: number }>(statement, first, end, DROP_BLOCKS);
    let [dropped, count] = [0, 0];
    for (; count < blocks.length && dropped < bytesMax; count += 1) dropped += blocks[count]?.bytes ?? 0;
    const isWhole = count === blocks.length && count < DROP_BLOCKS;
    const until = isWhole ? end : (blocks[count - 1]?.id ?? first) + 1;
    this.#sql.run("DELETE FROM block WHERE id >= ? AND id < ?", first, until);
    if (isWhole) this.#sql.run("DELETE FROM segment WHERE number = ? AND partition = ?", segment, ERASED);
    return Math.max(dropped, 1);
  }

  /** Makes a partition. Its head, and that of the bucket, are written once: by whoever needs it, with what it is made for. */
  #create(key: string): Known {
    const number = this.#nextPartition;
    this.#nextPartition += this.#buckets;
    const application = this.#application;
    this.#sql.run("INSERT INTO partition (number, key, application) VALUES (?, ?, ?)", number, key, application);
    const state = { ...nothing(this.#incarnation, key), number, application, layout: nextLayout() };
    this.#bucket = { ...this.#bucket, partitions: this.#bucket.partitions + 1 };
    return { state, head: EMPTY };
  }

  /**
   * A transaction after which the bucket's head and the numbers that come next are as they were, if it fails: what is noted beside
   * the database, if not, must never be ahead of what is stored.
   */
  #transact<Result>(work: () => Result): Result {
    const before = [this.#bucket, this.#nextOperation, this.#nextPartition] as const;
    let result: Result;
    try {
      result = this.#sql.transaction(work);
    } catch (error) {
      [this.#bucket, this.#nextOperation, this.#nextPartition] = before;
      this.#ahead.forgetAll();
      throw error;
    }
    this.#sql.guard?.reach({ changes: this.#bucket.changes, operation: this.lastOperation });
    return result;
  }

  /** Notes a change of more than the end of a tail, and of the number of partitions. */
  #changed(partitions = 0): void {
    this.#bucket = { partitions: this.#bucket.partitions + partitions, changes: this.#bucket.changes + 1 };
    this.#heads.writeBucket(this.#bucket);
  }

  /** Throws if the database was further once. */
  #refuseOlder(): void {
    const reached = this.#sql.guard?.reached();
    if (reached === undefined) return;
    const [changes, operation] = [this.#bucket.changes, this.lastOperation];
    if (changes >= reached.changes && operation >= reached.operation) return;
    const is = `change ${changes} and operation ${operation}`;
    const was = `change ${reached.changes} and operation ${reached.operation}`;
    const reason = "its log was removed, or an earlier file was put in its place";
    throw new StoreError("damaged", `the bucket is at ${is}, and was at ${was}: ${reason}`);
  }

  #addSegment(partition: number, segment: StoredChange["newSegments"][number]): void {
    this.#sql.run(
      "INSERT INTO segment (number, partition, schema, documents, header, liveness) VALUES (?, ?, ?, ?, ?, ?)",
      segment.number,
      partition,
      segment.schema,
      segment.documents,
      segment.header,
      segment.liveness,
    );
    this.#blocks.write(segment.number, segment.blocks);
  }

  #removeSegment(partition: number, segment: number): void {
    const first = segment * BLOCKS_PER_SEGMENT;
    this.#sql.run("DELETE FROM segment WHERE number = ? AND partition = ?", segment, partition);
    this.#sql.run("DELETE FROM block WHERE id >= ? AND id < ?", first, first + BLOCKS_PER_SEGMENT);
  }

  #setAbout(name: string, value: number): void {
    this.#sql.run("UPDATE about SET value = ? WHERE name = ?", value, name);
  }

  /** Notes with which application a partition was written, and its head: by default as its rows are now. */
  #markWritten(row: PartitionRow, head = this.#heads.derived(row.number), note?: string, owner: object = row): void {
    this.#sql.run("UPDATE partition SET application = ? WHERE number = ?", row.application, row.number);
    this.#heads.write(owner, row, head, note);
  }

  #maximum(statement: string): number {
    return this.#sql.all<{ last: number | null }>(statement)[0]?.last ?? 0;
  }
}
