/** The blocks of the segments of a bucket as they are read: in few statements, and where they can be, right to where they are used. */
import type { BlockReceiver, StoredBlock } from "./partitions.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";
import { BLOCKS_PER_SEGMENT } from "./tables.ts";

const BATCH = 16;
/** Blocks that are written by one statement, at most. Small segments, of which a commit may have many, have about as many. */
const WRITTEN_AT_ONCE = 8;
const WRITE: readonly string[] = Array.from(
  { length: WRITTEN_AT_ONCE + 1 },
  (_, count) => `INSERT INTO block (id, bytes) VALUES ${Array(count).fill("(?, ?)").join(", ")}`,
);
const READ_ONE = "SELECT bytes FROM block WHERE id = ?";
const READ_RUN = "SELECT id, bytes FROM block WHERE id BETWEEN ? AND ? ORDER BY id";
/** Blocks in a row from which on one pass over them is cheaper than to look each up. */
const RUN_MIN = 4;
const READ_BATCH = `SELECT id, bytes FROM block WHERE id IN (${Array(BATCH).fill("?").join(", ")})`;

/** Those of one bucket. */
export class StoredBlocks {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Writes all blocks of a new segment. */
  write(segment: number, blocks: readonly Uint8Array[]): void {
    if (blocks.length > BLOCKS_PER_SEGMENT) throw new RangeError(`a segment of ${blocks.length} blocks`);
    const first = segment * BLOCKS_PER_SEGMENT;
    for (let from = 0; from < blocks.length; from += WRITTEN_AT_ONCE) {
      const written = blocks.slice(from, from + WRITTEN_AT_ONCE);
      this.#sql.run(WRITE[written.length] as string, ...written.flatMap((bytes, at) => [first + from + at, bytes]));
    }
  }

  /** Blocks in the order asked for. Throws a `StoreError` of the kind "damaged" if one is missing. */
  read(blocks: readonly StoredBlock[]): Uint8Array[] {
    const found = new Map<number, Uint8Array>();
    const ids = blocks.map(({ segment, block }) => segment * BLOCKS_PER_SEGMENT + block);
    const single: number[] = [];
    for (let from = 0, to = 1; from < ids.length; from = to, to += 1) {
      while (to < ids.length && ids[to] === (ids[from] ?? 0) + to - from) to += 1;
      if (to - from < RUN_MIN) single.push(...ids.slice(from, to));
      else for (const [id, bytes] of this.#readRun(ids[from] ?? 0, to - from)) found.set(id, bytes);
    }
    for (let from = 0; from < single.length; from += BATCH) {
      for (const [id, bytes] of this.#readSome(single.slice(from, from + BATCH))) found.set(id, bytes);
    }
    return ids.map((id) => {
      const bytes = found.get(id);
      if (bytes === undefined) {
        const place = `block ${id % BLOCKS_PER_SEGMENT} of segment ${Math.floor(id / BLOCKS_PER_SEGMENT)}`;
        throw new StoreError("damaged", `${place} is missing`);
      }
      return bytes;
    });
  }

  /** The same, each given to `receiver` as it comes. */
  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void {
    const { blobs } = this.#sql;
    const idOf = ({ segment, block }: StoredBlock): number => segment * BLOCKS_PER_SEGMENT + block;
    const lengths = blocks.map((block) => blobs?.lengthOf(idOf(block)));
    const others = this.read(blocks.filter((_, index) => lengths[index] === undefined));
    let next = 0;
    blocks.forEach((block, index) => {
      const length = lengths[index];
      if (length === undefined) receiver.give(others[next++] as Uint8Array);
      else if (!receiver.fill(length, (room) => blobs?.read(idOf(block), room) === true))
        for (const bytes of this.read([block])) receiver.give(bytes);
    });
  }

  #readRun(first: number, count: number): (readonly [id: number, bytes: Uint8Array])[] {
    const rows = this.#sql.all<{ id: number; bytes: Uint8Array }>(READ_RUN, first, first + count - 1);
    return rows.map(({ id, bytes }) => [id, bytes]);
  }

  #readSome(ids: readonly number[]): (readonly [id: number, bytes: Uint8Array])[] {
    const first = ids[0];
    if (first === undefined) return [];
    if (ids.length === 1)
      return this.#sql.all<{ bytes: Uint8Array }>(READ_ONE, first).map(({ bytes }) => [first, bytes]);
    const padded = [...ids, ...Array<number>(BATCH - ids.length).fill(first)];
    return this.#sql.all<{ id: number; bytes: Uint8Array }>(READ_BATCH, ...padded).map(({ id, bytes }) => [id, bytes]);
  }
}
