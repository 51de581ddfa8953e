/**
 * The blocks of a bucket's segments that are in the database of this process: brought when a partition is used, and let go of when there are
 * too many, those of partitions first that were not used for long. What is not in its file yet is nowhere else, and stays.
 */
import { concatenate, removeBlocks, type SqlConnection, StoreError, segmentsOf, writeBlocks } from "@brooklet/store";
import type { ObjectFiles } from "./object-store.ts";
import type { SegmentFile } from "./record.ts";
import { bytesOf, cut, readSegmentFile } from "./segment-file.ts";

/** What blocks are kept with. */
export interface BlockCacheOptions {
  readonly files: ObjectFiles;
  /** Bytes of blocks that are kept; one partition alone may have more. */
  readonly cacheBytes: number;
  /** Asks until there is an answer. */
  readonly again: <Result>(ask: () => Promise<Result>) => Promise<Result>;
  readonly onProblem: (error: unknown) => void;
}

/** The file of a segment; its blocks are in it when that settles. */
export interface StoredBlocks {
  readonly file: SegmentFile;
  readonly stored: Promise<void>;
}

/** A segment's blocks. */
interface Blocks {
  readonly file: SegmentFile;
  /** They are in the database. */
  isHere: boolean;
  /** They are in the file. */
  isStored: boolean;
}

/** A state that was forgotten, or collected, while something of it was read. Whoever needs it asks anew. */
export class Outdated extends StoreError {
  constructor() {
    super("closed", "what was read of the bucket is not there any more");
    this.name = "Outdated";
  }
}

/** The blocks in one database. */
export class BlockCache {
  readonly #sql: SqlConnection;
  readonly #options: BlockCacheOptions;
  readonly #segments = new Map<number, Blocks>();
  readonly #loading = new Map<number, Promise<void>>();
  /** By partition, least recently used first: how many hold it. */
  readonly #used = new Map<string, number>();
  /** The partition that was let go of last. */
  #last: string | undefined;
  #hereBytes = 0;
  #isClosed = false;

  constructor(sql: SqlConnection, options: BlockCacheOptions) {
    this.#sql = sql;
    this.#options = options;
  }

  /** The segments that are known, wherever their blocks are. */
  get segments(): readonly number[] {
    return [...this.#segments.keys()];
  }

  /** The names of their files. */
  get files(): readonly string[] {
    return Array.from(this.#segments.values(), ({ file }) => file.name);
  }

  /** The file of a segment. */
  fileOf(segment: number): SegmentFile | undefined {
    return this.#segments.get(segment)?.file;
  }

  /** Notes a segment that another wrote, or this process and it is known. */
  note(segment: number, file: SegmentFile): void {
    if (!this.#segments.has(segment)) this.#segments.set(segment, { file, isHere: false, isStored: true });
  }

  /** Begins to store the blocks of a segment, which are in the database, in a file of that name. */
  store(segment: number, name: string, blocks: readonly Uint8Array[]): StoredBlocks {
    const { files, again } = this.#options;
    const bytes = concatenate(blocks);
    const file = { name, blocks: blocks.map(({ length }) => length) };
    const one = { file, isHere: true, isStored: false };
    this.#segments.set(segment, one);
    this.#hereBytes += bytes.length;
    const stored = again(() => files.put(name, bytes)).then(() => {
      one.isStored = true;
      this.#shrinkBeside();
    });
    return { file, stored };
  }

  /** Forgets a segment; its file. */
  remove(segment: number): SegmentFile | undefined {
    const blocks = this.#segments.get(segment);
    this.#segments.delete(segment);
    if (blocks?.isHere === true) this.#hereBytes -= bytesOf(blocks.file);
    return blocks?.file;
  }

  /** Brings the blocks of a partition, and keeps them until what it gives is called. */
  async hold(key: string): Promise<() => void> {
    const count = this.#used.get(key) ?? 0;
    this.#used.delete(key);
    this.#used.set(key, count + 1);
    const release = (): void => {
      this.#used.set(key, Math.max((this.#used.get(key) ?? 1) - 1, 0));
      this.#last = key;
      this.#shrinkBeside();
    };
    try {
      // What is folded meanwhile is here; what another folded is not.
      for (;;) {
        const lacking = segmentsOf(this.#sql, key).filter((segment) => this.#segments.get(segment)?.isHere === false);
        if (lacking.length === 0) return release;
        await Promise.all(lacking.map((segment) => this.#load(segment)));
        if (this.#isClosed) throw new Outdated();
      }
    } catch (error) {
      release();
      throw error;
    }
  }

  /** The database is let go of. */
  close(): void {
    this.#isClosed = true;
  }

  #load(segment: number): Promise<void> {
    const known = this.#loading.get(segment);
    if (known !== undefined) return known;
    const loading = this.#read(segment)
      .then((bytes) => {
        if (this.#isClosed) throw new Outdated();
        const blocks = this.#segments.get(segment);
        // Removed meanwhile.
        if (blocks === undefined || bytes === undefined) return;
        writeBlocks(this.#sql, segment, cut(bytes, blocks.file.blocks));
        blocks.isHere = true;
        this.#hereBytes += bytes.length;
        this.#shrink();
      })
      .finally(() => this.#loading.delete(segment));
    this.#loading.set(segment, loading);
    return loading;
  }

  async #read(segment: number): Promise<Uint8Array | undefined> {
    const file = this.fileOf(segment);
    if (file === undefined) return undefined;
    const { files, again } = this.#options;
    const bytes = await readSegmentFile(files, file, again);
    // Collected: the partition is another by now.
    if (bytes === undefined) throw new Outdated();
    return bytes;
  }

  /** Beside what is told to others: that nothing could be let go of fails nothing. */
  #shrinkBeside(): void {
    if (this.#isClosed) return;
    try {
      this.#shrink();
    } catch (error) {
      this.#options.onProblem(error);
    }
  }

  /** Lets go of blocks of partitions that nobody holds, until there are few enough. One that alone has more is not read anew each time. */
  #shrink(): void {
    for (const [key, holders] of this.#used) {
      if (this.#hereBytes <= this.#options.cacheBytes) return;
      if (holders > 0 || key === this.#last) continue;
      const here = segmentsOf(this.#sql, key).filter((segment) => this.#segments.get(segment)?.isHere === true);
      if (here.some((segment) => this.#segments.get(segment)?.isStored === false)) continue;
      removeBlocks(this.#sql, here);
      this.#used.delete(key);
      for (const segment of here) {
        const blocks = this.#segments.get(segment);
        if (blocks === undefined) continue;
        blocks.isHere = false;
        this.#hereBytes -= bytesOf(blocks.file);
      }
    }
  }
}
