/**
 * One database that many partitions share, and the group commit: writes that arrive together are one transaction, and
 * each is acknowledged after it. After a failure that leaves the outcome open the database is closed and opened anew
 * through recovery; nothing is retried. Which bucket a partition belongs to is decided elsewhere.
 */
import type { PartitionStoreOptions } from "./partition-store.ts";
import type { Partitions, TailEntry } from "./partitions.ts";
import type { Reserve } from "./reserve.ts";
import type { SqlConnection } from "./sql.ts";
import { isUntaken, StoreError, type StoreErrorKind } from "./store-error.ts";
import type { BucketIdentity } from "./tables.ts";

/** Makes what keeps the partitions of an open database. */
export type PartitionsOf = (connection: SqlConnection, options: PartitionStoreOptions) => Partitions;

/** How a bucket is opened and paced. */
export interface BucketOptions extends BucketIdentity {
  /** Opens the database; its tables are there and checked. Called again after a failure. */
  readonly open: () => SqlConnection;
  /** The partitions in it. No default: who keeps one in a database need not load what keeps many. */
  readonly partitions: PartitionsOf;
  /** Number of the deployed application. */
  readonly application: number;
  /** Runs work when the writes that arrived with this one are queued as well. */
  readonly schedule: (work: () => void) => void;
  /** What is kept back for what gives space; nothing: a full device refuses that too. */
  readonly reserve?: Reserve | undefined;
}

/** The document of a queued write, and what it depends on. */
export interface WriteContext {
  /** The document. */
  readonly id: string;
  /** Whether the write was decided on what is queued before it: it cannot stand if that fails. */
  readonly decided: boolean;
  /** The run it belongs to: none of a run is made after one of it failed. Any object, known by its identity. */
  readonly run?: object;
  /** Whether it only removes, which goes on when the device is full. */
  readonly removes?: boolean;
  /** What is queued of one unit in a row is one transaction. */
  readonly unit?: string;
}

/** What is known of a run. */
interface Run {
  failure?: { readonly error: unknown };
}

interface Waiting extends TailEntry {
  readonly place: string;
  /** The write it was decided on, if that was not committed yet. */
  readonly base: Waiting | undefined;
  readonly run: Run | undefined;
  readonly removes: boolean;
  readonly unit: string | undefined;
  /** Runs that end if it fails. */
  readonly watchers: Run[];
  readonly committed: Promise<void>;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/** Most of one transaction: a commit must not hold up the bucket's readers for long. */
const COMMIT_OPERATIONS = 1_024;
const COMMIT_BYTES = 8 << 20;
/** A partition that is written to costs as much as ten operations. */
const COMMIT_PARTITIONS = 256;
/** Committed bytes after which the log is moved to the file whoever waits: whoever should have done it before did not. */
const LOG_BYTES_MAX = 64 << 20;

/** A bucket; opened at its first use. */
export class Bucket {
  readonly #options: BucketOptions;
  #application: number;
  #open: { readonly connection: SqlConnection; readonly store: Partitions } | undefined;
  #queue: Waiting[] = [];
  /** The last write in the queue on each document. */
  readonly #newest = new Map<string, Waiting>();
  readonly #runs = new WeakMap<object, Run>();
  #scheduled = false;
  #logBytes = 0;
  #keptBytes = 0;
  #commits = 0;
  /** Who is told of what is committed of a partition. */
  readonly #watchers = new Map<string, (id: string, bytes: Uint8Array) => void>();
  /** Partitions that are not what they have to be, and why: also after the database was opened anew. */
  readonly #refused = new Map<string, string>();
  #closed = false;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#application = options.application;
  }

  /** The partitions. Opens the database if it is not open; throws a `StoreError` if it cannot be. */
  get store(): Partitions {
    if (this.#closed) throw new StoreError("closed", "the bucket is closed");
    this.#open ??= this.#withReserve(() => this.#opened());
    return this.#open.store;
  }

  #opened(): { readonly connection: SqlConnection; readonly store: Partitions } {
    const { bucket, buckets, open, partitions } = this.#options;
    const connection = open();
    try {
      const identity = { bucket, buckets, application: this.#application };
      return { connection, store: partitions(connection, { ...identity, refused: this.#refused }) };
    } catch (error) {
      // A bucket that is damaged is opened by each request.
      connection.close();
      throw error;
    }
  }

  /** Whether the database is open already. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Number of the deployed application. */
  get application(): number {
    return this.#application;
  }

  set application(application: number) {
    this.#application = application;
    if (this.#open !== undefined) this.#open.store.application = application;
  }

  /** Whether the device is full: then nothing is taken that grows. */
  get isFull(): boolean {
    return this.#options.reserve?.isGivenUp === true;
  }

  /** Whether it is open, and could only be read when it was opened. */
  get isReadOnly(): boolean {
    return this.#open?.connection.isWritable !== undefined;
  }

  /** Bytes committed since the log was last moved, about. */
  get logBytes(): number {
    return this.#logBytes;
  }

  /** Bytes that could not be moved then, about: of a log that others read, some stays. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Transactions of writes so far. */
  get commits(): number {
    return this.#commits;
  }

  /** Appends an operation to the tail of `key`. Settles after the commit that holds it is on stable storage, or failed. */
  write(key: string, bytes: Uint8Array, context: WriteContext = { id: "", decided: false }): Promise<void> {
    const run = this.#runOf(context.run);
    if (run?.failure !== undefined) return Promise.reject(run.failure.error);
    const removes = context.removes === true;
    if (!removes && this.isFull) return Promise.reject(full());
    const place = placeOf(key, context.id);
    let done!: () => void;
    let failed!: (error: unknown) => void;
    const committed = new Promise<void>((resolve, reject) => {
      [done, failed] = [resolve, reject];
    });
    const base = context.decided ? this.#newest.get(place) : undefined;
    const watchers = run === undefined ? [] : [run];
    const { unit } = context;
    const waiting: Waiting = { key, bytes, place, base, run, removes, unit, watchers, committed, done, failed };
    this.#queue.push(waiting);
    if (context.id !== "") this.#newest.set(place, waiting);
    this.#schedule();
    return committed;
  }

  /**
   * Settles as the newest queued write on a document does, or at once if there is none. What was decided on that write and
   * writes nothing itself, a refused condition for one, is told only then: others cannot see the write before. If it
   * belongs to a run, that ends with the write.
   */
  settled(key: string, id: string, run?: object): Promise<void> {
    const newest = this.#newest.get(placeOf(key, id));
    const watcher = this.#runOf(run);
    if (watcher !== undefined) newest?.watchers.push(watcher);
    return newest?.committed ?? Promise.resolve();
  }

  /** The newest operation on a document that is queued and not committed: whoever changes the document goes on from it. */
  queued(key: string, id: string): Uint8Array | undefined {
    return this.#newest.get(placeOf(key, id))?.bytes;
  }

  /** Whether a write on `key` is queued and not committed. */
  hasQueued(key: string): boolean {
    return this.#queue.some((waiting) => waiting.key === key);
  }

  /** Tells of each write on `key` from here on when it is committed, one at a time; until that is ended. */
  watch(key: string, listener: (id: string, bytes: Uint8Array) => void): () => void {
    this.#watchers.set(key, listener);
    return () => {
      if (this.#watchers.get(key) === listener) this.#watchers.delete(key);
    };
  }

  /** Takes a partition for damaged until it is erased: what else there is says that it is not what it has to be. */
  refuse(key: string, why: string): void {
    // What is committed together with others would fail them.
    this.flush();
    this.#refused.set(key, why);
  }

  /** Whether a partition is taken for damaged, whatever is stored of it. */
  refuses(key: string): boolean {
    return this.#refused.has(key);
  }

  /** Changes the store outside the queue (compaction), with the same care for failures. */
  change<Result>(work: (store: Partitions) => Result, bytes: number): Result {
    this.#demandWritable();
    const store = this.store;
    try {
      const result = this.#withReserve(() => work(store));
      this.#logBytes += bytes;
      if (bytes > 0) this.#boundLog();
      return result;
    } catch (error) {
      this.#reopenAfter(error);
      throw error;
    }
  }

  /** Moves the log into the file; whether all of it was. `truncate` leaves nothing of removed documents in the log. */
  checkpoint(truncate: boolean): boolean {
    if (this.#open === undefined) return false;
    const { connection } = this.#open;
    const isWhole = this.change(() => connection.checkpoint?.(truncate) ?? true, 0);
    this.#keptBytes = isWhole ? 0 : this.#keptBytes + this.#logBytes;
    this.#logBytes = 0;
    return isWhole;
  }

  /** Commits something that changes nothing: a value there and back, for SQLite does not write one that stays what it is. */
  probe(): void {
    this.change(() => {
      const connection = this.#open?.connection;
      const add = (step: number): void =>
        connection?.run("UPDATE about SET value = value + ? WHERE name = 'format_version'", step);
      connection?.transaction(() => [1, -1].forEach(add));
    }, 0);
  }

  /** Bytes of the file, and those in it that are free; of no file: none. */
  get size(): { readonly fileBytes: number; readonly freeBytes: number } {
    const connection = this.#open?.connection;
    if (connection === undefined) return { fileBytes: 0, freeBytes: 0 };
    const of = (name: string): number =>
      Number(Object.values(connection.all<Record<string, number>>(`PRAGMA ${name}`)[0] ?? {})[0] ?? 0);
    const pageBytes = of("page_size");
    return { fileBytes: pageBytes * of("page_count"), freeBytes: pageBytes * of("freelist_count") };
  }

  /** Commits what is queued. */
  flush(): void {
    while (this.#queue.length > 0) this.#commit();
  }

  /** Commits what is queued and closes the database. */
  close(): void {
    this.flush();
    this.#closed = true;
    this.#letGo();
  }

  /** Closes the database, and refuses what is queued: nothing of it is done. */
  abandon(): void {
    this.#closed = true;
    const error = new StoreError("closed", "the bucket was let go of");
    for (const waiting of this.#queue.splice(0)) {
      this.#forget(waiting);
      waiting.failed(error);
    }
    this.#letGo();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Not called as a method: a platform's own function may refuse that.
    const { schedule } = this.#options;
    schedule(() => {
      this.#scheduled = false;
      this.#commit();
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #commit(): void {
    const batch = this.#take();
    if (batch.length === 0) return;
    const turns = this.#options.reserve?.turns ?? 0;
    try {
      this.#demandWritable();
      this.store.append(batch);
    } catch (thrown) {
      const error = this.#meant(thrown);
      if (this.#goesOnRemoving(batch, error, turns) || this.#goesOnWithout(batch, error)) return;
      this.#reopenAfter(error);
      this.#fail(batch, error);
      return;
    }
    this.#commits += 1;
    for (const waiting of batch) {
      this.#logBytes += waiting.bytes.length;
      this.#forget(waiting);
      if (this.#watchers.size > 0) this.#watchers.get(waiting.key)?.(idOf(waiting), waiting.bytes);
      waiting.done();
    }
    this.#boundLog();
  }

  /** Keeps the log from growing without bound. Its failure is the next write's: what is committed is committed. */
  #boundLog(): void {
    if (this.#logBytes < LOG_BYTES_MAX || this.#open?.connection.checkpoint === undefined) return;
    try {
      this.checkpoint(false);
    } catch {
      // The database is opened anew, which recovers the log, and leaves it where it is.
      this.#keptBytes += this.#logBytes;
      this.#logBytes = 0;
    }
  }

  #fail(batch: readonly Waiting[], error: unknown): void {
    for (const waiting of [...batch, ...this.#takeBasedOn(batch, error)]) {
      this.#forget(waiting);
      waiting.failed(error);
    }
  }

  /** Whether a device that is full is none for the removes of a batch: they are queued again, and what grows failed. */
  #goesOnRemoving(batch: readonly Waiting[], error: unknown, turns: number): boolean {
    const { reserve } = this.#options;
    if (reserve === undefined || !isFull(error)) return false;
    const growing = batch.filter(({ removes }) => !removes);
    const hasRoom = reserve.giveUp(turns);
    if (!hasRoom && growing.length === 0) return false;
    this.#queue.unshift(...batch.filter(({ removes }) => removes));
    this.#fail(growing, error);
    this.#schedule();
    return true;
  }

  /** Whether something was longer than the storage takes: the longest fails, with its unit, and the others are queued again. */
  #goesOnWithout(batch: readonly Waiting[], error: unknown): boolean {
    if (!isOfKind(error, "large")) return false;
    const longest = batch.reduce((most, one) => (one.bytes.length > most.bytes.length ? one : most));
    const fails = (one: Waiting): boolean => one === longest || (one.unit !== undefined && one.unit === longest.unit);
    this.#queue.unshift(...batch.filter((one) => !fails(one)));
    this.#fail(batch.filter(fails), error);
    this.#schedule();
    return true;
  }

  /** Does work once more with the reserve, where the device is full. Nothing was changed by then. */
  #withReserve<Result>(work: () => Result): Result {
    const { reserve } = this.#options;
    const turns = reserve?.turns ?? 0;
    try {
      return work();
    } catch (thrown) {
      const error = this.#meant(thrown);
      if (reserve === undefined || !isFull(error) || !reserve.giveUp(turns)) throw error;
      return work();
    }
  }

  /** A failure as what it is: where a quota is used up nothing was changed, and there is room that is kept back. */
  #meant(error: unknown): unknown {
    const isDenied = isUntaken(error) && this.#options.reserve?.isDenied?.() === true;
    return isDenied ? new StoreError("full", (error as Error).message, error) : error;
  }

  #forget(waiting: Waiting): void {
    if (this.#newest.get(waiting.place) === waiting) this.#newest.delete(waiting.place);
  }

  #runOf(run: object | undefined): Run | undefined {
    if (run === undefined) return undefined;
    const known = this.#runs.get(run) ?? {};
    this.#runs.set(run, known);
    return known;
  }

  /** Takes out of the queue what was decided on writes that failed, and what comes after them in a run. */
  #takeBasedOn(batch: readonly Waiting[], error: unknown): Waiting[] {
    const failed = new Set<Waiting>();
    const fail = (waiting: Waiting): void => {
      failed.add(waiting);
      for (const run of waiting.watchers) run.failure ??= { error };
    };
    batch.forEach(fail);
    const based = this.#queue.filter((waiting) => {
      const isBased = waiting.base !== undefined && failed.has(waiting.base);
      if (!isBased && waiting.run?.failure === undefined) return false;
      fail(waiting);
      return true;
    });
    this.#queue = this.#queue.filter((waiting) => !failed.has(waiting));
    return based;
  }

  /** The oldest writes, as many as one transaction may hold. */
  #take(): Waiting[] {
    let [count, bytes] = [0, 0];
    const partitions = new Set<string>();
    let last: Waiting | undefined;
    for (const waiting of this.#queue) {
      bytes += waiting.bytes.length;
      partitions.add(waiting.key);
      const isOne = waiting.unit !== undefined && waiting.unit === last?.unit && waiting.key === last.key;
      const isOver = count >= COMMIT_OPERATIONS || bytes > COMMIT_BYTES || partitions.size > COMMIT_PARTITIONS;
      if (count > 0 && !isOne && isOver) break;
      count += 1;
      last = waiting;
    }
    return this.#queue.splice(0, count);
  }

  /**
   * Where the device could only be read when the database was opened, and can be written by now, it is opened anew by who comes next.
   * Where it still cannot, that is a failure before anything was done.
   */
  #demandWritable(): void {
    void this.store;
    const isWritable = this.#open?.connection.isWritable;
    if (isWritable === undefined) return;
    if (!isWritable()) throw new StoreError("readonly", "the device can only be read");
    this.#letGo();
  }

  /** A full device refuses and changes nothing, as does a platform. After any other failure the connection is not to be trusted. */
  #reopenAfter(error: unknown): void {
    const isRefused = isOfKind(error, "readonly") && this.isReadOnly;
    if (!isFull(error) && !isOfKind(error, "spent") && !isRefused) this.#letGo();
  }

  #letGo(): void {
    const connection = this.#open?.connection;
    this.#open = undefined;
    connection?.close();
  }
}

function isFull(error: unknown): boolean {
  return isOfKind(error, "full");
}

function isOfKind(error: unknown, kind: StoreErrorKind): boolean {
  return error instanceof StoreError && error.kind === kind;
}

function full(): StoreError {
  return new StoreError("full", "the device is full; what is kept back there is for what gives space");
}

/** The name of a document of a partition; no key contains the separator. */
function placeOf(key: string, id: string): string {
  return `${key}\n${id}`;
}

/** The document of a queued write. */
function idOf({ key, place }: Waiting): string {
  return place.slice(key.length + 1);
}
