/**
 * A bucket as what a backup keeps: its rows as they are at one moment, and the blocks of its segments, which never change; and a
 * bucket made of that again. Where it is kept, and what of it is there already, is decided elsewhere.
 */
import { join } from "node:path";
import { equalMarks, Heads, headKeyOf, lost } from "../heads.ts";
import type { Generation, SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { BLOCKS_PER_SEGMENT, type BucketIdentity, checkTables, hasHeads, hasNotes } from "../tables.ts";
import { checkHeader, type OpenSql, secretIn } from "./data-directory.ts";

/** The rows of a bucket but for its blocks, as values that JSON has; bytes are base64. */
export interface BucketRows {
  readonly about: readonly (readonly [name: string, value: number])[];
  readonly partitions: readonly (readonly [number: number, key: string, application: number])[];
  readonly operations: readonly (readonly [number: number, partition: number, bytes: string])[];
  readonly segments: readonly SegmentRow[];
}

/** A segment without its blocks. */
export type SegmentRow = readonly [
  number: number,
  partition: number,
  schema: string,
  documents: number,
  header: string,
  liveness: string,
];

/** Numbers that an opening counts on from. */
const ABOUT = ["next_operation", "next_partition", "next_segment"];
const BUSY_TRIES = 50;

/** A bucket at one moment, while another process may write to it. It is closed by who opened it, soon: its log grows until then. */
export class BucketMoment {
  readonly #sql: SqlConnection;
  readonly #heads: Heads;

  /** Opens a bucket of a directory. Throws a `StoreError` for what is damaged, or of an earlier version. */
  constructor(directory: string, identity: BucketIdentity, openSql: OpenSql) {
    const path = join(directory, "buckets", `${String(identity.bucket).padStart(3, "0")}.sqlite`);
    checkHeader(path);
    const sql = openSql(path);
    try {
      sql.run("PRAGMA query_only = ON");
      begin(sql);
      if (!hasHeads(checkTables(sql, identity)))
        throw new StoreError("refused", `${path} is of an earlier release: open it once with this one`);
      // Buckets are read at different moments: a group that is split between two of them would lose documents.
      if (hasNotes(sql))
        throw new StoreError("refused", `${path} has a large group in shards, which cannot be backed up yet`);
      const key = headKeyOf(secretIn(directory));
      const guard = { key, reached: () => ({ changes: 0, operation: 0 }), reach: () => undefined };
      this.#heads = new Heads({ ...sql, guard }, identity);
      this.#sql = sql;
    } catch (error) {
      sql.close();
      throw error;
    }
  }

  /** How far the bucket is. */
  get generation(): Generation {
    const statement =
      "SELECT max((SELECT coalesce(max(number), 0) FROM operation), (SELECT value - 1 FROM about WHERE name = 'next_operation')) AS last";
    const [row] = this.#sql.all<{ last: number }>(statement);
    return { changes: this.#heads.bucket().changes, operation: row?.last ?? 0 };
  }

  /** All rows but those of blocks. Throws a `StoreError` if they are fewer or others than the heads tell. */
  rows(): BucketRows {
    const sql = this.#sql;
    const partitions = sql.all<{ number: number; key: string; application: number }>(
      "SELECT number, key, application FROM partition ORDER BY number",
    );
    const expected = this.#heads.bucket().partitions;
    if (partitions.length !== expected)
      throw new StoreError("damaged", `${partitions.length} partitions are there of ${expected}`);
    for (const row of partitions) {
      const [head, found] = [this.#heads.read(row), this.#heads.derived(row.number)];
      const isWhole = equalMarks(head.tail, found.tail) && equalMarks(head.segmentMark, found.segmentMark);
      if (!isWhole) throw lost(row.number, "it is not what was written");
    }
    const about = sql.all<{ name: string; value: number }>("SELECT name, value FROM about");
    const operations = sql.all<{ number: number; partition: number; bytes: Uint8Array }>(
      "SELECT number, partition, bytes FROM operation ORDER BY number",
    );
    return {
      about: about.filter(({ name }) => ABOUT.includes(name)).map(({ name, value }) => [name, value] as const),
      partitions: partitions.map(({ number, key, application }) => [number, key, application] as const),
      operations: operations.map(({ number, partition, bytes }) => [number, partition, base64(bytes)] as const),
      segments: partitions.flatMap(({ number: partition }) =>
        this.#heads
          .segmentsOf(partition)
          .map(
            (it) => [it.number, partition, it.schema, it.documents, base64(it.header), base64(it.liveness)] as const,
          ),
      ),
    };
  }

  /** What tells the blocks of a segment from all others: the ends of the first and of the last. */
  sealOf(segment: number): string {
    const first = segment * BLOCKS_PER_SEGMENT;
    const end = (order: "ASC" | "DESC"): string => {
      const statement = `SELECT substr(bytes, -8) AS seal FROM block WHERE id >= ? AND id < ? ORDER BY id ${order} LIMIT 1`;
      const [row] = this.#sql.all<{ seal: Uint8Array }>(statement, first, first + BLOCKS_PER_SEGMENT);
      return row === undefined ? "" : base64(row.seal);
    };
    return `${end("ASC")} ${end("DESC")}`;
  }

  /** The blocks of a segment. Throws a `StoreError` if one is missing. */
  blocks(segment: number): Uint8Array[] {
    const first = segment * BLOCKS_PER_SEGMENT;
    const statement = "SELECT id, bytes FROM block WHERE id >= ? AND id < ? ORDER BY id";
    const rows = this.#sql.all<{ id: number; bytes: Uint8Array }>(statement, first, first + BLOCKS_PER_SEGMENT);
    rows.forEach(({ id }, block) => {
      if (id !== first + block) throw new StoreError("damaged", `block ${block} of segment ${segment} is missing`);
    });
    return rows.map(({ bytes }) => bytes);
  }

  close(): void {
    this.#sql.run("ROLLBACK");
    this.#sql.close();
  }
}

/** Fills an empty bucket, and makes its heads. */
export function fillBucket(
  sql: SqlConnection,
  identity: BucketIdentity,
  rows: BucketRows,
  blocksOf: (segment: number) => readonly Uint8Array[],
): void {
  sql.transaction(() => {
    for (const [name, value] of rows.about)
      sql.run("INSERT OR REPLACE INTO about (name, value) VALUES (?, ?)", name, value);
    for (const [number, key, application] of rows.partitions)
      sql.run("INSERT INTO partition (number, key, application) VALUES (?, ?, ?)", number, key, application);
    for (const [number, partition, bytes] of rows.operations)
      sql.run("INSERT INTO operation (number, partition, bytes) VALUES (?, ?, ?)", number, partition, unbase64(bytes));
    const insert =
      "INSERT INTO segment (number, partition, schema, documents, header, liveness) VALUES (?, ?, ?, ?, ?, ?)";
    for (const [number, partition, schema, documents, header, liveness] of rows.segments) {
      sql.run(insert, number, partition, schema, documents, unbase64(header), unbase64(liveness));
      blocksOf(number).forEach((bytes, block) => {
        sql.run("INSERT INTO block (id, bytes) VALUES (?, ?)", number * BLOCKS_PER_SEGMENT + block, bytes);
      });
    }
    new Heads(sql, identity).derive();
  });
}

/** Begins to read; a process that recovers the log at this moment is waited for. */
function begin(sql: SqlConnection): void {
  for (let tries = 1; ; tries += 1) {
    try {
      sql.run("BEGIN");
      sql.all("SELECT value FROM about LIMIT 1");
      return;
    } catch (error) {
      if (!(error instanceof StoreError && error.kind === "busy") || tries === BUSY_TRIES) throw error;
      sql.run("ROLLBACK");
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
}

function unbase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "base64"));
}
