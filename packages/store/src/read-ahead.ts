/**
 * What partitions consist of, read of many of them by one statement. Who goes through a bucket says which come next; what is asked of
 * the first of them is read of all. What was read of one is forgotten when that is given away, and when it changes, which is when its head
 * is written. It is small, or not read: what is not here, or not all here, is asked of the one.
 */
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";

/** A partition as its row says. */
export interface PartitionRow {
  readonly number: number;
  readonly key: string;
  readonly application: number;
}

/** A segment as far as its partition's head tells it. */
export interface SegmentRow {
  readonly number: number;
  readonly schema: string;
  readonly documents: number;
  readonly header: Uint8Array;
  readonly liveness: Uint8Array;
}

/** What a partition is asked for by. */
export type PartitionName = Pick<PartitionRow, "number" | "key">;

/** How long a tail is. */
export interface TailLength {
  readonly operations: number;
  readonly bytes: number;
  /** Number of the last operation; 0: there is none. */
  readonly last: number;
}

/** An operation of a tail. */
export interface OperationRow {
  readonly number: number;
  readonly bytes: Uint8Array;
}

type OfPartition<Row> = Row & { readonly partition: number };

/** Pages that are kept: so many go through a bucket at a time, without that one's pages cost another its own. */
const PAGES = 2;
const ROWS = "SELECT number, key, application FROM partition WHERE key IN (SELECT value FROM json_each(?))";
const HEADS = "SELECT partition, bytes FROM head WHERE partition IN (SELECT value FROM json_each(?))";
const TAILS =
  "SELECT partition, count(*) AS operations, sum(length(bytes)) AS bytes, max(number) AS last FROM operation WHERE partition IN (SELECT value FROM json_each(?)) GROUP BY partition";
// At most half a megabyte of each, of segments and operations that are not large.
const OPERATIONS =
  "SELECT partition, number, bytes FROM operation WHERE partition IN (SELECT value FROM json_each(?)) AND length(bytes) <= 2048 ORDER BY number LIMIT 256";
const SEGMENTS =
  "SELECT partition, number, schema, documents, header, liveness FROM segment WHERE partition IN (SELECT value FROM json_each(?)) AND length(header) + length(liveness) <= 2048 ORDER BY number LIMIT 256";
/** The length of no tail. */
export const NO_TAIL: TailLength = { operations: 0, bytes: 0, last: 0 };

/** What was read of partitions that come next, each kind of it when the first of them is asked for it. */
interface Page {
  readonly keys: ReadonlySet<string>;
  /** Those that were not given away, and did not change. */
  rows?: Map<string, PartitionRow>;
  readonly read: Map<string, Map<number, readonly unknown[]>>;
}

/** What is read ahead of the partitions of one bucket. */
export class ReadAhead {
  readonly #sql: Sql;
  #pages: readonly Page[] = [];

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** These partitions are asked for next, one after the other. */
  expect(keys: readonly string[]): void {
    if (keys.length > 1) this.#pages = [{ keys: new Set(keys), read: new Map() }, ...this.#pages.slice(0, PAGES - 1)];
  }

  /** What was read while something was written that failed may be what did not come to be. */
  forgetAll(): void {
    this.#pages = [];
  }

  /** The row of a partition. */
  row(key: string): PartitionRow | undefined {
    return this.#pageOf(key)?.rows?.get(key);
  }

  /** Bytes of the head of a partition. */
  head(partition: PartitionName): Uint8Array | undefined {
    return this.#read<{ readonly bytes: Uint8Array }>(HEADS, partition)?.[0]?.bytes;
  }

  /** How long the tail of a partition is. */
  tail(partition: PartitionName): TailLength | undefined {
    const rows = this.#read<TailLength>(TAILS, partition);
    return rows && (rows[0] ?? NO_TAIL);
  }

  /** Segments of a partition: perhaps not all. */
  segments(partition: PartitionName): readonly SegmentRow[] | undefined {
    return this.#read<SegmentRow>(SEGMENTS, partition);
  }

  /** Operations of a partition: perhaps not all. */
  operations(partition: PartitionName): readonly OperationRow[] | undefined {
    return this.#read<OperationRow>(OPERATIONS, partition);
  }

  /** A partition was given away, or becomes another. */
  forget({ key, number }: PartitionName): void {
    for (const { rows, read } of this.#pages)
      if (rows?.delete(key)) for (const found of read.values()) found.delete(number);
  }

  #pageOf(key: string): Page | undefined {
    return this.#pages.find((page) => {
      if (!page.keys.has(key)) return false;
      page.rows ??= new Map(this.#all<PartitionRow>(page, ROWS, [...page.keys]).map((row) => [row.key, row]));
      return page.rows.has(key);
    });
  }

  #read<Row>(statement: string, { key, number }: PartitionName): readonly Row[] | undefined {
    const page = this.#pageOf(key);
    if (page?.rows?.get(key)?.number !== number) return undefined;
    let found = page.read.get(statement);
    if (found === undefined) {
      const numbers = Array.from(page.rows.values(), (row) => row.number);
      found = byPartition(this.#all<OfPartition<Row>>(page, statement, numbers));
      page.read.set(statement, found);
    }
    return this.#pages.includes(page) ? ((found.get(number) ?? []) as readonly Row[]) : undefined;
  }

  /** Rows of a page. Where one of them cannot be read, each partition is asked for by itself: others are no worse for it. */
  #all<Row>(page: Page, statement: string, these: readonly (number | string)[]): Row[] {
    try {
      return this.#sql.all<Row>(statement, JSON.stringify(these));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#pages = this.#pages.filter((other) => other !== page);
      return [];
    }
  }
}

function byPartition<Row>(rows: readonly OfPartition<Row>[]): Map<number, readonly Row[]> {
  const found = new Map<number, Row[]>();
  for (const row of rows) {
    const of = found.get(row.partition);
    if (of === undefined) found.set(row.partition, [row]);
    else of.push(row);
  }
  return found;
}
