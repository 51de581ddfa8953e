/**
 * The partitions of a bucket whose changes go to a log. A change is done in the database of this process at once, and submitted; who
 * may know of it is told when it is in the log.
 */
import {
  type BlockReceiver,
  type NumberedKey,
  type PartitionState,
  type PartitionStore,
  type Partitions,
  type StoredBlock,
  type StoredChange,
  type StoredManifest,
  StoreError,
  type TailEntry,
  type TailKey,
} from "@brooklet/store";
import type { BucketLog } from "./bucket-log.ts";
import type { BucketReplica } from "./bucket-replica.ts";
import { encodeRecord, type LogRecord, type SegmentFile } from "./record.ts";

/** Where changes go. */
export interface Journal {
  /** Whether changes may be made: the bucket is this gateway's. */
  readonly isOwner: boolean;
  /** Notes a change that was made. */
  submit(record: LogRecord, files?: Promise<void>): void;
  /** Begins to store the blocks of a segment. */
  store(segment: number, blocks: readonly Uint8Array[]): { readonly file: SegmentFile; readonly stored: Promise<void> };
  /** The database is not what the log says any more. */
  lose(error: unknown): void;
}

/** The partitions of one bucket. */
export class LoggedPartitions implements Partitions {
  readonly #inner: PartitionStore;
  readonly #journal: Journal;

  constructor(inner: PartitionStore, journal: Journal) {
    this.#inner = inner;
    this.#journal = journal;
  }

  get application(): number {
    return this.#inner.application;
  }

  set application(application: number) {
    this.#inner.application = application;
  }

  get firstFreeSegment(): number {
    return this.#inner.firstFreeSegment;
  }

  get lastOperation(): number {
    return this.#inner.lastOperation;
  }

  state(key: string): PartitionState {
    return this.#inner.state(key);
  }

  manifest(key: string, layout: number, operation: number): StoredManifest {
    return this.#inner.manifest(key, layout, operation);
  }

  operation(key: string, number: number): Uint8Array {
    return this.#inner.operation(key, number);
  }

  read(blocks: readonly StoredBlock[]): Uint8Array[] {
    return this.#inner.read(blocks);
  }

  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void {
    this.#inner.deliver(blocks, receiver);
  }

  append(entries: readonly TailEntry[]): void {
    this.#change(() => this.#inner.append(entries));
    this.#journal.submit({ kind: "append", application: this.application, entries });
  }

  commit(key: string, change: StoredChange, wholly: boolean, note?: string): void {
    this.#change(() => this.#inner.commit(key, change, wholly, note));
    const stored = change.newSegments.map(({ number, blocks }) => this.#journal.store(number, blocks));
    const newSegments = change.newSegments.map((segment) => ({ ...segment, blocks: [] }));
    const files = stored.map(({ file }) => file);
    const record = { kind: "commit", application: this.application, key, files, isWhole: wholly } as const;
    const all = Promise.all(stored.map(({ stored: one }) => one)).then(() => undefined);
    this.#journal.submit({ ...record, change: { ...change, newSegments } }, all);
  }

  markCurrent(key: string): void {
    this.#change(() => this.#inner.markCurrent(key));
    this.#journal.submit({ kind: "current", application: this.application, key });
  }

  noted(): undefined {
    return undefined;
  }

  note(): void {
    throw new Error("nothing is noted of partitions that share a database");
  }

  storedBytes(key: string): number {
    return this.#inner.storedBytes(key);
  }

  from(number: number, limit: number): NumberedKey[] {
    return this.#inner.from(number, limit);
  }

  expect(keys: readonly string[]): void {
    this.#inner.expect(keys);
  }

  /** Of what is another's nothing is to be looked after. */
  withTail(number: number, limit: number): TailKey[] {
    return this.#journal.isOwner ? this.#inner.withTail(number, limit) : [];
  }

  outdated(number: number, limit: number): NumberedKey[] {
    return this.#journal.isOwner ? this.#inner.outdated(number, limit) : [];
  }

  writtenSince(operation: number, segment: number): readonly string[] {
    return this.#inner.writtenSince(operation, segment);
  }

  eraseOthers(schemas: readonly string[], from: number, limit: number): number | undefined {
    if (!this.#journal.isOwner) return undefined;
    const next = this.#change(() => this.#inner.eraseOthers(schemas, from, limit));
    this.#journal.submit({ kind: "others", application: this.application, schemas, from, limit });
    return next;
  }

  erase(key: string): void {
    this.#change(() => this.#inner.erase(key));
    this.#journal.submit({ kind: "erase", application: this.application, key });
  }

  /** The database is a copy for this process. */
  giveBack(): boolean {
    return false;
  }

  /** What is left of erased partitions is in this database alone. */
  dropErased(bytesMax: number): boolean {
    return this.#inner.dropErased(bytesMax);
  }

  /** Of a change that failed it is not known whether the database has it, which the log has not. */
  #change<Result>(work: () => Result): Result {
    if (!this.#journal.isOwner) throw new StoreError("closed", "the bucket is another gateway's");
    try {
      return work();
    } catch (error) {
      this.#journal.lose(error);
      throw error;
    }
  }
}

/** The partitions of a replica as it is now; their changes go to its log. */
export function partitionsOf(
  { log, replica }: { readonly log: BucketLog; readonly replica: BucketReplica },
  application: number,
): LoggedPartitions {
  const partitions = new LoggedPartitions(replica.store, {
    get isOwner() {
      return log.isOwner;
    },
    submit: (record, stored) => {
      replica.noted(record);
      const { value, blobs } = encodeRecord(record);
      log.submit({ value, blobs, ...(stored && { files: stored }) });
    },
    store: (segment, blocks) => replica.storeBlocks(segment, blocks),
    lose: (error) => log.lose(error),
  });
  partitions.application = application;
  return partitions;
}
