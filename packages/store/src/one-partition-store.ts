/**
 * One partition in one table, for platforms that give each group a database of its own and bill the rows that are written: nothing
 * is written before there is something to keep, there is no index, and what is written together stands in one row as far as it
 * fits. What the bytes mean is the core's, as in `PartitionStore`.
 *
 * The table has a number and bytes: 0 is what is known of the partition, together with the operations that were its first write until
 * they are folded, then come the other operations of the tail, the segments (a header with the liveness it began with, and the
 * liveness once that has changed), and the blocks of the segments, each with what is too long of its header behind them.
 */
import { type About, encodeAbout, FORMAT, readHead } from "./one-partition-head.ts";
import { concatenate, countOfRow, type PackedRow, packRows, unpackRow } from "./packed-row.ts";
import type { PartitionStoreOptions } from "./partition-store.ts";
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
  type StoredManifest,
  type StoredSegment,
  type TailEntry,
  type TailKey,
} from "./partitions.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";
import { BLOCKS_PER_SEGMENT } from "./tables.ts";

/** Bytes of a row of several things: the more, the fewer rows are written, and the more is read for one of them. */
const ROW_BYTES: number = 128 << 10;
/** What a row of a segment has of its header: platforms take values of two megabytes, and long words make it longer. */
const HEADER_BYTES: number = 1 << 20;
/** The only partition has this number. */
const NUMBER = 1;
const ABOUT = 0;
const OPERATIONS = 1;
const SEGMENTS: number = 2 ** 44;
const BLOCKS: number = 2 ** 52;

/** The statements on a table; its name is ours, never a caller's. */
function statementsOn(table: string) {
  return {
    make: `CREATE TABLE ${table} (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT`,
    read: `SELECT id, bytes FROM ${table} WHERE id BETWEEN ? AND ? ORDER BY id`,
    readBefore: `SELECT id, bytes FROM ${table} WHERE id <= ? ORDER BY id DESC LIMIT 1`,
    readTail: `SELECT id, length(bytes) AS length, substr(bytes, 1, 4) AS start FROM ${table} WHERE id BETWEEN ? AND ? ORDER BY id`,
    write: `INSERT OR REPLACE INTO ${table} (id, bytes) VALUES (?, ?)`,
    remove: `DELETE FROM ${table} WHERE id BETWEEN ? AND ?`,
    erase: `DROP TABLE ${table}`,
  } as const;
}

/** How such a store behaves. */
export interface OnePartitionOptions extends Pick<PartitionStoreOptions, "application"> {
  /** The table it is in, where the database has others. */
  readonly table?: string;
}

/** The table of a partition that has the database for itself. */
const TABLE = "brooklet";

interface Row {
  readonly id: number;
  readonly bytes: Uint8Array;
}

/** A row of operations, without them. What is in a row is numbered on from the row's id. */
interface TailRow {
  readonly id: number;
  readonly first: number;
  readonly count: number;
  readonly length: number;
}

/** What is in memory of a partition that exists. */
interface Loaded {
  about: About;
  tail: TailRow[];
  layout: number;
}

/** The key of the partition that a database has, and what was noted of it; nothing: it has none. */
export function storedPartition(sql: Sql): { readonly key: string; readonly note?: string } | undefined {
  const [table] = sql.all("SELECT 1 FROM sqlite_schema WHERE name = ?", TABLE);
  if (table === undefined) return undefined;
  const [row] = sql.all<Row>(statementsOn(TABLE).read, ABOUT, ABOUT);
  return row && readHead(row.bytes).about;
}

/** Whether there is anything in a table to fold or to settle: a tail, or segments with documents that were removed since. */
export function isUnsettled(sql: Sql, table: string = TABLE): boolean {
  if (sql.all("SELECT 1 FROM sqlite_schema WHERE name = ?", table).length === 0) return false;
  const [head] = sql.all<Row>(statementsOn(table).read, ABOUT, ABOUT);
  if (head !== undefined && readHead(head.bytes).operations.length > 0) return true;
  const rest = `SELECT 1 FROM ${table} WHERE id BETWEEN ? AND ? AND (id < ? OR id % 2 = 1) LIMIT 1`;
  return sql.all(rest, OPERATIONS, BLOCKS - 1, SEGMENTS).length > 0;
}

/**
 * Puts a partition of which nothing but a note is known in the place of what is stored, whatever that is. In one transaction: what was there
 * is gone when the note is.
 */
export function replacePartition(sql: Sql, key: string, note: string, table: string = TABLE): void {
  const { make, write } = statementsOn(table);
  const head = encodeAbout({ format: FORMAT, key, application: 0, nextOperation: 1, nextSegment: 1, note });
  sql.transaction(() => {
    sql.run(`DROP TABLE IF EXISTS ${table}`);
    sql.run(make);
    for (const row of packRows(ABOUT, [head], Number.POSITIVE_INFINITY)) sql.run(write, row.first, row.bytes);
  });
}

/** The partition of `key`, in a database that is nobody else's. */
export class OnePartitionStore implements Partitions {
  #incarnation = nextIncarnation();
  readonly #sql: Sql;
  readonly #key: string;
  readonly #table: string;
  readonly #statements: ReturnType<typeof statementsOn>;
  application: number;
  /** Nothing: it does not exist. */
  #loaded: Loaded | undefined;

  constructor(sql: Sql, key: string, { application, table = TABLE }: OnePartitionOptions) {
    this.#sql = sql;
    this.#key = key;
    this.#table = table;
    this.#statements = statementsOn(table);
    this.application = application;
    this.#loaded = this.#load();
  }

  get valueBytesMax(): number | undefined {
    return this.#sql.valueBytesMax;
  }

  get firstFreeSegment(): number {
    return this.#loaded?.about.nextSegment ?? 1;
  }

  get lastOperation(): number {
    return (this.#loaded?.about.nextOperation ?? 1) - 1;
  }

  state(key: string): PartitionState {
    const loaded = key === this.#key ? this.#loaded : undefined;
    if (loaded === undefined) return nothing(this.#incarnation, key);
    const { tail, layout, about } = loaded;
    const last = tail.at(-1);
    return {
      incarnation: this.#incarnation,
      key,
      number: NUMBER,
      layout,
      lastOperation: last === undefined ? 0 : last.first + last.count - 1,
      operations: tail.reduce((sum, { count }) => sum + count, 0),
      operationBytes: tail.reduce((sum, { length }) => sum + length, 0),
      application: about.application,
    };
  }

  manifest(key: string, layout: number, operation: number): StoredManifest {
    const state = this.state(key);
    const isSame = layout === state.layout;
    if (state.number === 0) return { layout: state.layout, segments: isSame ? undefined : [], operations: [] };
    return {
      layout: state.layout,
      segments: isSame ? undefined : this.#segments(),
      operations: this.#operations(isSame ? operation : 0),
    };
  }

  operation(key: string, number: number): Uint8Array {
    const tail = key === this.#key ? (this.#loaded?.tail ?? []) : [];
    const row = tail.find(({ first, count }) => number >= first && number < first + count);
    const [stored] = row === undefined ? [] : this.#rows(row.id, row.id);
    const bytes = stored && unpackRow(stored.bytes)[number - stored.id];
    if (bytes === undefined) throw new StoreError("damaged", `operation ${number} is missing`);
    return bytes;
  }

  /** What a platform does with its own file is its business. */
  giveBack(): boolean {
    return false;
  }

  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void {
    for (const bytes of this.read(blocks)) receiver.give(bytes);
  }

  read(blocks: readonly StoredBlock[]): Uint8Array[] {
    const ids = blocks.map(({ segment, block }) => blockId(segment, block));
    const found = new Map<number, Uint8Array>();
    let row: { readonly first: number; readonly things: readonly Uint8Array[] } | undefined;
    for (const id of [...ids].sort((left, right) => left - right)) {
      if (row === undefined || id >= row.first + row.things.length) row = this.#rowOfBlock(id);
      const bytes = row?.things[id - row.first];
      if (bytes === undefined) throw missing(id);
      found.set(id, bytes);
    }
    return ids.map((id) => found.get(id) as Uint8Array);
  }

  append(entries: readonly TailEntry[]): void {
    for (const { key } of entries) this.#demandKey(key);
    this.#change((loaded) => {
      const first = loaded.about.nextOperation;
      const operations = entries.map(({ bytes }) => bytes);
      const isFirst = this.#loaded === undefined;
      const rows = isFirst
        ? packRows(ABOUT, [encodeAbout(loaded.about), ...operations], ROW_BYTES)
        : packRows(first, operations, ROW_BYTES);
      for (const row of rows) this.#sql.run(this.#statements.write, row.first, row.bytes);
      // How many there were is seen in the tail; it is noted when that goes.
      const about = { ...loaded.about, nextOperation: first + entries.length };
      return { ...loaded, about, tail: [...loaded.tail, ...rows.flatMap(tailRow)] };
    });
  }

  commit(key: string, change: StoredChange, wholly: boolean, note?: string): void {
    this.#demandKey(key);
    this.#change((loaded) => {
      const tail = this.#fold(loaded.tail, change.folded);
      for (const segment of change.removedSegments) this.#removeSegment(segment);
      for (const { segment, liveness } of change.liveness)
        this.#sql.run(this.#statements.write, livenessId(segment), liveness);
      for (const segment of change.newSegments) this.#addSegment(segment);
      const nextSegment = Math.max(loaded.about.nextSegment, ...change.newSegments.map(({ number }) => number + 1));
      const application = wholly ? this.application : loaded.about.application;
      const about = { ...loaded.about, nextSegment, application, ...(note !== undefined && { note }) };
      this.#writeAbout(about, tail);
      return { about, tail, layout: nextLayout() };
    });
  }

  markCurrent(key: string): void {
    if (this.state(key).number === 0) return;
    this.#change((loaded) => {
      const about = { ...loaded.about, application: this.application };
      this.#writeAbout(about, loaded.tail);
      return { ...loaded, about };
    });
  }

  noted(key: string): string | undefined {
    return key === this.#key ? this.#loaded?.about.note : undefined;
  }

  note(key: string, note: string): void {
    this.#demandKey(key);
    this.#change((loaded) => {
      const about = { ...loaded.about, note };
      this.#writeAbout(about, loaded.tail);
      return { ...loaded, about };
    });
  }

  storedBytes(key: string): number {
    if (this.state(key).number === 0) return 0;
    const statement = `SELECT coalesce(sum(length(bytes)), 0) AS bytes FROM ${this.#table}`;
    return this.#sql.all<{ bytes: number }>(statement)[0]?.bytes ?? 0;
  }

  from(number: number, limit: number): NumberedKey[] {
    return this.#loaded !== undefined && number <= NUMBER && limit > 0 ? [{ number: NUMBER, key: this.#key }] : [];
  }

  withTail(number: number, limit: number): TailKey[] {
    const firstOperation = this.#loaded?.tail[0]?.first;
    if (firstOperation === undefined) return [];
    return this.from(number + 1, limit).map((one) => ({ ...one, firstOperation }));
  }

  outdated(number: number, limit: number): NumberedKey[] {
    return this.#loaded?.about.application === this.application ? [] : this.from(number + 1, limit);
  }

  writtenSince(operation: number, segment: number): readonly string[] {
    const isWritten = this.lastOperation > operation || this.firstFreeSegment > segment;
    return isWritten && this.#loaded !== undefined ? [this.#key] : [];
  }

  eraseOthers(schemas: readonly string[], from: number, limit: number): number | undefined {
    if (this.#loaded === undefined) return undefined;
    const others = this.#headers().filter(({ number, schema }) => number >= from && !schemas.includes(schema));
    const removed = others.slice(0, limit);
    const last = removed.at(-1);
    if (last === undefined) return undefined;
    this.#change((loaded) => {
      for (const { number } of removed) this.#removeSegment(number);
      this.#writeAbout(loaded.about, loaded.tail);
      return { ...loaded, layout: nextLayout() };
    });
    return last.number + 1;
  }

  erase(key: string): void {
    if (this.state(key).number === 0) return;
    this.#sql.transaction(() => this.#sql.run(this.#statements.erase));
    this.#loaded = undefined;
    // Numbers begin anew: nothing that a core has of this partition may be taken for what comes after it.
    this.#incarnation = nextIncarnation();
  }

  /** It went whole. */
  dropErased(): boolean {
    return false;
  }

  #load(): Loaded | undefined {
    const [table] = this.#sql.all<{ sql: string }>("SELECT sql FROM sqlite_schema WHERE name = ?", this.#table);
    if (table === undefined) return undefined;
    if (table.sql !== this.#statements.make)
      throw new StoreError("refused", "tampered: the table of a partition is not as we made it");
    const [row] = this.#rows(ABOUT, ABOUT);
    // The table is made together with this row.
    if (row === undefined) throw new StoreError("damaged", "what is known of the partition is missing");
    const { about, operations } = readHead(row.bytes);
    if (about.key !== this.#key) throw new StoreError("refused", "the database is another partition's");
    const tail = this.#sql.all<{ id: number; length: number; start: Uint8Array }>(
      this.#statements.readTail,
      OPERATIONS,
      SEGMENTS - 1,
    );
    const rows = [
      ...headRow(operations),
      ...tail.map(({ id, length, start }) => ({ id, first: id, count: countOfRow(start), length })),
    ];
    const last = rows.at(-1);
    const nextOperation = Math.max(about.nextOperation, last === undefined ? 1 : last.first + last.count);
    return { about: { ...about, nextOperation }, tail: rows, layout: nextLayout() };
  }

  /**
   * Changes rows in one transaction, the table made if there is none; what is in memory changes after it. The work writes what is
   * known of a partition that is made.
   */
  #change(work: (loaded: Loaded) => Loaded): void {
    this.#loaded = this.#sql.transaction(() => work(this.#loaded ?? this.#create()));
  }

  #create(): Loaded {
    const { application } = this;
    const about = { format: FORMAT, key: this.#key, application, nextOperation: 1, nextSegment: 1 };
    this.#sql.run(this.#statements.make);
    return { about, tail: [], layout: nextLayout() };
  }

  /** Writes what is known of the partition; operations of the tail that stand beside it stay there. */
  #writeAbout(about: About, tail: readonly TailRow[]): void {
    const [stored] = tail[0]?.id === ABOUT ? this.#rows(ABOUT, ABOUT) : [];
    const operations = stored === undefined ? [] : readHead(stored.bytes).operations;
    const things = [encodeAbout({ ...about, format: FORMAT }), ...operations];
    for (const row of packRows(ABOUT, things, Number.POSITIVE_INFINITY))
      this.#sql.run(this.#statements.write, row.first, row.bytes);
  }

  /** Removes the operations up to a number. What is left of the tail. */
  #fold(tail: readonly TailRow[], folded: number): TailRow[] {
    const gone = tail.filter(({ first }) => first <= folded);
    const split = gone.find(({ first, count }) => first + count - 1 > folded);
    const rest = split === undefined ? [] : this.#operations(folded, split.id, split.id);
    const last = gone.at(-1);
    // What stands beside what is known goes when that is written.
    if (last !== undefined && last.id !== ABOUT) this.#sql.run(this.#statements.remove, OPERATIONS, last.id);
    const bytes = rest.map((operation) => operation.bytes);
    const rows = packRows(folded + 1, bytes, ROW_BYTES);
    for (const row of rows) this.#sql.run(this.#statements.write, row.first, row.bytes);
    return [...rows.flatMap(tailRow), ...tail.filter(({ first }) => first > folded)];
  }

  /** The operations after a number, in rows from `from` to `to`. */
  #operations(after: number, from: number = ABOUT, to: number = SEGMENTS - 1): StoredManifest["operations"] {
    const tail = this.#loaded?.tail ?? [];
    const first = tail.find((row) => row.id >= from && row.first + row.count - 1 > after)?.id;
    if (first === undefined) return [];
    const operations = this.#rows(first, to).flatMap(({ id, bytes }) =>
      unpackRow(bytes).map((operation, index) => ({ number: id + index, bytes: operation })),
    );
    return operations.filter(({ number }) => number > after);
  }

  #segments(): StoredSegment[] {
    const rows = this.#rows(SEGMENTS, BLOCKS - 1);
    const changed = new Map(rows.filter(({ id }) => id % 2 === 1).map(({ id, bytes }) => [id, bytes]));
    return headersIn(rows).map(({ number, header, more, liveness: atFirst }) => {
      const liveness = changed.get(livenessId(number)) ?? atFirst;
      if (liveness === undefined) throw new StoreError("damaged", `the liveness of segment ${number} is missing`);
      return { number, header: more === 0 ? header : this.#whole(number, header, more), liveness };
    });
  }

  /** A header with what of it stands behind the blocks of its segment. */
  #whole(segment: number, begin: Uint8Array, more: number): Uint8Array {
    const end = blockId(segment + 1, 0);
    const rows = this.#rows(end - more, end - 1);
    if (rows.length !== more) throw missing(end - more);
    return concatenate([begin, ...rows.flatMap(({ bytes }) => unpackRow(bytes))]);
  }

  #headers(): readonly HeaderRow[] {
    return headersIn(this.#rows(SEGMENTS, BLOCKS - 1));
  }

  #addSegment({ number, schema, header, liveness, blocks }: StoredChange["newSegments"][number]): void {
    if (blocks.length > BLOCKS_PER_SEGMENT) throw new RangeError(`a segment of ${blocks.length} blocks`);
    // The liveness has a row of its own once it changes: until then that would be a row more to write, and one to remove.
    const things = [new TextEncoder().encode(schema), header.subarray(0, HEADER_BYTES), liveness];
    const more: Uint8Array[] = [];
    for (let at = HEADER_BYTES; at < header.length; at += HEADER_BYTES)
      more.push(header.subarray(at, at + HEADER_BYTES));
    if (more.length > 0) things.push(Uint8Array.of(more.length));
    const rows = packRows(headerId(number), things, Number.POSITIVE_INFINITY);
    rows.push(...packRows(blockId(number + 1, 0) - more.length, more, 0));
    for (const row of rows) this.#sql.run(this.#statements.write, row.first, row.bytes);
    for (const row of packRows(blockId(number, 0), blocks, ROW_BYTES))
      this.#sql.run(this.#statements.write, row.first, row.bytes);
  }

  #removeSegment(segment: number): void {
    this.#sql.run(this.#statements.remove, headerId(segment), livenessId(segment));
    this.#sql.run(this.#statements.remove, blockId(segment, 0), blockId(segment + 1, 0) - 1);
  }

  /** The row in which a block is. */
  #rowOfBlock(id: number): { readonly first: number; readonly things: readonly Uint8Array[] } {
    const [row] = this.#sql.all<Row>(this.#statements.readBefore, id);
    if (row === undefined || row.id < BLOCKS) throw missing(id);
    return { first: row.id, things: unpackRow(row.bytes) };
  }

  #rows(from: number, to: number): Row[] {
    return this.#sql.all<Row>(this.#statements.read, from, to);
  }

  #demandKey(key: string): void {
    if (key !== this.#key) throw new Error("a partition was sent to the database of another");
  }
}

/** A segment as its row tells it. */
interface HeaderRow {
  readonly number: number;
  readonly schema: string;
  readonly header: Uint8Array;
  /** How many rows have the rest of it. */
  readonly more: number;
  /** As it was when the segment was written. */
  readonly liveness: Uint8Array | undefined;
}

/** The segments in the rows of segments. */
function headersIn(rows: readonly Row[]): readonly HeaderRow[] {
  return rows
    .filter(({ id }) => id % 2 === 0)
    .map(({ id, bytes }) => {
      const [schema, header, liveness, more] = unpackRow(bytes);
      if (schema === undefined || header === undefined) throw new StoreError("damaged", "a segment without its header");
      const number = (id - SEGMENTS) / 2;
      return { number, schema: new TextDecoder().decode(schema), header, more: more?.[0] ?? 0, liveness };
    });
}

/** What a row that was written is of the tail: nothing where it has only what is known of the partition. */
function tailRow({ first: id, bytes }: Pick<PackedRow, "first" | "bytes">): TailRow[] {
  return id === ABOUT
    ? headRow(unpackRow(bytes).slice(1))
    : [{ id, first: id, count: countOfRow(bytes), length: bytes.length }];
}

/** What stands of the tail beside what is known of the partition. */
function headRow(operations: readonly Uint8Array[]): TailRow[] {
  const length = operations.reduce((sum, operation) => sum + operation.length, 0);
  return operations.length === 0 ? [] : [{ id: ABOUT, first: OPERATIONS, count: operations.length, length }];
}

function headerId(segment: number): number {
  return SEGMENTS + 2 * segment;
}

function livenessId(segment: number): number {
  return SEGMENTS + 2 * segment + 1;
}

function blockId(segment: number, block: number): number {
  return BLOCKS + segment * BLOCKS_PER_SEGMENT + block;
}

function missing(id: number): StoreError {
  const place = id - BLOCKS;
  const block = `block ${place % BLOCKS_PER_SEGMENT} of segment ${Math.floor(place / BLOCKS_PER_SEGMENT)}`;
  return new StoreError("damaged", `${block} is missing`);
}
