/**
 * The rows of one partition of a bucket, without the blocks of its segments: what it takes to have the partition in another
 * database, with the numbers it had. Blocks come and go apart, for databases that keep only some of them.
 */
import type { TailKey } from "./partitions.ts";
import type { Sql } from "./sql.ts";
import { BLOCKS_PER_SEGMENT } from "./tables.ts";

/** A segment without its blocks. */
export interface SegmentRow {
  readonly number: number;
  readonly schema: string;
  readonly documents: number;
  readonly header: Uint8Array;
  readonly liveness: Uint8Array;
}

/** Everything of a partition but blocks. */
export interface PartitionRows {
  readonly number: number;
  readonly key: string;
  readonly application: number;
  readonly operations: readonly { readonly number: number; readonly bytes: Uint8Array }[];
  readonly segments: readonly SegmentRow[];
}

/** The numbers that a bucket gives next. */
export interface NextNumbers {
  readonly partition: number;
  readonly operation: number;
  readonly segment: number;
}

/** The rows of a partition; nothing: it does not exist. */
export function readPartitionRows(sql: Sql, key: string): PartitionRows | undefined {
  const statement = "SELECT number, key, application FROM partition WHERE key = ?";
  const [row] = sql.all<Pick<PartitionRows, "number" | "key" | "application">>(statement, key);
  if (row === undefined) return undefined;
  return {
    ...row,
    operations: sql.all("SELECT number, bytes FROM operation WHERE partition = ? ORDER BY number", row.number),
    segments: sql.all(
      "SELECT number, schema, documents, header, liveness FROM segment WHERE partition = ? ORDER BY number",
      row.number,
    ),
  };
}

/** Puts a partition into a bucket that has none of its key, nor of any of its numbers; its head is the caller's. */
export function writePartitionRows(sql: Sql, { number, key, application, operations, segments }: PartitionRows): void {
  sql.run("INSERT INTO partition (number, key, application) VALUES (?, ?, ?)", number, key, application);
  const operation = "INSERT INTO operation (number, partition, bytes) VALUES (?, ?, ?)";
  for (const { number: own, bytes } of operations) sql.run(operation, own, number, bytes);
  const segment =
    "INSERT INTO segment (number, partition, schema, documents, header, liveness) VALUES (?, ?, ?, ?, ?, ?)";
  for (const { number: own, schema, documents, header, liveness } of segments)
    sql.run(segment, own, number, schema, documents, header, liveness);
}

/** Notes in an empty bucket which numbers come next. */
export function writeNextNumbers(sql: Sql, { partition, operation, segment }: NextNumbers): void {
  sql.transaction(() => {
    const numbers = { next_partition: partition, next_operation: operation, next_segment: segment };
    for (const [name, value] of Object.entries(numbers))
      sql.run("INSERT OR REPLACE INTO about (name, value) VALUES (?, ?)", name, value);
  });
}

/** Partitions that have operations, in order of their number after `number`. */
export function partitionsWithTail(sql: Sql, number: number, limit: number): TailKey[] {
  const statement =
    "SELECT number, key, (SELECT min(operation.number) FROM operation WHERE operation.partition = partition.number) AS firstOperation FROM partition WHERE number IN (SELECT DISTINCT partition FROM operation WHERE partition > ? ORDER BY partition LIMIT ?) ORDER BY number";
  return sql.all(statement, number, limit);
}

/** The keys of partitions that have operations after a number, or segments from a number on. */
export function writtenSince(sql: Sql, operation: number, segment: number): readonly string[] {
  const statement =
    "SELECT key FROM partition WHERE number IN (SELECT partition FROM operation WHERE number > ? UNION SELECT partition FROM segment WHERE number >= ?)";
  return sql.all<{ key: string }>(statement, operation, segment).map(({ key }) => key);
}

/** The numbers of the segments of a partition. */
export function segmentsOf(sql: Sql, key: string): readonly number[] {
  const statement =
    "SELECT segment.number AS number FROM segment JOIN partition ON partition.number = segment.partition WHERE partition.key = ?";
  return sql.all<{ number: number }>(statement, key).map(({ number }) => number);
}

/** The numbers of all segments of partitions that are there. */
export function allSegments(sql: Sql): ReadonlySet<number> {
  const statement = "SELECT number FROM segment WHERE partition IN (SELECT number FROM partition)";
  return new Set(sql.all<{ number: number }>(statement).map(({ number }) => number));
}

/** Puts all blocks of a segment. */
export function writeBlocks(sql: Sql, segment: number, blocks: readonly Uint8Array[]): void {
  sql.transaction(() => {
    const statement = "INSERT OR REPLACE INTO block (id, bytes) VALUES (?, ?)";
    blocks.forEach((bytes, block) => {
      sql.run(statement, segment * BLOCKS_PER_SEGMENT + block, bytes);
    });
  });
}

/** Removes all blocks of segments, which stay. */
export function removeBlocks(sql: Sql, segments: readonly number[]): void {
  sql.transaction(() => {
    for (const segment of segments) {
      const first = segment * BLOCKS_PER_SEGMENT;
      sql.run("DELETE FROM block WHERE id >= ? AND id < ?", first, first + BLOCKS_PER_SEGMENT);
    }
  });
}
