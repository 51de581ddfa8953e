/**
 * What is asked of the partitions of one database. `PartitionStore` keeps many of them in tables; `OnePartitionStore` one, in as
 * few rows as it can, for platforms that bill rows.
 */

/** A partition as it is now. */
export interface PartitionState {
  /** Which opening of a store this is; no two of a process have the same. */
  readonly incarnation: number;
  readonly key: string;
  /** Number of the partition, unique over all buckets of a directory; 0: it does not exist. */
  readonly number: number;
  /** Changes with the segments and their liveness, and when the partition was forgotten meanwhile. */
  readonly layout: number;
  /** Number of the last operation of the tail; 0: the tail is empty. */
  readonly lastOperation: number;
  /** Length of the tail. */
  readonly operations: number;
  readonly operationBytes: number;
  /** Number of the application with which all segments were written. */
  readonly application: number;
}

/** A segment as the core keeps it resident. */
export interface StoredSegment {
  readonly number: number;
  readonly header: Uint8Array;
  readonly liveness: Uint8Array;
}

/** What a partition consists of, as far as the asker does not know it. */
export interface StoredManifest {
  readonly layout: number;
  readonly segments: readonly StoredSegment[] | undefined;
  readonly operations: readonly { readonly number: number; readonly bytes: Uint8Array }[];
}

/** What compaction changes. */
export interface StoredChange {
  readonly folded: number;
  readonly removedSegments: readonly number[];
  readonly liveness: readonly { readonly segment: number; readonly liveness: Uint8Array }[];
  readonly newSegments: readonly (StoredSegment & {
    readonly schema: string;
    readonly documents: number;
    readonly blocks: readonly Uint8Array[];
  })[];
}

/** What compaction makes of a partition. */
export interface StoredCompaction {
  readonly key: string;
  /** Nothing: there is nothing to change. */
  readonly change: StoredChange | undefined;
  /** Everything in it is as the deployed application wants it. */
  readonly wholly: boolean;
}

/** One operation to append to the tail of a partition. */
export interface TailEntry {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Takes blocks, one after the other. */
export interface BlockReceiver {
  /** Takes one that is in memory. */
  give(bytes: Uint8Array): void;
  /** Takes one of so many bytes, which `write` writes where it is going to be read. Whether `write` did; if not, nothing is taken. */
  fill(length: number, write: (room: Uint8Array) => boolean): boolean;
}

/** Partitions of one database. All calls are synchronous; those that write are one transaction each. */
export interface Partitions {
  /** An operation of more bytes is no value that the database takes; nothing: it takes what SQLite does. */
  readonly valueBytesMax?: number | undefined;
  /** Number of the deployed application: partitions made now are written with it. */
  application: number;
  /** The first number that no segment has or had. */
  readonly firstFreeSegment: number;
  /** Number of the latest operation; 0: there was none. */
  readonly lastOperation: number;
  /** The partition of `key` as it is now; what happens later does not show in what is returned. */
  state(key: string): PartitionState;
  /** What a core that holds `layout` and the operations up to `operation` lacks of a partition. */
  manifest(key: string, layout: number, operation: number): StoredManifest;
  /** One operation of the tail of a partition. */
  operation(key: string, number: number): Uint8Array;
  /** Blocks in the order asked for. Throws a `StoreError` of the kind "damaged" if one is missing. */
  read(blocks: readonly StoredBlock[]): Uint8Array[];
  /** The same, each given to `receiver` as it comes. */
  deliver(blocks: readonly StoredBlock[], receiver: BlockReceiver): void;
  /** Appends to tails, making the partitions that do not exist. */
  append(entries: readonly TailEntry[]): void;
  /**
   * Puts the result of compaction in place, or the segments that a load wrote; makes the partition if it does not exist. The
   * layout changes with it. `wholly`: everything in it is as the deployed application wants it. `note`: what is noted of it then.
   */
  commit(key: string, change: StoredChange, wholly: boolean, note?: string): void;
  /** Puts the results of compaction of several partitions in place, all or none of them. Nothing: each has to be committed alone. */
  commitAll?(compactions: readonly StoredCompaction[]): void;
  /** Whether the segments of a partition are so few bytes at most, in few blocks; no more of them is looked at. */
  isWithin?(key: string, bytes: number): boolean;
  /** Notes that everything in a partition was written with the deployed application. */
  markCurrent(key: string): void;
  /** What its host noted of a partition; nothing: nothing. */
  noted(key: string): string | undefined;
  /** Notes something of a partition, which is made if it does not exist. */
  note(key: string, note: string): void;
  /** Bytes that are stored of a partition. */
  storedBytes(key: string): number;
  /** Partitions in order of their number, from `number` on. */
  from(number: number, limit: number): NumberedKey[];
  /** Says which partitions are asked for next, one after the other: then what is small of them may be read together. */
  expect?(keys: readonly string[]): void;
  /** Partitions with a tail, in order of their number after `number`. */
  withTail(number: number, limit: number): TailKey[];
  /** The keys of partitions in which something was written after an operation, or into segments from a number on. */
  writtenSince(operation: number, segment: number): readonly string[];
  /** Partitions written with another application than the deployed one, in order of their number after `number`. */
  outdated(number: number, limit: number): NumberedKey[];
  /**
   * Deletes segments of other schemas than these, from segment `from` on and as many at most. Where to go on; nothing: there
   * are no more.
   */
  eraseOthers(schemas: readonly string[], from: number, limit: number): number | undefined;
  /**
   * Erases a partition in a short transaction: after it there is none of that key. What is large of it may be left, unreachable,
   * for `dropErased`, also across a restart. One that does not exist is no mistake. Where there was one, `also` is done in the same transaction,
   * by stores in tables.
   */
  erase(key: string, also?: () => void): void;
  /** Whether keys that erased partitions were encrypted with may still be in a log, until a checkpoint; nothing: there are no keys. */
  readonly hasDestroyedKeys?: boolean;
  /**
   * Gives about so many bytes of the file back that nothing stands in, if they are more than a small part of it; what stands behind
   * them moves. The file is shorter after the next checkpoint. Whether something was given: then there may be more.
   */
  giveBack(bytesMax: number): boolean;
  /** Deletes about so many bytes of what erased partitions left. Whether there was something: then there may be more. */
  dropErased(bytesMax: number): boolean;
}

/** A partition and its number. */
export interface NumberedKey {
  readonly number: number;
  readonly key: string;
}

/** A partition with a tail, and the first operation of that. */
export interface TailKey extends NumberedKey {
  readonly firstOperation: number;
}

/** A block of a segment. */
export interface StoredBlock {
  readonly segment: number;
  readonly block: number;
}

/** The openings of stores in this process. */
let incarnations = 0;
/** Layout number of partitions that do not exist; others count on from it and are never used twice in a process. */
const LAYOUT_OF_NOTHING = 1;
let lastLayout = LAYOUT_OF_NOTHING;

/** A number for an opening of a store; no two of a process have the same. */
export function nextIncarnation(): number {
  incarnations += 1;
  return incarnations;
}

/** A layout number that nothing had. */
export function nextLayout(): number {
  lastLayout += 1;
  return lastLayout;
}

/** A partition that does not exist. */
export function nothing(incarnation: number, key: string): PartitionState {
  return {
    incarnation,
    key,
    number: 0,
    layout: LAYOUT_OF_NOTHING,
    lastOperation: 0,
    operations: 0,
    operationBytes: 0,
    application: 0,
  };
}
