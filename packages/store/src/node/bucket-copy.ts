/**
 * A bucket as what a backup keeps: its rows as they are at one moment, and the blocks of its segments, which never change; and a
 * bucket made of that again. Where it is kept, and what of it is there already, is decided elsewhere.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { equalMarks, Heads, headKeyOf, lost } from "../heads.ts";
import { createNotes, hasNotes, type NotedPartition, notedPartitions } from "../notes.ts";
import type { Generation, Guard, SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { BLOCKS_PER_SEGMENT, type BucketIdentity, checkTables, hasHeads } from "../tables.ts";
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
/** So long a moment is looked for that several buckets have together. */
const PATIENCE_MS = 120_000;
const PAUSE_MS = 5;

/** A bucket at one moment, while another process may write to it. It is closed by who opened it, soon: its log grows until then. */
export class BucketMoment {
  readonly #sql: SqlConnection;
  readonly #guard: Guard;
  readonly #identity: BucketIdentity;
  #isClosed = false;
  #knownHeads: Heads | undefined;

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
      const key = headKeyOf(secretIn(directory));
      this.#guard = { key, reached: () => ({ changes: 0, operation: 0 }), reach: () => undefined };
      [this.#sql, this.#identity] = [sql, identity];
    } catch (error) {
      sql.close();
      throw error;
    }
  }

  /**
   * Several buckets at one moment. Nothing is locked: a moment is taken of one after the other, twice, and where none of them was
   * written to between the first and the second time, what all of them had at the end of the first is what they have in the second.
   */
  static async ofAll(
    directory: string,
    identities: readonly BucketIdentity[],
    openSql: OpenSql,
    patienceMs: number = PATIENCE_MS,
  ): Promise<BucketMoment[]> {
    const moments: BucketMoment[] = [];
    try {
      for (const identity of identities) moments.push(new BucketMoment(directory, identity, openSql));
      const until = performance.now() + patienceMs;
      for (;;) {
        const before = moments.map((moment) => moment.#renewed());
        const now = moments.map((moment) => moment.#renewed());
        if (now.every((version, at) => version === before[at])) return moments;
        if (performance.now() > until)
          throw new StoreError("busy", "the buckets of large groups are written to without a pause: do it again later");
        await pause(Math.random() * PAUSE_MS);
      }
    } catch (error) {
      for (const moment of moments) moment.close();
      throw error;
    }
  }

  /** Takes the moment that is now. What it is known by: another one, if anything was committed since the one before. */
  #renewed(): number {
    this.#sql.run("ROLLBACK");
    begin(this.#sql);
    this.#knownHeads = undefined;
    return this.#sql.all<{ data_version: number }>("PRAGMA data_version")[0]?.data_version ?? 0;
  }

  /** The heads as they are at this moment. */
  get #heads(): Heads {
    this.#knownHeads ??= new Heads({ ...this.#sql, guard: this.#guard }, this.#identity);
    return this.#knownHeads;
  }

  /** What is noted of partitions; of one that has to have a note and has none, nothing. */
  get noted(): readonly NotedPartition[] {
    return notedPartitions(this.#sql);
  }

  /** All segments of partitions, with the number and the key of each one's. */
  segments(): readonly { readonly segment: number; readonly partition: number; readonly key: string }[] {
    return this.#sql.all(
      "SELECT segment.number AS segment, partition, key FROM segment JOIN partition ON partition.number = partition ORDER BY segment.number",
    );
  }

  /** Whether anything was ever noted in the bucket, or has to be. */
  get hasNotes(): boolean {
    return hasNotes(this.#sql) || this.noted.length > 0;
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
    const [sql, heads] = [this.#sql, this.#heads];
    const partitions = sql.all<{ number: number; key: string; application: number }>(
      "SELECT number, key, application FROM partition ORDER BY number",
    );
    const expected = heads.bucket().partitions;
    if (partitions.length !== expected)
      throw new StoreError("damaged", `${partitions.length} partitions are there of ${expected}`);
    for (const row of partitions) {
      const [head, found] = [heads.read(row), heads.derived(row.number)];
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
        heads
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
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#sql.run("ROLLBACK");
    } finally {
      this.#sql.close();
    }
  }
}

/** Fills an empty bucket, and makes its heads. `noted` is of partitions that are among the rows. */
export function fillBucket(
  sql: SqlConnection,
  identity: BucketIdentity,
  { noted, ...rows }: BucketRows & { readonly noted: readonly NotedPartition[] },
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
    if (noted.length > 0) createNotes(sql);
    const statement = "INSERT INTO note (partition, text) SELECT number, ? FROM partition WHERE key = ?";
    for (const { key, note = "" } of noted) sql.run(statement, note, key);
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
