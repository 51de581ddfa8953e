/**
 * The database of a bucket in this process: a cache of what the log and its snapshot say. Partitions come into it when they are
 * first needed, the blocks of their segments apart from them (`block-cache.ts`).
 */
import {
  allSegments,
  type BucketIdentity,
  createTables,
  type NextNumbers,
  type PartitionRows,
  PartitionStore,
  readPartitionRows,
  type SqlConnection,
  StoreError,
  writeNextNumbers,
} from "@brooklet/store";
import { BlockCache, Outdated, type StoredBlocks } from "./block-cache.ts";
import {
  type Directory,
  type DirectoryEntry,
  type DirectoryPage,
  decodeDirectory,
  decodePage,
  encodePage,
  pageOf,
} from "./directory.ts";
import { decodeFrame, encodeFrame, type Framed } from "./log-object.ts";
import type { ObjectFiles } from "./object-store.ts";
import { decodeRecord, type LogRecord, type SegmentFile } from "./record.ts";
import type { Replica } from "./replica.ts";

export { Outdated } from "./block-cache.ts";

/** What a replica works with. */
export interface BucketReplicaOptions extends BucketIdentity {
  readonly files: ObjectFiles;
  /** Opens an empty database, which nobody needs to find again. */
  readonly open: () => SqlConnection;
  /** A name for a file that no other has. */
  readonly nameFile: () => string;
  /** Files of the bucket that snapshots of the whole store name; nothing: that is not known, as one is being taken. */
  readonly held: () => Promise<ReadonlySet<string> | undefined>;
  /** Bytes of blocks that are kept; more are let go of, those of partitions first that were not used for long. */
  readonly cacheBytes: number;
  /** Asks until there is an answer. */
  readonly again: <Result>(ask: () => Promise<Result>) => Promise<Result>;
  /** Called before everything is forgotten. */
  readonly onBegin: () => void;
  readonly onProblem: (error: unknown) => void;
}

/** A database, and what is of it. */
interface Opened {
  readonly sql: SqlConnection;
  readonly store: PartitionStore;
  readonly blocks: BlockCache;
}

/** What a snapshot is written of. */
interface Captured {
  /** The partitions that changed; nothing: they are erased. */
  readonly captured: ReadonlyMap<string, PartitionRows | undefined>;
  readonly files: ReadonlyMap<number, SegmentFile>;
  readonly numbers: NextNumbers;
  /** All others have only segments of these. */
  readonly keptSchemas: readonly (readonly string[])[];
}

/** Pages of this many bytes are too large: there will be four times as many. */
const PAGE_BYTES_MAX = 512 << 10;
/** Pages of the directory that are kept as they were read. */
const PAGES_KEPT = 32;

/** The replica of one bucket. */
export class BucketReplica implements Replica {
  readonly #options: BucketReplicaOptions;
  #open: Opened | undefined;
  #directory: Directory = { bits: 0, pages: [], numbers: undefined };
  /** Partitions that are in the database, or are nowhere. */
  #warm = new Set<string>();
  #warming = new Map<string, Promise<void>>();
  /** Partitions that changed since the snapshot, and those that one is being written of. */
  #dirty = new Set<string>();
  #capturing = new Set<string>();
  /** Files that nothing names any more once a snapshot is kept. */
  #garbage = new Set<string>();
  #capturedGarbage = new Set<string>();
  /** Files that no snapshot of the bucket names any more, nor anything after it. */
  readonly #removable = new Set<string>();
  #pagesKept = new Map<string, DirectoryPage>();
  /** Schemas whose segments alone were kept, since the directory was written. */
  #keptSchemas: (readonly string[])[] = [];
  #capturedSchemas = 0;
  #nextDirectory: Directory | undefined;
  #removing: Promise<void> = Promise.resolve();

  constructor(options: BucketReplicaOptions) {
    this.#options = options;
  }

  /** The database; throws if nothing was begun. */
  get sql(): SqlConnection {
    return this.#opened.sql;
  }

  get store(): PartitionStore {
    return this.#opened.store;
  }

  get #opened(): Opened {
    if (this.#open === undefined) throw new StoreError("closed", "the bucket is not there yet");
    return this.#open;
  }

  async begin(snapshot: Framed | undefined): Promise<void> {
    this.#options.onBegin();
    this.close();
    const directory = decodeDirectory(snapshot);
    const { bucket, buckets } = this.#options;
    const sql = this.#options.open();
    createTables(sql, { bucket, buckets });
    if (directory.numbers !== undefined) writeNextNumbers(sql, directory.numbers);
    this.#directory = directory;
    const store = new PartitionStore(sql, { bucket, buckets, application: 0 });
    this.#open = { sql, store, blocks: new BlockCache(sql, this.#options) };
  }

  /** A newer directory than the one that was begun with; everything that changed until it was written is applied. */
  rebase(snapshot: Framed | undefined): void {
    this.#directory = decodeDirectory(snapshot);
  }

  async apply({ value, blobs }: Framed): Promise<void> {
    const { records } = value as { readonly records: readonly unknown[] };
    let at = 0;
    for (const encoded of records) {
      const { value: said, blobs: count } = encoded as { readonly value: unknown; readonly blobs: number };
      const record = decodeRecord({ value: said, blobs: blobs.slice(at, at + count) });
      at += count;
      await this.warm(keysOf(record));
      this.#applyNow(record);
    }
  }

  #applyNow(record: LogRecord): void {
    const { store } = this.#opened;
    const { application } = store;
    store.application = record.application;
    try {
      if (record.kind === "append") store.append(record.entries);
      else if (record.kind === "commit") store.commit(record.key, record.change, record.isWhole);
      else if (record.kind === "current") store.markCurrent(record.key);
      else if (record.kind === "erase") store.erase(record.key);
      else store.eraseOthers(record.schemas, record.from, record.limit);
    } finally {
      store.application = application;
    }
    this.noted(record);
  }

  /** Notes what a change of the database means for files and the next snapshot. */
  noted(record: LogRecord): void {
    for (const key of keysOf(record)) this.#dirty.add(key);
    if (record.kind === "commit") {
      record.change.newSegments.forEach(({ number }, index) => {
        const file = record.files[index];
        if (file !== undefined) this.#opened.blocks.note(number, file);
      });
      for (const segment of record.change.removedSegments) this.#drop(segment);
    } else if (record.kind === "erase" || record.kind === "others") {
      if (record.kind === "others") this.#keptSchemas.push(record.schemas);
      const left = allSegments(this.sql);
      for (const segment of this.#opened.blocks.segments) if (!left.has(segment)) this.#drop(segment);
    }
  }

  /** Begins to store the blocks of a segment, which are in the database. */
  storeBlocks(segment: number, blocks: readonly Uint8Array[]): StoredBlocks {
    return this.#opened.blocks.store(segment, this.#options.nameFile(), blocks);
  }

  #drop(segment: number): void {
    const file = this.#opened.blocks.remove(segment);
    if (file !== undefined) this.#garbage.add(file.name);
  }

  /** Whether a partition is in the database, or nowhere. */
  isWarm(key: string): boolean {
    return this.#open !== undefined && this.#warm.has(key);
  }

  /** Brings partitions into the database, without their blocks. */
  async warm(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.filter((key) => !this.#warm.has(key)).map((key) => this.#warmOne(key)));
  }

  #warmOne(key: string): Promise<void> {
    const known = this.#warming.get(key);
    if (known !== undefined) return known;
    const warming = this.#bring(key).finally(() => {
      if (this.#warming.get(key) === warming) this.#warming.delete(key);
    });
    this.#warming.set(key, warming);
    return warming;
  }

  async #bring(key: string): Promise<void> {
    const opened = this.#opened;
    const nameNow = (): string => this.#directory.pages[pageOf(key, this.#directory.bits)] ?? "";
    for (;;) {
      const name = nameNow();
      const page = await this.#readPage(name);
      if (this.#open !== opened) throw new Outdated();
      // What was removed until a snapshot that was stored meanwhile is noted in that one alone.
      if (name === nameNow()) return this.#import(key, page);
    }
  }

  /** Brings every partition of the bucket into the database. */
  async warmAll(): Promise<void> {
    const opened = this.#opened;
    for (let number = 0; number < this.#directory.pages.length; ) {
      const name = this.#directory.pages[number] ?? "";
      const page = await this.#readPage(name);
      if (this.#open !== opened) throw new Outdated();
      const isNow = name === this.#directory.pages[number];
      if (isNow) for (const key of page.keys()) if (!this.#warm.has(key)) this.#import(key, page);
      // The pages of another snapshot may be others.
      number = isNow ? number + 1 : 0;
    }
  }

  #import(key: string, page: DirectoryPage): void {
    if (this.#warm.has(key)) return;
    const entry = page.get(key);
    if (entry !== undefined) {
      const isKept = (schema: string): boolean => this.#keptSchemas.every((schemas) => schemas.includes(schema));
      const segments = entry.rows.segments.filter(({ schema }) => isKept(schema));
      this.store.take({ ...entry.rows, segments });
      for (const { number, schema } of entry.rows.segments) {
        const file = entry.files.get(number);
        if (file === undefined) continue;
        if (isKept(schema)) this.#opened.blocks.note(number, file);
        else this.#garbage.add(file.name);
      }
    }
    this.#warm.add(key);
  }

  async #readPage(name: string): Promise<DirectoryPage> {
    if (name === "") return new Map();
    const kept = this.#pagesKept.get(name);
    if (kept !== undefined) return kept;
    const bytes = await this.#options.again(() => this.#options.files.read(name));
    // A snapshot after the one that is known has another page.
    if (bytes === undefined) throw new Outdated();
    const page = decodePage(await decodeFrame(bytes));
    this.#pagesKept.set(name, page);
    const [oldest] = this.#pagesKept.keys();
    if (this.#pagesKept.size > PAGES_KEPT && oldest !== undefined) this.#pagesKept.delete(oldest);
    return page;
  }

  /** Brings the blocks of a partition, and keeps them until what it gives is called. */
  async hold(key: string): Promise<() => void> {
    await this.warm([key]);
    return await this.#opened.blocks.hold(key);
  }

  capture(): Promise<Framed> | undefined {
    for (const key of this.#dirty) this.#capturing.add(key);
    this.#dirty = new Set();
    for (const name of this.#garbage) this.#capturedGarbage.add(name);
    this.#garbage = new Set();
    const { store, sql, blocks } = this.#opened;
    const numbers: NextNumbers = {
      partition: store.nextPartition,
      operation: store.lastOperation + 1,
      segment: store.firstFreeSegment,
    };
    const captured = new Map<string, PartitionRows | undefined>();
    for (const key of this.#capturing) captured.set(key, readPartitionRows(sql, key));
    const files = new Map<number, SegmentFile>();
    for (const rows of captured.values())
      for (const { number } of rows?.segments ?? []) {
        const file = blocks.fileOf(number);
        if (file === undefined) throw new Error(`segment ${number} has no file`);
        files.set(number, file);
      }
    this.#capturedSchemas = this.#keptSchemas.length;
    return this.#write({ captured, files, numbers, keptSchemas: [...this.#keptSchemas] });
  }

  async #write({ captured, files, numbers, keptSchemas }: Captured): Promise<Framed> {
    const { bits } = this.#directory;
    const pages = Array.from({ length: 2 ** bits }, (_, number) => this.#directory.pages[number] ?? "");
    const all = Array.from(pages.keys());
    // What is kept of schemas is true of partitions, too, that did not come into the database.
    const touched = new Set(keptSchemas.length > 0 ? all : [...captured.keys()].map((key) => pageOf(key, bits)));
    let largest = 0;
    for (const number of touched) {
      const before = pages[number] ?? "";
      const page = new Map<string, DirectoryEntry>();
      for (const [key, entry] of await this.#readPage(before)) page.set(key, withSchemas(entry, keptSchemas));
      for (const [key, rows] of captured) {
        if (pageOf(key, bits) !== number) continue;
        if (rows === undefined) page.delete(key);
        else page.set(key, { rows, files });
      }
      const bytes = await encodeFrame(encodePage(page));
      largest = Math.max(largest, bytes.length);
      pages[number] = await this.#put(bytes);
      if (before !== "") this.#capturedGarbage.add(before);
    }
    const directory: Directory = { bits, pages, numbers };
    this.#nextDirectory = largest > PAGE_BYTES_MAX ? await this.#divided(directory) : directory;
    return { value: this.#nextDirectory, blobs: [] };
  }

  async #put(bytes: Uint8Array): Promise<string> {
    const name = this.#options.nameFile();
    await this.#options.again(() => this.#options.files.put(name, bytes));
    return name;
  }

  /** The same directory in four times as many pages. */
  async #divided({ bits, pages, numbers }: Directory): Promise<Directory> {
    const divided = Array.from({ length: 2 ** (bits + 2) }, () => new Map<string, DirectoryEntry>());
    for (const name of pages) {
      if (name === "") continue;
      const bytes = await this.#options.again(() => this.#options.files.read(name));
      if (bytes === undefined) throw new Outdated();
      for (const [key, entry] of decodePage(await decodeFrame(bytes))) divided[pageOf(key, bits + 2)]?.set(key, entry);
      this.#capturedGarbage.add(name);
    }
    const names: string[] = [];
    for (const page of divided) names.push(page.size === 0 ? "" : await this.#put(await encodeFrame(encodePage(page))));
    return { bits: bits + 2, pages: names, numbers };
  }

  kept(): void {
    if (this.#nextDirectory !== undefined) this.#directory = this.#nextDirectory;
    this.#nextDirectory = undefined;
    this.#capturing = new Set();
    this.#keptSchemas.splice(0, this.#capturedSchemas);
    this.#capturedSchemas = 0;
    for (const name of this.#capturedGarbage) this.#removable.add(name);
    this.#capturedGarbage = new Set();
    this.removeLeft().catch(this.#options.onProblem);
  }

  /** The files that the directory names, its pages among them, and those of segments that are here. */
  async named(): Promise<ReadonlySet<string>> {
    const { pages } = this.#directory;
    const names = new Set([...pages, ...this.#opened.blocks.files]);
    // Of one directory, whichever is stored meanwhile: its numbers are of no other.
    for (const page of pages)
      for (const { files } of (await this.#readPage(page)).values())
        for (const { name } of files.values()) names.add(name);
    return names;
  }

  /** Settles when files that nothing names are removed; rejects if one could not be. */
  async removed(): Promise<void> {
    await this.#removing;
  }

  /** Removes what nothing names any more, and could not be removed before. */
  removeLeft(): Promise<void> {
    this.#removing = this.#removing.catch(() => undefined).then(() => this.#removeUnnamed());
    return this.#removing;
  }

  async #removeUnnamed(): Promise<void> {
    if (this.#removable.size === 0) return;
    const { files, again, held } = this.#options;
    const kept = await held();
    // It is asked for again with the next snapshot.
    if (kept === undefined) return;
    for (const name of this.#removable) {
      // What a snapshot of the store names goes with it.
      if (!kept.has(name)) await again(() => files.remove(name));
      this.#removable.delete(name);
    }
  }

  /** Forgets everything, and lets go of the database. */
  close(): void {
    this.#open?.blocks.close();
    this.#open?.sql.close();
    this.#open = undefined;
    this.#warm = new Set();
    this.#warming = new Map();
    this.#dirty = new Set();
    this.#capturing = new Set();
    this.#garbage = new Set();
    this.#capturedGarbage = new Set();
    this.#keptSchemas = [];
    this.#capturedSchemas = 0;
    this.#nextDirectory = undefined;
  }
}

function keysOf(record: LogRecord): readonly string[] {
  if (record.kind === "append") return [...new Set(record.entries.map(({ key }) => key))];
  return record.kind === "others" ? [] : [record.key];
}

function withSchemas(entry: DirectoryEntry, kept: readonly (readonly string[])[]): DirectoryEntry {
  if (kept.length === 0) return entry;
  const segments = entry.rows.segments.filter(({ schema }) => kept.every((schemas) => schemas.includes(schema)));
  return { ...entry, rows: { ...entry.rows, segments } };
}
