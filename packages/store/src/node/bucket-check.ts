/**
 * The check of a whole bucket, and its repair. A check reads every row and says what is not as it was written; a repair takes what is
 * there for all there is, and says what that leaves out. Neither decides what bytes mean: whether they are what was sealed is
 * asked of the core.
 */
import { setImmediate as turn } from "node:timers/promises";
import { equalMarks, type Head, Heads, type PartitionRow } from "../heads.ts";
import type { Sql, SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { BLOCKS_PER_SEGMENT, type BucketIdentity } from "../tables.ts";

/** @internal What of `IsSealed` opens what is encrypted. */
export const OPENED: unique symbol = Symbol("opened");

/** @internal What of `IsSealed` has the keys with which it opens. */
export const KEYS: unique symbol = Symbol("keys");

/** A file of keys that was written anew of what its damaged pages still had. */
export interface SalvagedKeys {
  readonly file: string;
  readonly keys: number;
  /** The file as it was, with its log. */
  readonly kept: readonly string[];
}

/** Files of keys, and what of them is not as it was written. */
interface KeyFiles {
  problems(): readonly string[];
  salvage(stamp: string): readonly SalvagedKeys[];
}

/** Whether bytes are what was sealed for a place in a partition. */
export interface IsSealed {
  (key: string, segment: number, block: number, bytes: Uint8Array): boolean;
  /** What is encrypted, as it is in the clear; nothing: it cannot be opened. Where there is none of it, nothing is encrypted. */
  readonly [OPENED]?: (key: string, segment: number, block: number, bytes: Uint8Array) => Uint8Array | undefined;
  readonly [KEYS]?: KeyFiles;
}

/** Something in a bucket that is not as it was written. */
export interface Damage {
  /** The partition it is of; nothing: it cannot be said of which, or it is of the bucket. */
  readonly key?: string;
  readonly what: string;
}

/** What a bucket has, and what is damaged of it. */
export interface BucketReport {
  readonly bucket: number;
  readonly partitions: number;
  readonly operations: number;
  readonly segments: number;
  readonly blocks: number;
  readonly damage: readonly Damage[];
  /** Whether pages of its file are damaged: then what they hold was not looked at. */
  readonly hasDamagedPages?: boolean;
}

/** Numbers that are sealed in place of a block's: of a header, and of an operation. */
export const HEADER: number = 2 ** 32 - 1;
/** … and of a liveness. */
export const LIVENESS: number = 2 ** 32 - 2;
/** Blocks read in one statement. */
const BLOCKS = 16;
const ERASED = 0;

/** Reads everything of a bucket; what is waiting gets a turn between its partitions. What was read until then, if the signal ends it. */
export async function checkBucket(
  sql: SqlConnection,
  identity: BucketIdentity,
  isSealed: IsSealed,
  signal?: AbortSignal,
): Promise<BucketReport> {
  const report = partwise(sql, identity, isSealed);
  for (let step = report.next(); ; step = report.next(signal?.aborted)) {
    if (step.done === true) return step.value;
    await turn();
  }
}

/** The same in steps, each of which may be told that it is the last. */
function* partwise(
  sql: SqlConnection,
  identity: BucketIdentity,
  isSealed: IsSealed,
): Generator<void, BucketReport, boolean | undefined> {
  const damage: Damage[] = [];
  const counts = { partitions: 0, operations: 0, segments: 0, blocks: 0 };
  const told = (key: string | undefined, what: string): void =>
    void damage.push({ ...(key !== undefined && { key }), what });
  for (const problem of pageProblems(sql)) told(undefined, problem);
  // What leads through damaged pages may have no end, and what is read there be of no kind that it has to be.
  if (damage.length > 0) return { bucket: identity.bucket, ...counts, damage, hasDamagedPages: true };
  const heads = new Heads(sql, identity);
  for (const row of partitionsOf(sql)) {
    if (yield) return { bucket: identity.bucket, ...counts, damage };
    counts.partitions += 1;
    checkPartition({ sql, heads, isSealed, counts, told: (what) => told(row.key, what) }, row);
  }
  checkBucketHead(sql, heads, counts.partitions, (what) => told(undefined, what));
  for (const [table, count] of Object.entries(orphans(sql)))
    if (count > 0) told(undefined, `${count} rows of ${table} belong to no partition`);
  return { bucket: identity.bucket, ...counts, damage };
}

/** What SQLite finds of the pages of a file. */
export function pageProblems(sql: Sql): string[] {
  const statement = "SELECT integrity_check AS problem FROM pragma_integrity_check";
  return sql.all<{ problem: string }>(statement).flatMap(({ problem }) => (problem === "ok" ? [] : problem));
}

/** What steps come to, none of which is the last before its time. */
function wholeOf(steps: ReturnType<typeof partwise>): BucketReport {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Takes what is there of a bucket for all there is. What has to be left out is told as what a check tells; operations and segments
 * that are not what was sealed are left where they are, and refused by who reads them, unless they are to be dropped.
 */
export function repairBucket(
  sql: SqlConnection,
  identity: BucketIdentity,
  { isSealed, drop }: { readonly isSealed: IsSealed; readonly drop: boolean },
): BucketReport {
  const report = wholeOf(partwise(sql, identity, isSealed));
  sql.transaction(() => {
    for (const { number, key } of drop ? partitionsOf(sql) : []) dropDamaged(sql, number, key, isSealed);
    sql.run("DELETE FROM operation WHERE partition NOT IN (SELECT number FROM partition)");
    sql.run(
      "UPDATE segment SET partition = ?, header = x'', liveness = x'' WHERE partition NOT IN (SELECT number FROM partition)",
      ERASED,
    );
    // Not bound: a library binds numbers as real ones, and such a quotient is in no list.
    sql.run(`DELETE FROM block WHERE id / ${BLOCKS_PER_SEGMENT} NOT IN (SELECT number FROM segment)`);
    sql.run("DELETE FROM head WHERE partition NOT IN (SELECT number FROM partition)");
    const reached = reachedBy(sql);
    keepNumbers(sql, reached.operation);
    dropOtherNotes(sql, new Heads(sql, identity));
    new Heads(sql, identity).derive(reached.changes + 1);
  });
  return report;
}

/** Deletes notes that are not those which were written last: they are lost, and who reads the partition is told. */
function dropOtherNotes(sql: Sql, heads: Heads): void {
  for (const row of partitionsOf(sql))
    if (heads.hasOtherNote(row)) sql.run("DELETE FROM note WHERE partition = ?", row.number);
}

/** How far the bucket was at least; from the beginning, where that cannot be said any more. */
function reachedBy(sql: Sql): { readonly changes: number; readonly operation: number } {
  try {
    return sql.guard?.reached() ?? { changes: 0, operation: 0 };
  } catch (error) {
    if (error instanceof StoreError) return { changes: 0, operation: 0 };
    throw error;
  }
}

/** Numbers of operations that were used are not used again, though they are lost. */
function keepNumbers(sql: Sql, operation: number): void {
  sql.run("UPDATE about SET value = max(value, ?) WHERE name = 'next_operation'", operation + 1);
}

interface Place {
  readonly sql: Sql;
  readonly heads: Heads;
  readonly isSealed: IsSealed;
  readonly counts: { operations: number; segments: number; blocks: number };
  readonly told: (what: string) => void;
}

function checkPartition({ sql, heads, isSealed, counts, told }: Place, row: PartitionRow): void {
  const { number, key } = row;
  const head = headOf(heads, row, told);
  const found = heads.derived(number);
  counts.operations += found.operations;
  counts.segments += found.segments;
  compare(head ?? found, found, told);
  for (const operation of operationsOf(sql, number))
    if (!isSealed(key, HEADER, HEADER, operation.bytes)) told(`operation ${operation.number} is not what was written`);
  for (const segment of heads.segmentsOf(number)) {
    const parts = [
      ["header", HEADER, segment.header],
      ["liveness", LIVENESS, segment.liveness],
    ] as const;
    for (const [name, block, bytes] of parts)
      if (!isSealed(key, segment.number, block, bytes))
        told(`the ${name} of segment ${segment.number} is not what was written`);
    const inClear = { number: segment.number, header: headerOf(isSealed, key, segment) };
    counts.blocks += checkBlocks(sql, inClear, (block, bytes) => isSealed(key, segment.number, block, bytes), told);
  }
}

/** The header of a segment in the clear; one that cannot be opened is none. */
function headerOf(
  isSealed: IsSealed,
  key: string,
  { number, header }: { readonly number: number; readonly header: Uint8Array },
): Uint8Array {
  const opened = isSealed[OPENED];
  return opened === undefined ? header : (opened(key, number, HEADER, header) ?? new Uint8Array());
}

function headOf(heads: Heads, row: PartitionRow, told: (what: string) => void): Head | undefined {
  try {
    return heads.read(row);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    told(error.message);
    return undefined;
  }
}

function compare(head: Head, found: Head, told: (what: string) => void): void {
  if (found.operations !== head.operations) told(`${found.operations} operations are there of ${head.operations}`);
  else if (!equalMarks(found.tail, head.tail)) told("an operation is not what was written at its place");
  if (found.segments !== head.segments) told(`${found.segments} segments are there of ${head.segments}`);
  else if (!equalMarks(found.segmentMark, head.segmentMark)) told("a segment is not what was written last");
}

/** Reads the blocks of a segment. How many there are. */
function checkBlocks(
  sql: Sql,
  { number: segment, header }: { readonly number: number; readonly header: Uint8Array },
  isSealed: (block: number, bytes: Uint8Array) => boolean,
  told: (what: string) => void,
): number {
  let next = 0;
  const first = segment * BLOCKS_PER_SEGMENT;
  for (let found = blocksOf(sql, segment, 0); found.length > 0; found = blocksOf(sql, segment, next)) {
    for (const { id, bytes } of found) {
      const block = id - first;
      if (block !== next) told(`block ${next} of segment ${segment} is missing`);
      if (!isSealed(block, bytes)) told(`block ${block} of segment ${segment} is not what was written`);
      next = block + 1;
    }
  }
  const expected = blockCount(header);
  if (expected !== undefined && next < expected) told(`${next} blocks of segment ${segment} are there of ${expected}`);
  return next;
}

/** How many blocks a segment has, as its header says (docs/segment-format.md); nothing: it is no header. */
function blockCount(header: Uint8Array): number | undefined {
  let at = 1;
  const varint = (): number => {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = header[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  const schemaBytes = varint();
  at += schemaBytes + 8;
  varint();
  const blocks = varint();
  return at <= header.length ? blocks : undefined;
}

function blocksOf(sql: Sql, segment: number, from: number): { readonly id: number; readonly bytes: Uint8Array }[] {
  const first = segment * BLOCKS_PER_SEGMENT;
  const statement = "SELECT id, bytes FROM block WHERE id >= ? AND id < ? ORDER BY id LIMIT ?";
  return sql.all(statement, first + from, first + BLOCKS_PER_SEGMENT, BLOCKS);
}

function checkBucketHead(sql: Sql, heads: Heads, partitions: number, told: (what: string) => void): void {
  try {
    const head = heads.bucket();
    if (head.partitions !== partitions) told(`${partitions} partitions are there of ${head.partitions}`);
    const reached = sql.guard?.reached();
    if (reached === undefined) return;
    const operation = lastOperation(sql);
    if (head.changes < reached.changes || operation < reached.operation)
      told(
        `it is at change ${head.changes} and operation ${operation}, and was at ${reached.changes} and ${reached.operation}`,
      );
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    told(error.message);
  }
}

function lastOperation(sql: Sql): number {
  const [row] = sql.all<{ last: number }>(
    "SELECT max((SELECT coalesce(max(number), 0) FROM operation), (SELECT value - 1 FROM about WHERE name = 'next_operation')) AS last",
  );
  return row?.last ?? 0;
}

/** Rows that belong to no partition, by their table. */
function orphans(sql: Sql): Readonly<Record<string, number>> {
  const count = (statement: string): number => sql.all<{ count: number }>(statement)[0]?.count ?? 0;
  const of = "NOT IN (SELECT number FROM partition)";
  return {
    operation: count(`SELECT count(*) AS count FROM operation WHERE partition ${of}`),
    segment: count(`SELECT count(*) AS count FROM segment WHERE partition <> ${ERASED} AND partition ${of}`),
    head: count(`SELECT count(*) AS count FROM head WHERE partition <> 0 AND partition ${of}`),
    block: count(
      `SELECT count(*) AS count FROM block WHERE id / ${BLOCKS_PER_SEGMENT} NOT IN (SELECT number FROM segment)`,
    ),
  };
}

function partitionsOf(sql: Sql): PartitionRow[] {
  return sql.all<PartitionRow>("SELECT number, key, application FROM partition ORDER BY number");
}

function operationsOf(sql: Sql, partition: number): { readonly number: number; readonly bytes: Uint8Array }[] {
  return sql.all("SELECT number, bytes FROM operation WHERE partition = ? ORDER BY number", partition);
}

/** Deletes operations, and segments with any part, that are not what was sealed. */
function dropDamaged(sql: Sql, partition: number, key: string, isSealed: IsSealed): void {
  for (const { number, bytes } of operationsOf(sql, partition))
    if (!isSealed(key, HEADER, HEADER, bytes)) sql.run("DELETE FROM operation WHERE number = ?", number);
  const segments = sql.all<{ number: number; header: Uint8Array; liveness: Uint8Array }>(
    "SELECT number, header, liveness FROM segment WHERE partition = ?",
    partition,
  );
  for (const { number, header, liveness } of segments) {
    let isWhole = isSealed(key, number, HEADER, header) && isSealed(key, number, LIVENESS, liveness);
    checkBlocks(
      sql,
      { number, header: headerOf(isSealed, key, { number, header }) },
      (block, bytes) => isSealed(key, number, block, bytes),
      () => {
        isWhole = false;
      },
    );
    if (isWhole) continue;
    const first = number * BLOCKS_PER_SEGMENT;
    sql.run("DELETE FROM segment WHERE number = ?", number);
    sql.run("DELETE FROM block WHERE id >= ? AND id < ?", first, first + BLOCKS_PER_SEGMENT);
  }
}
