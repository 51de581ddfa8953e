/**
 * The blobs of one table, read from the file of its database into memory that is there already. SQLite brings a blob to
 * JavaScript in three copies and a buffer that is garbage afterwards; of a scan from the page cache that was more than half.
 *
 * With a log beside it, a database file is written by checkpoints alone. After one that moved the whole log, and until the
 * next begins, the file by itself is the database as it was then: whatever is committed meanwhile stands in the log. So
 * everything found in it was there, and what is stored under a number never changes; a number that was deleted since is not
 * asked for. Whoever asks for a number that is not here asks SQLite. Nothing is written here, and nothing locked: what the
 * bytes are worth their checksum says (`crates/segment/src/block.rs`).
 *
 * The form of the file is SQLite's own and fixed: https://www.sqlite.org/fileformat.html, sections 1.3 to 1.6, 2.1.
 */
import { closeSync, openSync, readSync, readvSync } from "node:fs";
import type { SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";

const HEADER_BYTES = 100;
const INTERIOR = 5;
const LEAF = 13;
/** Bytes of the number of the next page, at the beginning of a page that overflows. */
const LINK_BYTES = 4;
/** Pages read in one call at most: the system takes 1,024 places, two for each. */
const RUN_PAGES = 256;
/** Deeper than any tree that a file can have. */
const DEPTH_MAX = 20;
/** Inner pages of the tree that are remembered: 8 MiB at 16 KiB each, which is a tree of some ten GiB. */
const INTERIOR_PAGES = 512;
/** Blobs whose places are remembered. */
const PLACES = 16_384;
/** No page has this number. */
const NO_PAGE = 0;
/** A blob is preceded by the size of this, the rowid's type, and its own, of up to five bytes. */
const RECORD_HEADER_MIN = 3;

/** Where a blob stands in the file. */
interface BlobPlace {
  readonly length: number;
  /** Where its first bytes are, and how many. */
  readonly at: number;
  readonly local: number;
  /** The first page with the others; 0: there are none. */
  readonly overflow: number;
}

/** The rows of `CREATE TABLE … (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)`, in the file as of its last checkpoint. */
export class BlockFile {
  readonly #file: number;
  readonly #pageBytes: number;
  /** Bytes of a page that hold something. */
  readonly #usable: number;
  readonly #root: number;
  readonly #interior = new Map<number, Buffer>();
  readonly #places = new Map<number, BlobPlace>();
  readonly #page: Buffer;
  /** The leaf that was looked into last: what stands beside each other is mostly read together. */
  readonly #leaf: Buffer;
  #leafPage = NO_PAGE;
  readonly #links = Buffer.alloc(RUN_PAGES * LINK_BYTES);
  readonly #linkViews: readonly Uint8Array[];
  #isWhole = false;

  /** Opens the file `path`, whose table has its root at page `root`. */
  constructor(path: string, root: number) {
    this.#file = openSync(path, "r");
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(this.#file, header, 0, HEADER_BYTES, 0);
    const pageBytes = header.readUInt16BE(16);
    this.#pageBytes = pageBytes === 1 ? 65_536 : pageBytes;
    this.#usable = this.#pageBytes - header.readUInt8(20);
    this.#root = root;
    this.#page = Buffer.alloc(this.#pageBytes);
    this.#leaf = Buffer.alloc(this.#pageBytes);
    this.#linkViews = Array.from({ length: RUN_PAGES }, (_, index) =>
      this.#links.subarray(index * LINK_BYTES, (index + 1) * LINK_BYTES),
    );
  }

  /** The file was written, or will be. `isWhole`: it is the whole database now. Until that is said nothing is read from it. */
  changed(isWhole: boolean): void {
    this.#isWhole = isWhole;
    this.#interior.clear();
    this.#places.clear();
    this.#leafPage = NO_PAGE;
  }

  /** The length of the blob of `id`; nothing if it is not here, or cannot be read here. */
  lengthOf(id: number): number | undefined {
    return this.#isWhole ? this.#placeOf(id)?.length : undefined;
  }

  /** Fills `room`, which has its length, with the blob of `id`. Whether that was done. */
  read(id: number, room: Uint8Array): boolean {
    const place = this.#isWhole ? this.#placeOf(id) : undefined;
    if (place === undefined || place.length !== room.length) return false;
    try {
      if (place.overflow === 0 && this.#copyOfLeaf(place, room)) return true;
      if (readSync(this.#file, room, 0, place.local, place.at) !== place.local) return false;
      return place.overflow === 0 || this.#readOverflow(place, room);
    } catch {
      // SQLite fails at the same place, and its failure is the one that counts.
      return false;
    }
  }

  close(): void {
    this.#isWhole = false;
    closeSync(this.#file);
  }

  /** Reads the pages after the first, which mostly follow each other in the file: as many at a time as that was true for. */
  #readOverflow({ local, overflow }: BlobPlace, room: Uint8Array): boolean {
    const perPage = this.#usable - LINK_BYTES;
    let [page, at, guess] = [overflow, local, RUN_PAGES];
    while (at < room.length) {
      if (page === 0) return false;
      const left = Math.ceil((room.length - at) / perPage);
      const pages = this.#readPages(page, Math.min(left, guess, RUN_PAGES), at, room);
      if (pages === 0) return false;
      let read = 1;
      while (read < pages && this.#links.readUInt32BE((read - 1) * LINK_BYTES) === page + read) read += 1;
      page = this.#links.readUInt32BE((read - 1) * LINK_BYTES);
      at += read * perPage;
      guess = 2 * read;
    }
    return page === 0;
  }

  /** Reads pages that follow each other, their links apart from what they hold. How many: the file may end before. */
  #readPages(page: number, pages: number, at: number, room: Uint8Array): number {
    const { buffer, byteOffset, length } = room;
    const perPage = this.#usable - LINK_BYTES;
    const views: Uint8Array[] = [];
    let expected = 0;
    for (let index = 0, from = at; index < pages; index += 1, from += perPage) {
      const view = new Uint8Array(buffer, byteOffset + from, Math.min(perPage, length - from));
      views.push(this.#linkViews[index] as Uint8Array, view);
      expected += LINK_BYTES + view.length;
      // Bytes that SQLite leaves at the end of each page for others; we reserve none.
      if (this.#usable !== this.#pageBytes) throw new RangeError("pages with reserved bytes");
    }
    const read = readvSync(this.#file, views, (page - 1) * this.#pageBytes);
    return read === expected ? pages : Math.floor(read / this.#pageBytes);
  }

  /** Fills `room` from the leaf that was looked into last, if it stands there. */
  #copyOfLeaf({ at, local }: BlobPlace, room: Uint8Array): boolean {
    const from = at - (this.#leafPage - 1) * this.#pageBytes;
    if (this.#leafPage === NO_PAGE || from < 0 || from + local > this.#pageBytes) return false;
    room.set(this.#leaf.subarray(from, from + local));
    return true;
  }

  #placeOf(id: number): BlobPlace | undefined {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    try {
      const place = this.#lookUp(id);
      if (place === undefined) return undefined;
      if (this.#places.size >= PLACES) this.#places.clear();
      this.#places.set(id, place);
      return place;
    } catch {
      // What is not a tree here is SQLite's to complain of.
      return undefined;
    }
  }

  /** Goes down to the leaf that would have `id`, and looks there. */
  #lookUp(id: number): BlobPlace | undefined {
    let page = this.#root;
    for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
      const inner = this.#interior.get(page);
      if (inner === undefined && this.#readLeaf(page)) return this.#placeInLeaf(id);
      page = childOf(inner ?? this.#keepInterior(page), id);
    }
    return undefined;
  }

  /** Whether a page is a leaf, which is that of `#leaf` then; if not, it is in `#page`. */
  #readLeaf(page: number): boolean {
    if (page === this.#leafPage) return true;
    const bytes = this.#readPage(page);
    if (bytes.readUInt8(0) !== LEAF) return false;
    bytes.copy(this.#leaf);
    this.#leafPage = page;
    return true;
  }

  /** Keeps the inner page that is in `#page`. */
  #keepInterior(page: number): Buffer {
    if (this.#page.readUInt8(0) !== INTERIOR) throw new RangeError("not a page of a table");
    if (this.#interior.size >= INTERIOR_PAGES) this.#interior.clear();
    const inner = Buffer.from(this.#page);
    this.#interior.set(page, inner);
    return inner;
  }

  #readPage(page: number): Buffer {
    // The first page begins with the header of the file, and is the root of no table of ours.
    if (page < 2) throw new RangeError("not a page of a table");
    const read = readSync(this.#file, this.#page, 0, this.#pageBytes, (page - 1) * this.#pageBytes);
    if (read !== this.#pageBytes) throw new RangeError("the file ends before its pages");
    return this.#page;
  }

  /** Where a blob stands, of the leaf that is in `#leaf`. */
  #placeInLeaf(id: number): BlobPlace | undefined {
    const bytes = this.#leaf;
    let [low, high] = [0, bytes.readUInt16BE(3)];
    while (low < high) {
      const middle = (low + high) >> 1;
      const payload = varint(bytes, bytes.readUInt16BE(8 + 2 * middle));
      const own = varint(bytes, payload.end);
      if (own.value === id) {
        const place = this.#placeIn(bytes, own.end, payload.value);
        return place && { ...place, at: (this.#leafPage - 1) * this.#pageBytes + place.at };
      }
      if (own.value < id) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** Where a blob stands in a page that has its record of so many bytes from `at` on. */
  #placeIn(bytes: Buffer, at: number, record: number): BlobPlace | undefined {
    const header = varint(bytes, at);
    const type = varint(bytes, header.end + 1);
    const isBlob = header.value >= RECORD_HEADER_MIN && bytes.readUInt8(header.end) === 0 && type.value % 2 === 0;
    const length = (type.value - 12) / 2;
    // Of anything else SQLite makes what it is.
    if (!isBlob || length < 0 || header.value + length !== record || type.end !== at + header.value) return undefined;
    const inPage = localBytes(record, this.#usable);
    const local = inPage - header.value;
    const overflow = inPage === record ? 0 : bytes.readUInt32BE(at + inPage);
    return { length, at: at + header.value, local, overflow };
  }
}

/** How much of a record stands in the page of its cell, of which so much can be used; in an index it is less. */
export function localBytes(record: number, usable: number, isIndex = false): number {
  const most = isIndex ? Math.floor(((usable - 12) * 64) / 255) - 23 : usable - 35;
  if (record <= most) return record;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const wanted = least + ((record - least) % (usable - LINK_BYTES));
  return wanted <= most ? wanted : least;
}

/** The page below an inner one that would have `id`. */
function childOf(bytes: Buffer, id: number): number {
  let [low, high] = [0, bytes.readUInt16BE(3)];
  while (low < high) {
    const middle = (low + high) >> 1;
    const cell = bytes.readUInt16BE(12 + 2 * middle);
    if (varint(bytes, cell + 4).value < id) low = middle + 1;
    else high = middle;
  }
  if (low === bytes.readUInt16BE(3)) return bytes.readUInt32BE(8);
  return bytes.readUInt32BE(bytes.readUInt16BE(12 + 2 * low));
}

/** A number of SQLite's, most significant bits first, and where it ends. Ours are below 2^53. */
export function varint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let index = 0; index < 8; index += 1) {
    const byte = bytes.readUInt8(at + index);
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  throw new RangeError("a number of nine bytes");
}

/** A connection whose blocks are read from its file. `hasLog`: the file was found with a log, and is not the whole database. */
export function withBlobs(sql: SqlConnection, path: string, hasLog: boolean): SqlConnection {
  const blobs = blockFileOf(sql, path);
  if (blobs === undefined) return sql;
  const checkpoint = (truncate: boolean): boolean => {
    // While it runs, and if it fails, the file is neither what it was nor what it will be.
    blobs.changed(false);
    const isWhole = sql.checkpoint?.(truncate) ?? false;
    blobs.changed(isWhole);
    return isWhole;
  };
  const close = (): void => {
    try {
      sql.close();
    } finally {
      blobs.close();
    }
  };
  try {
    if (!hasLog) blobs.changed(true);
    else if (sql.isWritable === undefined) checkpoint(false);
  } catch (error) {
    // A device that fails what is written may be read: SQLite reads the log, too.
    if (!(error instanceof StoreError && error.kind === "io")) {
      blobs.close();
      throw error;
    }
  }
  return { ...sql, blobs, checkpoint, close };
}

/** The blocks of a bucket in its file; nothing where there is no log, or where another file cannot be opened. */
function blockFileOf(sql: SqlConnection, path: string): BlockFile | undefined {
  const root = sql.all<{ rootpage: number }>("SELECT rootpage FROM sqlite_schema WHERE name = 'block'")[0]?.rootpage;
  if (sql.checkpoint === undefined || root === undefined) return undefined;
  try {
    return new BlockFile(path, root);
  } catch {
    return undefined;
  }
}
