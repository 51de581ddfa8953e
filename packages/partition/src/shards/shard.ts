/**
 * The shards of a large group: several partitions that share its documents by a hash of their ids (docs/decisions/0079). What is
 * said here is a fact on disk: it must never change.
 */
import { ServiceError, type ShardBits, shownId } from "@brooklet/core";
import { bucketOf, type Sql, StoreError, storedPartition } from "@brooklet/store";
import type { PartitionKey } from "../cluster.ts";

/** Most bits that tell the shards of a group apart: 64 shards. */
export const SHARD_BITS_MAX = 6;

/** A shard of a group, and which of all that ever had its number: shards are made anew where an attempt to make one failed. */
export interface ShardName {
  /** 0 is the home of the group. */
  readonly number: number;
  /** The attempt that made it, which no other has; 0: the home, which is not made. */
  readonly made: number;
}

/** What a shard stores of itself. */
export interface ShardRecord extends ShardName, ShardBits {
  /** It serves. One that is being filled does not. */
  readonly isOpen: boolean;
  /** The shards that it gave halves of its documents to, in order. */
  readonly children: readonly ShardName[];
  /** The last attempt to split it; 0: there was none. */
  readonly attempt: number;
  /** The group is being erased. */
  readonly isErased?: boolean;
}

/** The home of a group that was never split, of which nothing is stored. */
export const WHOLE: ShardRecord = { number: 0, made: 0, bits: 0, isOpen: true, children: [], attempt: 0 };

const encoder = new TextEncoder();

/** What is stored of a shard, as it is noted. Throws a `StoreError` if no shard is that. */
export function readRecord(note: string): ShardRecord {
  try {
    const record = JSON.parse(note) as ShardRecord;
    const { bits, number, made, isOpen, children, attempt, isErased } = record;
    const counts = [bits, attempt, ...[{ number, made }, ...children].flatMap((name) => [name.number, name.made])];
    const isOne = counts.every(isCount) && typeof isOpen === "boolean";
    // One that is erased unread may have more children than there are.
    if (isOne && bits <= SHARD_BITS_MAX && (isErased === true || bits >= children.length)) return record;
  } catch (cause) {
    throw new StoreError("damaged", "what is noted of a shard cannot be read", cause);
  }
  throw new StoreError("damaged", "what is noted of a shard is not what was written");
}

function isCount(number: unknown): boolean {
  return Number.isSafeInteger(number) && (number as number) >= 0;
}

/**
 * The hash of a document id: FNV-1a of its bytes, with all bits mixed into the low ones. The core has the same. Documents of
 * several content clusters that are shown under one id are together.
 */
export function shardHash(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(shownId(id))) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Whether documents with this hash are among those of a shard. */
export function holdsHash({ bits, number }: ShardBits, hash: number): boolean {
  return (hash & ((1 << bits) - 1)) === number;
}

/** The half that a shard gives away when it is split. */
export function movingHalf({ bits, number }: ShardBits): ShardBits {
  return { bits: bits + 1, number: number + (1 << bits) };
}

/** The half that it keeps. */
export function keptHalf({ bits, number }: ShardBits): ShardBits {
  return { bits: bits + 1, number };
}

/** A shard after it gave half of its documents to another. */
export function afterSplit(record: ShardRecord, attempt: number): ShardRecord {
  const child = { number: movingHalf(record).number, made: attempt };
  return { ...record, ...keptHalf(record), attempt, children: [...record.children, child] };
}

/** An attempt that another one came after, or that was over. */
export class StaleAttempt extends Error {
  constructor(attempt: number) {
    super(`attempt ${attempt} to split a shard is over`);
  }
}

/** What a shard is that begins to be filled. An attempt that is not later than all before is refused. */
export function recordToFill(record: ShardRecord | undefined, shard: ShardBits, attempt: number): ShardRecord {
  if (record !== undefined && attempt <= record.made) throw new StaleAttempt(attempt);
  return { ...shard, made: attempt, isOpen: false, children: [], attempt: 0 };
}

/** What a shard is that is being filled by an attempt. Refuses any other. */
export function filling(record: ShardRecord | undefined, attempt: number): ShardRecord {
  if (record?.made !== attempt || record.isOpen || record.isErased === true) throw new StaleAttempt(attempt);
  return record;
}

/** Whether a shard is there, and serves. */
export function serves(record: ShardRecord | undefined, { made }: Pick<ShardName, "made">): record is ShardRecord {
  return record?.made === made && record.isOpen && record.isErased !== true;
}

/** What is left of a shard that was erased: which attempts are over. */
export function recordOfErased(record: ShardRecord): ShardRecord {
  return { ...record, isOpen: false, isErased: true, children: [], attempt: 0 };
}

/** The shards that have to be erased with one: those it was split into, and what an attempt may have begun to fill. */
export function offspring(record: ShardRecord): readonly ShardName[] {
  const { children, attempt } = record;
  const isUnfinished = attempt !== 0 && children.every(({ made }) => made !== attempt);
  return isUnfinished ? [...children, { number: movingHalf(record).number, made: attempt }] : children;
}

/** Stands for whichever attempt made a shard: no attempt is later. */
export const ANY_ATTEMPT: number = Number.MAX_SAFE_INTEGER;

/** Whatever may have come from a shard of which it is not known. */
export function allFrom(number: number): readonly ShardName[] {
  return descendants(number).map((other) => ({ number: other, made: ANY_ATTEMPT }));
}

/** What a shard is that is erased without being read. */
export function unreadRecord(number: number): ShardRecord {
  const bits = bornBitsOf(number);
  return { ...WHOLE, number, bits, children: allFrom(number), isErased: true };
}

/** The numbers of all shards that may have come from one, in however many steps. */
function descendants(number: number): readonly number[] {
  const own = 2 ** bornBitsOf(number);
  return Array.from({ length: 2 ** SHARD_BITS_MAX / own - 1 }, (_, at) => number + (at + 1) * own);
}

/** The shard that a shard came from: its number without the highest bit. */
export function parentOf(number: number): number {
  return number - 2 ** Math.floor(Math.log2(number));
}

/** The bits of a shard that gave nothing away yet. */
export function bornBitsOf(number: number): number {
  return number === 0 ? 0 : Math.floor(Math.log2(number)) + 1;
}

/** What there was of the documents of a child when it was made. */
export function birthOf({ bits, children }: ShardRecord, child: number): ShardBits {
  const name = children[child];
  if (name === undefined) throw new Error(`a shard has no child ${child}`);
  return { bits: bits - children.length + child + 1, number: name.number };
}

/** What stands between the key of a group and the number of a shard: no name of a group has it. */
const SEPARATOR = "\u0001";

/** Throws where a key is none of a group: a shard is reached by its group only. */
export function checkKey(key: PartitionKey): void {
  if (!key.includes(SEPARATOR)) return;
  const message = "The name of a group has no control character U+0001";
  throw new ServiceError({ code: "BAD_REQUEST", status: 400, number: 17, message, outcome: "not_applied" });
}

/** The group of a partition's name, which is what its documents are sealed for. */
export function groupOf(name: string): string {
  const at = name.indexOf(SEPARATOR);
  return at < 0 ? name : name.slice(0, at);
}

/** Whether a name is that of a shard which is no home. */
export function isShardName(name: string): boolean {
  return name.includes(SEPARATOR);
}

/** The bucket of a partition: shards of a group stand in buckets that follow one another, so each in another thread than the one before. */
export function bucketOfName(name: string, buckets: number): number {
  const { key, number } = readObjectName(name);
  return (bucketOf(key, buckets) + number) % buckets;
}

/** The name of the object of a shard; that of the home is the key of the group. */
export function objectName(key: PartitionKey, number: number): string {
  checkKey(key);
  return number === 0 ? key : `${key}${SEPARATOR}${number}`;
}

/** The group and the number of an object's name. */
export function readObjectName(name: string): { readonly key: PartitionKey; readonly number: number } {
  const at = name.indexOf(SEPARATOR);
  const key = (at < 0 ? name : name.slice(0, at)) as PartitionKey;
  return { key, number: at < 0 ? 0 : Number(name.slice(at + 1)) };
}

/** The name of the object that has this database, of a shard too; nothing: nothing is stored in it. */
export function storedName(sql: Sql): string | undefined {
  const stored = storedPartition(sql);
  if (stored === undefined) return undefined;
  const number = stored.note === undefined ? 0 : readRecord(stored.note).number;
  return objectName(stored.key as PartitionKey, number);
}
