/**
 * The salvage of a bucket whose pages are damaged: the rows that its pages still have, put into a new bucket as they are, with the heads that
 * tell what there has to be. Nothing is mended here, and nothing said to be whole: what a check of the new bucket misses is what is lost.
 * Where rows cannot all be right, those are taken with which a partition is what its head tells.
 */
import { equalMarks, type Head, Heads, markOfSegments, type PartitionRow } from "../heads.ts";
import { followAll, NOTHING } from "../mark.ts";
import { createNotes, NOTES } from "../notes.ts";
import type { SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import {
  APPLICATION_ID,
  BLOCKS_PER_SEGMENT,
  type BucketIdentity,
  FORMAT_VERSION,
  hasHeads,
  refuseVersion,
} from "../tables.ts";
import { type Damage, HEADER, type IsSealed, LIVENESS } from "./bucket-check.ts";
import type { Cell, PageFile } from "./page-file.ts";

/** What is salvaged, and how it is known what it is. */
export interface SalvageOptions extends BucketIdentity {
  readonly isSealed: IsSealed;
  /** The number of the deployed application, which that of no partition exceeds; nothing: it cannot be said. */
  readonly application: number | undefined;
}

/** A partition of which at least a name was found. */
interface SalvagedPartition {
  readonly row: PartitionRow;
  readonly note: string | undefined;
  /** Nothing: it is lost, or is not of this row. */
  readonly head: Head | undefined;
  readonly operations: readonly Cell[];
  readonly segments: readonly Cell[];
}

type Segment = readonly [schema: string, documents: number, header: Uint8Array, liveness: Uint8Array];

const SQLITE_MAGIC = "SQLite format 3\0";
const VERSION_AT = 60;
/** How the names of partitions begin; those of what stands in `about` do not. */
const KEY = /^[gnd]:/;
const LEFT_KEY = "key:";
const ERASED = 0;
const OF_BUCKET = 0;
/** What stands in a record for bytes of the lengths that heads have: of the bucket, of a partition, of one with a note. */
const HEAD_TYPES = [20, 40, 48].map((length) => 12 + 2 * length);
/** Numbers of segments and of operations are believed up to these. */
const [SEGMENT_MAX, OPERATION_MAX] = [2 ** 31, 2 ** 48] as const;
/** Applications that a partition may have been written with, where its row is gone and its name is not. */
const APPLICATIONS_MAX = 1_000;
/** Partitions that are written in one transaction. */
const PARTITIONS = 64;
const WRITE_HEAD = "INSERT OR REPLACE INTO head (partition, bytes) VALUES (?, ?)";

/** What the pages of a bucket have, by what it is of. Of one thing there may be several that cannot all be right. */
class FoundRows {
  readonly about: Map<string, number[]> = new Map();
  readonly partitions: Map<number, PartitionRow[]> = new Map();
  readonly names: Map<number, string[]> = new Map();
  readonly heads: Map<number, Uint8Array[]> = new Map();
  readonly notes: Map<number, string[]> = new Map();
  readonly tables: Set<string> = new Set();
  readonly operations: Map<number, Cell[]> = new Map();
  readonly segments: Map<number, Cell[]> = new Map();
  readonly blocks: Map<number, Cell[]> = new Map();
  readonly last = { operation: 0, segment: 0 };

  constructor(pages: PageFile) {
    for (let page = 1; page <= pages.pages; page += 1)
      for (const cell of pages.cells(page)) this.#add(pages, cell, page === 1);
  }

  #add(pages: PageFile, cell: Cell, isFirst: boolean): void {
    const { id = -1, shape } = cell;
    if (isFirst || shape === "ti" || shape === "nti" || shape === "nt") this.#addText(pages, cell, isFirst);
    else if (shape === "nib" || shape === "nitibb") {
      const partition = Number(pages.values(cell, 2)?.[1]);
      add(shape === "nib" ? this.operations : this.segments, partition, cell);
      if (shape === "nib") this.#used("operation", id, OPERATION_MAX);
      else this.#used("segment", id, SEGMENT_MAX);
    } else if (shape === "nb" && id >= 0) {
      const segment = Math.floor(id / BLOCKS_PER_SEGMENT);
      this.#used("segment", segment, SEGMENT_MAX);
      if (segment > 0) add(this.blocks, segment, cell);
      const [, bytes] = HEAD_TYPES.includes(cell.types[1] ?? 0) ? (pages.values(cell) ?? []) : [];
      if (bytes instanceof Uint8Array) add(this.heads, id, bytes);
    }
  }

  #used(of: "operation" | "segment", number: number, most: number): void {
    if (number < most) this.last[of] = Math.max(this.last[of], number);
  }

  #addText(pages: PageFile, cell: Cell, isFirst: boolean): void {
    const [first, second, third] = pages.values(cell) ?? [];
    const { id = -1 } = cell;
    if (isFirst) this.tables.add(String(second));
    else if (cell.shape === "nt") add(this.notes, id, String(second));
    else if (cell.shape === "nti")
      add(this.partitions, id, { number: id, key: String(second), application: Number(third) });
    else if (KEY.test(String(first))) add(this.names, Number(second), String(first));
    else add(this.about, String(first), Number(second));
  }
}

/**
 * Fills a new bucket with what the pages of another have. What of it no check of the new one can tell. Throws a `StoreError` if they are not of
 * this bucket, or of a later release.
 */
export function salvageBucket(sql: SqlConnection, pages: PageFile, options: SalvageOptions): readonly Damage[] {
  return new Salvage(sql, pages, options).fill();
}

class Salvage {
  readonly #sql: SqlConnection;
  readonly #pages: PageFile;
  readonly #options: SalvageOptions;
  readonly #found: FoundRows;
  /** What heads are read with, one after the other. */
  readonly #notes = new Map<string, string>();
  readonly #heads: Heads;
  readonly #version: number | undefined;
  /** What a partition may have been written with last, the likeliest first. */
  readonly #applications: readonly number[];

  constructor(sql: SqlConnection, pages: PageFile, options: SalvageOptions) {
    [this.#sql, this.#pages, this.#options] = [sql, pages, options];
    this.#found = new FoundRows(pages);
    this.#heads = new Heads(sql, options, this.#notes);
    const known = [...this.#found.partitions.values()].flat().map(({ application }) => application);
    const { application: last = APPLICATIONS_MAX } = options;
    const others = Array.from({ length: Math.min(last, APPLICATIONS_MAX) + 1 }, (_, at) => at);
    this.#applications = [...new Set([...known, ...others])];
    const { header } = pages;
    const isHeader = header.subarray(0, SQLITE_MAGIC.length).toString("latin1") === SQLITE_MAGIC;
    this.#version =
      this.#found.about.get("format_version")?.[0] ?? (isHeader ? header.readUInt32BE(VERSION_AT) : undefined);
  }

  fill(): readonly Damage[] {
    const { heads, partitions, names, operations, segments } = this.#found;
    this.#sql.run("DELETE FROM head");
    const hasBucketHead = this.#writeBucketHead();
    // A block may be as long as a head.
    const stored = new Set([...segments.values()].flat().map(({ id }) => id));
    const ofHeads = [...heads.keys()].filter(
      (id) => id !== OF_BUCKET && !stored.has(Math.floor(id / BLOCKS_PER_SEGMENT)),
    );
    const numbers = new Set([...partitions.keys(), ...names.keys(), ...ofHeads]);
    const known = this.#sql.transaction(() => [...numbers].flatMap((number) => this.#identified(number) ?? []));
    this.#demandOurs(hasBucketHead || known.some(({ head }) => head !== undefined));
    if (known.some(({ note }) => note !== undefined)) createNotes(this.#sql);
    this.#writeNumbers();
    const whole = new Set(known.filter((one) => this.#isWhole(one)));
    const ordered = [...whole, ...known.filter((it) => !whole.has(it))];
    for (let from = 0; from < ordered.length; from += PARTITIONS)
      this.#sql.transaction(() => {
        for (const one of ordered.slice(from, from + PARTITIONS)) this.#write(one);
      });
    // They are told as what belongs to no partition.
    this.#sql.transaction(() => {
      for (const [partition, cells] of operations) for (const cell of cells) this.#writeOperation(partition, cell);
      segments.delete(ERASED);
      for (const [partition, cells] of segments) for (const cell of cells) this.#writeSegment(partition, cell);
    });
    // Without heads all partitions are told.
    const isUntold = this.#version !== undefined && hasHeads(this.#version) && this.#version < FORMAT_VERSION;
    const what = `it was of format version ${this.#version}, which did not tell what is noted: a note may be lost that is not named`;
    return isUntold ? [{ what }] : [];
  }

  #writeBucketHead(): boolean {
    for (const bytes of this.#found.heads.get(OF_BUCKET) ?? []) {
      this.#sql.run(WRITE_HEAD, OF_BUCKET, bytes);
      if (told(() => this.#heads.bucket()) !== undefined) return true;
    }
    return false;
  }

  /** What partition has a number: that of which the head is, or at least something that is sealed. Nothing: its name is gone. */
  #identified(number: number): SalvagedPartition | undefined {
    const rows = this.#rowsOf(number);
    const notes = this.#found.notes.get(number) ?? [];
    for (const bytes of this.#found.heads.get(number) ?? []) {
      this.#sql.run(WRITE_HEAD, number, bytes);
      for (const row of rows) {
        for (const note of [...notes, undefined]) {
          const head = this.#headOf(row, note);
          if (head !== undefined) return this.#withCells(row, head, note ?? this.#sealNote(row, head, notes[0]));
        }
      }
    }
    const row = rows.find((one) => this.#hasSealed(one)) ?? rows[0];
    return row && this.#withCells(row, undefined, notes[0]);
  }

  /** The rows that a partition may have had, of which its index has the name, too. */
  #rowsOf(number: number): PartitionRow[] {
    const { partitions, names } = this.#found;
    const own = partitions.get(number) ?? [];
    const keys = (names.get(number) ?? []).filter((key) => own.length !== 1 || own[0]?.key !== key);
    return [...own, ...keys.flatMap((key) => this.#applications.map((application) => ({ number, key, application })))];
  }

  #headOf(row: PartitionRow, note: string | undefined): Head | undefined {
    this.#notes.clear();
    if (note !== undefined) this.#notes.set(row.key, note);
    return told(() => this.#heads.read(row));
  }

  /** Before version 7 heads did not tell what is noted; from here on they do. */
  #sealNote(row: PartitionRow, head: Head, note: string | undefined): string | undefined {
    if (note === undefined || this.#version === undefined || this.#version >= FORMAT_VERSION) return undefined;
    this.#heads.write(row, row, head, note);
    return note;
  }

  #hasSealed({ number, key }: PartitionRow): boolean {
    const { operations, segments } = this.#found;
    const some = (cells: readonly Cell[] | undefined, isOne: (cell: Cell) => boolean): boolean =>
      cells?.slice(0, 3).some(isOne) === true;
    return (
      some(operations.get(number), (cell) => this.#isOperation(key, cell)) ||
      some(segments.get(number), (cell) => this.#isSegment(key, cell))
    );
  }

  #withCells(row: PartitionRow, head: Head | undefined, note: string | undefined): SalvagedPartition {
    const { operations, segments } = this.#found;
    const { number, key } = row;
    const chosen = (cells: Map<number, Cell[]>, count: number | undefined, isOne: (cell: Cell) => boolean): Cell[] =>
      chosenOf(cells.get(number) ?? [], (one) => one.length === (count ?? one.length), isOne);
    return {
      row,
      note,
      head,
      operations: chosen(operations, head?.operations, (cell) => this.#isOperation(key, cell)),
      segments: chosen(segments, head?.segments, (cell) => this.#isSegment(key, cell)),
    };
  }

  #isOperation(key: string, cell: Cell): boolean {
    const bytes = this.#pages.values(cell)?.[2];
    return bytes instanceof Uint8Array && this.#options.isSealed(key, HEADER, HEADER, bytes);
  }

  #isSegment(key: string, cell: Cell): boolean {
    const [, , header, liveness] = this.#segment(cell) ?? [];
    const { isSealed } = this.#options;
    const { id = 0 } = cell;
    if (header === undefined || liveness === undefined) return false;
    return isSealed(key, id, HEADER, header) && isSealed(key, id, LIVENESS, liveness);
  }

  #segment(cell: Cell): Segment | undefined {
    return this.#pages.values(cell)?.slice(2) as unknown as Segment | undefined;
  }

  /** Throws unless the pages are of this bucket, and of a release whose buckets are read. */
  #demandOurs(isSealed: boolean): void {
    const { about, heads, tables } = this.#found;
    if (this.#version !== undefined) refuseVersion(APPLICATION_ID, this.#version);
    const ours = new Set(this.#sql.all<{ name: string }>("SELECT name FROM sqlite_schema").map(({ name }) => name));
    const strange = [...tables].filter((name) => !ours.has(name) && name !== NOTES[0]);
    if (strange.length > 0 && [...ours].every((name) => tables.has(name)))
      throw new StoreError("refused", `tampered: ${JSON.stringify(strange[0])} is not as we made it`);
    const { bucket, buckets } = this.#options;
    const isNamed = about.get("bucket")?.includes(bucket) && about.get("buckets")?.includes(buckets);
    // Without any head nothing else can tell; with heads of another secret it is another directory's. A block may be as long as a head.
    const hasOthers = heads.size > 0 && hasHeads(this.#version ?? FORMAT_VERSION);
    if (!isSealed && (hasOthers || !isNamed))
      throw new StoreError("refused", "nothing in its pages shows that it is this bucket of this directory");
  }

  /** Which numbers come next, of which none that was used is used again; and which keys are to be destroyed. */
  #writeNumbers(): void {
    const { about, last } = this.#found;
    const set = "INSERT OR REPLACE INTO about (name, value) VALUES (?, ?)";
    const next = {
      next_operation: [last.operation + 1, OPERATION_MAX],
      next_segment: [last.segment + 1, SEGMENT_MAX],
      next_partition: [0, OPERATION_MAX],
    } as const;
    this.#sql.transaction(() => {
      for (const [name, [least, most]] of Object.entries(next)) {
        const told = (about.get(name) ?? []).filter((value) => value < most);
        if (told.length > 0 || least > 0) this.#sql.run(set, name, Math.max(least, ...told));
      }
      for (const name of about.keys()) if (name.startsWith(LEFT_KEY)) this.#sql.run(set, name, 1);
    });
  }

  /** Whether the rows of a partition are those that its head tells. */
  #isWhole({ head, operations, segments }: SalvagedPartition): boolean {
    if (head === undefined) return false;
    const tail = operations.reduce((mark, cell) => {
      const bytes = this.#pages.values(cell)?.[2];
      return bytes instanceof Uint8Array ? followAll(mark, cell.id ?? 0, bytes) : mark;
    }, NOTHING);
    const found = segments.flatMap((cell) => {
      const [schema, documents, header, liveness] = this.#segment(cell) ?? [];
      const isOne = schema !== undefined && documents !== undefined && header !== undefined && liveness !== undefined;
      return isOne ? [{ number: cell.id ?? 0, schema, documents, header, liveness }] : [];
    });
    return equalMarks(tail, head.tail) && equalMarks(markOfSegments(found), head.segmentMark);
  }

  #write({ row, note, operations, segments }: SalvagedPartition): void {
    const { number, key, application } = row;
    const insert = "INSERT OR IGNORE INTO partition (number, key, application) VALUES (?, ?, ?)";
    this.#sql.run(insert, number, key, application);
    if (note !== undefined) this.#sql.run("INSERT INTO note (partition, text) VALUES (?, ?)", number, note);
    for (const cell of operations) this.#writeOperation(number, cell);
    for (const cell of segments) if (this.#writeSegment(number, cell)) this.#writeBlocks(key, cell.id ?? 0);
    // What was not chosen is nobody's.
    this.#found.operations.delete(number);
    this.#found.segments.delete(number);
  }

  #writeOperation(partition: number, cell: Cell): void {
    const bytes = this.#pages.values(cell)?.[2];
    if (!(bytes instanceof Uint8Array)) return;
    const insert = "INSERT OR IGNORE INTO operation (number, partition, bytes) VALUES (?, ?, ?)";
    this.#sql.run(insert, cell.id ?? 0, partition, bytes);
  }

  #writeSegment(partition: number, cell: Cell): boolean {
    const segment = this.#segment(cell);
    if (segment === undefined) return false;
    const insert =
      "INSERT OR IGNORE INTO segment (number, partition, schema, documents, header, liveness) VALUES (?, ?, ?, ?, ?, ?)";
    this.#sql.run(insert, cell.id ?? 0, partition, ...segment);
    return true;
  }

  #writeBlocks(key: string, segment: number): void {
    const first = segment * BLOCKS_PER_SEGMENT;
    const bytesOf = (cell: Cell): Uint8Array | undefined => {
      const bytes = this.#pages.values(cell)?.[1];
      return bytes instanceof Uint8Array ? bytes : undefined;
    };
    const isOne = (cell: Cell): boolean => {
      const bytes = bytesOf(cell);
      return bytes !== undefined && this.#options.isSealed(key, segment, (cell.id ?? 0) - first, bytes);
    };
    const isRow = (cells: readonly Cell[]): boolean => cells.every(({ id }, at) => id === first + at);
    for (const cell of chosenOf(this.#found.blocks.get(segment) ?? [], isRow, isOne)) {
      const bytes = bytesOf(cell);
      if (bytes !== undefined)
        this.#sql.run("INSERT OR IGNORE INTO block (id, bytes) VALUES (?, ?)", cell.id ?? 0, bytes);
    }
  }
}

/** Cells in the order of their numbers: all of them, or where they cannot all be right those that are sealed, one of each number. */
function chosenOf(
  cells: readonly Cell[],
  isRight: (cells: readonly Cell[]) => boolean,
  isSealed: (cell: Cell) => boolean,
): Cell[] {
  const sorted = [...cells].sort((one, other) => (one.id ?? 0) - (other.id ?? 0));
  const isTwice = sorted.some(({ id }, at) => id === sorted[at - 1]?.id);
  if (!isTwice && isRight(sorted)) return sorted;
  const sealed = sorted.filter(isSealed);
  return sealed.filter(({ id }, at) => id !== sealed[at - 1]?.id);
}

/** What is read; nothing where it is not what was written. */
function told<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

function add<Key, Value>(to: Map<Key, Value[]>, at: Key, value: Value): void {
  const known = to.get(at);
  if (known === undefined) to.set(at, [value]);
  else known.push(value);
}
