/**
 * The records of an SQLite file as its pages have them, one page after the other and whatever leads to it: where the tree of a table is
 * broken, SQLite reads nothing that is below the break. A log beside the file is read with it. Nothing is believed: what is no record, or
 * leads out of the file, is none; what a record is worth is decided elsewhere. Nothing is written unless the log is to be moved.
 *
 * The form of a file is SQLite's own and fixed: https://www.sqlite.org/fileformat.html, sections 1.6, 2.1, 4.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import type { SqlValue } from "../sql.ts";
import { PAGE_BYTES } from "../tables.ts";
import { localBytes, varint } from "./block-file.ts";
import { isThere } from "./durable-files.ts";

/** A record in its page, of which only the shape was looked at. */
export interface Cell {
  /** The number of its row; of an index, and of a table without such numbers, there is none. */
  readonly id: number | undefined;
  /** A letter for each of its values: n(othing), i(nteger), t(ext), b(ytes), r(eal). */
  readonly shape: string;
  readonly types: readonly number[];
  readonly page: number;
  /** Where its bytes begin in the page, and how many of them are there. */
  readonly at: number;
  readonly local: number;
  readonly headerBytes: number;
}

const FIRST_HEADER_BYTES = 100;
const INDEX_INNER = 2;
const INDEX_LEAF = 10;
const LINK_BYTES = 4;
/** 16 MiB of a bucket. */
const KNOWN_PAGES = 1_024;
const TYPES_MAX = 8;
const NUMBER_BYTES = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];
const NUMBER_SHAPES = "niiiiiirii";
const ZERO = 8;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Of a log whose checksums are of numbers with the most significant byte last; first, with one more. */
const LOG_MAGIC = 0x377f0682;

/** An SQLite file, with its log. */
export class PageFile {
  /** How many pages there are, as the log or the length says: the header may be gone. */
  readonly pages: number;
  readonly #path: string;
  readonly #pageBytes: number;
  readonly #file: number;
  readonly #log: number | undefined;
  /** Where in the log a page is that was committed to it. */
  readonly #logged: ReadonlyMap<number, number>;
  /** Pages that were read: those of one partition are beside each other in none. */
  readonly #known = new Map<number, Buffer>();

  /** `pageBytes`: the size of its pages, which its header may tell no more. */
  constructor(path: string, pageBytes: number = PAGE_BYTES) {
    [this.#path, this.#pageBytes] = [path, pageBytes];
    this.#file = openSync(path, constants.O_RDONLY);
    this.#log = isThere(`${path}-wal`) ? openSync(`${path}-wal`, constants.O_RDONLY) : undefined;
    const { logged, pages } = this.#log === undefined ? NO_LOG : logOf(this.#log, pageBytes);
    this.#logged = logged;
    this.pages = pages ?? Math.ceil(fstatSync(this.#file).size / this.#pageBytes);
  }

  /** The first bytes, as far as they are there. */
  get header(): Buffer {
    return this.#page(1).subarray(0, FIRST_HEADER_BYTES);
  }

  /** What is a record in a page. */
  *cells(page: number): Generator<Cell> {
    const bytes = this.#page(page);
    const start = page === 1 ? FIRST_HEADER_BYTES : 0;
    const type = bytes.readUInt8(start);
    // Pages that go on with a record, and free ones, begin so.
    if (type === 0) return;
    const isInner = type === INDEX_INNER;
    const pointers = start + (isInner ? 12 : 8);
    const count = Math.min(bytes.readUInt16BE(start + 3), Math.floor((this.#pageBytes - pointers) / 2));
    for (let index = 0; index < count; index += 1) {
      const at = bytes.readUInt16BE(pointers + 2 * index) + (isInner ? LINK_BYTES : 0);
      // A page of a table whose kind is damaged is one as well: what is none has no such records.
      const cell = cellAt(bytes, page, at, type === INDEX_LEAF || isInner);
      if (cell !== undefined) yield cell;
    }
  }

  /** The first values of a record, all unless it is said how many; nothing: it does not lie within the file. */
  values(cell: Cell, count: number = cell.types.length): SqlValue[] | undefined {
    const types = cell.types.slice(0, count);
    const wanted = cell.headerBytes + types.reduce((sum, type) => sum + bytesOf(type), 0);
    // A chain of pages may lead to itself.
    const bytes = wanted > this.pages * this.#pageBytes ? undefined : this.#record(cell, wanted);
    if (bytes === undefined) return undefined;
    let at = cell.headerBytes;
    return types.map((type) => {
      const from = at;
      at += bytesOf(type);
      return valueIn(bytes.subarray(from, at), type);
    });
  }

  /** Moves the log to the file, of which nothing is left then: as SQLite would, but without a look at what the pages are. */
  moveLog(): void {
    if (this.#log === undefined) return;
    const file = openSync(this.#path, constants.O_RDWR);
    try {
      for (const page of this.#logged.keys())
        writeSync(file, this.#page(page), 0, this.#pageBytes, (page - 1) * this.#pageBytes);
      if (this.#logged.size > 0) ftruncateSync(file, this.pages * this.#pageBytes);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    for (const ending of ["-wal", "-shm"]) rmSync(`${this.#path}${ending}`, { force: true });
  }

  close(): void {
    closeSync(this.#file);
    if (this.#log !== undefined) closeSync(this.#log);
  }

  /** A page; what the file ends before, or the device cannot read, is zero. */
  #page(page: number): Buffer {
    const known = this.#known.get(page);
    if (known !== undefined) return known;
    const bytes = Buffer.alloc(this.#pageBytes);
    const logged = this.#logged.get(page);
    try {
      if (logged === undefined || this.#log === undefined)
        readSync(this.#file, bytes, 0, this.#pageBytes, (page - 1) * this.#pageBytes);
      else readSync(this.#log, bytes, 0, this.#pageBytes, logged);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EIO") throw error;
    }
    if (this.#known.size >= KNOWN_PAGES) this.#known.clear();
    this.#known.set(page, bytes);
    return bytes;
  }

  /** The first bytes of a record, which goes on in other pages. */
  #record({ page, at, local }: Cell, wanted: number): Buffer | undefined {
    const bytes = this.#page(page);
    if (wanted <= local) return bytes.subarray(at, at + wanted);
    const pieces = [bytes.subarray(at, at + local)];
    let next = bytes.readUInt32BE(at + local);
    for (let left = wanted - local; left > 0; left -= this.#pageBytes - LINK_BYTES) {
      if (next < 2 || next > this.pages) return undefined;
      const more = this.#page(next);
      pieces.push(more.subarray(LINK_BYTES, LINK_BYTES + Math.min(left, this.#pageBytes - LINK_BYTES)));
      next = more.readUInt32BE(0);
    }
    return Buffer.concat(pieces);
  }
}

function cellAt(bytes: Buffer, page: number, from: number, isIndex: boolean): Cell | undefined {
  try {
    const record = varint(bytes, from);
    const row = isIndex ? undefined : varint(bytes, record.end);
    const at = (row ?? record).end;
    const header = varint(bytes, at);
    const types: number[] = [];
    let end = header.end;
    while (end < at + header.value && types.length < TYPES_MAX) {
      const type = varint(bytes, end);
      types.push(type.value);
      end = type.end;
    }
    const total = types.reduce((sum, type) => sum + bytesOf(type), header.value);
    const local = localBytes(record.value, bytes.length, isIndex);
    const isWithin = at + local + (local < record.value ? LINK_BYTES : 0) <= bytes.length;
    if (end !== at + header.value || total !== record.value || !isWithin) return undefined;
    const shape = types.map(shapeOf).join("");
    return { id: row?.value, shape, types, page, at, local, headerBytes: header.value };
  } catch (error) {
    // What it says leads out of its page.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function shapeOf(type: number): string {
  return NUMBER_SHAPES[type] ?? (type % 2 === 0 ? "b" : "t");
}

function bytesOf(type: number): number {
  return NUMBER_BYTES[type] ?? Math.floor((type - 12) / 2);
}

function valueIn(bytes: Buffer, type: number): SqlValue {
  if (type === 0) return null;
  if (type >= NUMBER_BYTES.length) return type % 2 === 0 ? new Uint8Array(bytes) : bytes.toString();
  if (bytes.length === 0) return type - ZERO;
  return bytes.length === 8 ? Number(bytes.readBigInt64BE()) : bytes.readIntBE(0, bytes.length);
}

const NO_LOG: { readonly logged: ReadonlyMap<number, number>; readonly pages: number | undefined } = {
  logged: new Map(),
  pages: undefined,
};

/** What of a log was committed, and is as it was written. */
function logOf(log: number, pageBytes: number): typeof NO_LOG {
  const header = Buffer.alloc(LOG_HEADER_BYTES);
  readSync(log, header, 0, LOG_HEADER_BYTES, 0);
  const isBig = header.readUInt32BE(0) === LOG_MAGIC + 1;
  let sums = summed(header.subarray(0, 24), [0, 0], isBig);
  const isOne = (header.readUInt32BE(0) & ~1) >>> 0 === LOG_MAGIC && header.readUInt32BE(8) === pageBytes;
  if (!isOne || !isSummed(header, 24, sums)) return NO_LOG;
  const frame = Buffer.alloc(FRAME_HEADER_BYTES + pageBytes);
  const logged = new Map<number, number>();
  let pages: number | undefined;
  const uncommitted = new Map<number, number>();
  for (let at = LOG_HEADER_BYTES; readSync(log, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    sums = summed(frame.subarray(0, 8), sums, isBig);
    sums = summed(frame.subarray(FRAME_HEADER_BYTES), sums, isBig);
    if (!frame.subarray(8, 16).equals(header.subarray(16, 24)) || !isSummed(frame, 16, sums)) break;
    uncommitted.set(frame.readUInt32BE(0), at + FRAME_HEADER_BYTES);
    if (frame.readUInt32BE(4) === 0) continue;
    pages = frame.readUInt32BE(4);
    for (const [page, where] of uncommitted) logged.set(page, where);
    uncommitted.clear();
  }
  for (const page of logged.keys()) if (page > (pages ?? 0)) logged.delete(page);
  return { logged, pages };
}

type Sums = readonly [first: number, second: number];

function summed(bytes: Buffer, [first, second]: Sums, isBig: boolean): Sums {
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + second + (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at))) >>> 0;
    second = (second + first + (isBig ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4))) >>> 0;
  }
  return [first, second];
}

function isSummed(bytes: Buffer, at: number, [first, second]: Sums): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second;
}
