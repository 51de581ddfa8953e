/**
 * What the notes of all shards of a directory say together: which groups have several, whether each shard is there that another gave
 * documents to, and what was left of attempts and erasures that nobody is told of.
 */
import type { NotedPartition } from "@brooklet/store";
import type { PartitionKey } from "../cluster.ts";
import {
  birthOf,
  bornBitsOf,
  bucketOfName,
  isShardName,
  movingHalf,
  objectName,
  parentOf,
  readObjectName,
  readRecord,
  type ShardName,
  type ShardRecord,
  WHOLE,
} from "./shard.ts";

/** Something that is not as shards leave it. */
export interface ShardFault {
  /** The partition of which it is said. */
  readonly name: string;
  readonly what: string;
  /** It is gone, and nothing contradicts what it was: without it the others can go on. */
  readonly isLoss: boolean;
}

/** The shards of a directory. */
export interface StoredShards {
  /** The names of the partitions of each group that has several, its home first. */
  readonly groups: ReadonlyMap<PartitionKey, readonly string[]>;
  /** Partitions that answer nobody: of groups that are being erased, and of attempts that were not finished. */
  readonly unreached: ReadonlySet<string>;
  readonly faults: readonly ShardFault[];
}

type Records = ReadonlyMap<number, ShardRecord | undefined>;
type Told = (number: number, what: string, isLoss: boolean) => void;

/** What is noted of shards, of all buckets of a directory at one moment. */
export function storedShards(noted: Iterable<NotedPartition>): StoredShards {
  const groups = new Map<PartitionKey, readonly string[]>();
  const [unreached, faults] = [new Set<string>(), [] as ShardFault[]];
  for (const [key, of] of recordsOf(noted)) {
    const names = (numbers: Iterable<number>): string[] => [...numbers].map((number) => objectName(key, number));
    if (of.get(0)?.isErased === true) {
      for (const name of names(of.keys())) unreached.add(name);
      continue;
    }
    const told: Told = (number, what, isLoss) => void faults.push({ name: objectName(key, number), what, isLoss });
    const reached = walk(of, told);
    for (const number of of.keys())
      if (!reached.has(number) && !isFault(of, reached, number, told)) unreached.add(objectName(key, number));
    if (reached.size > 1) groups.set(key, names(reached));
  }
  return { groups, unreached, faults };
}

/** The same faults, each with the bucket that its partition belongs to. */
export function shardDamage(
  noted: Iterable<NotedPartition>,
  buckets: number,
): readonly { readonly bucket: number; readonly key: string; readonly what: string }[] {
  return storedShards(noted).faults.map(({ name, what }) => ({ bucket: bucketOfName(name, buckets), key: name, what }));
}

/**
 * Notes that make groups whole again of which shards are lost, or what those were: that follows from the numbers of the others. A shard that is lost is
 * empty from then on. Groups in which something is older than something else are left as they are.
 */
export function mendedShards(
  noted: Iterable<NotedPartition>,
  buckets: number,
): readonly { readonly bucket: number; readonly key: string; readonly note: string }[] {
  const all = [...noted];
  const { faults, unreached } = storedShards(all);
  const broken = new Set(faults.map(({ name }) => readObjectName(name).key));
  for (const { name, isLoss } of faults) if (!isLoss) broken.delete(readObjectName(name).key);
  return [...recordsOf(all)].flatMap(([key, records]) => {
    if (!broken.has(key)) return [];
    const some = new Map([...records].filter(([number]) => !unreached.has(objectName(key, number))));
    return mendShards(some).map((record) => {
      const name = objectName(key, record.number);
      return { bucket: bucketOfName(name, buckets), key: name, note: JSON.stringify(record) };
    });
  });
}

/** What shards are of a group of which these are there; only those that were lost. */
function mendShards(records: Records): readonly ShardRecord[] {
  const latest = Math.max(...[...records.values()].map((record) => Math.max(record?.made ?? 0, record?.attempt ?? 0)));
  const childrenOf = new Map<number, number>();
  // A shard gives halves away in order, so one that is there tells of all that were given away before it, and of where it came from.
  const tell = (number: number): void => {
    for (let child = number; child > 0; child = parentOf(child)) {
      const parent = parentOf(child);
      const count = Math.log2(child - parent) - bornBitsOf(parent) + 1;
      childrenOf.set(parent, Math.max(childrenOf.get(parent) ?? 0, count));
    }
  };
  for (const [number, record] of records) {
    tell(number);
    for (const child of record?.children ?? []) tell(child.number);
  }
  const found: ShardRecord[] = [];
  const go = ({ number, made }: ShardName): void => {
    const known = records.get(number);
    const born = bornBitsOf(number);
    const children = Array.from({ length: childrenOf.get(number) ?? 0 }, (_, at) => {
      const child = number + 2 ** (born + at);
      return known?.children[at] ?? { number: child, made: records.get(child)?.made ?? latest };
    });
    const record = { number, made, bits: born + children.length, isOpen: true, children, attempt: latest };
    if (known === undefined) found.push(record);
    for (const child of children) go(child);
  };
  go(WHOLE);
  return found;
}

/** A partition as it is said to people: names of shards have a character that nobody sees. */
export function shownPartition(name: string): string {
  const { key, number } = readObjectName(name);
  return isShardName(name) ? `${key}, shard ${number}` : key;
}

function recordsOf(noted: Iterable<NotedPartition>): ReadonlyMap<PartitionKey, Records> {
  const records = new Map<PartitionKey, Map<number, ShardRecord | undefined>>();
  for (const { key: name, note } of noted) {
    const { key, number } = readObjectName(name);
    const of = records.get(key) ?? new Map();
    records.set(key, of.set(number, recordIn(note, number)));
  }
  return records;
}

function recordIn(note: string | undefined, number: number): ShardRecord | undefined {
  try {
    const record = readRecord(note ?? "");
    return record.number === number ? record : undefined;
  } catch {
    return undefined;
  }
}

/** Goes from the home to all shards that documents were given to. Their numbers. */
function walk(records: Records, told: Told): Set<number> {
  const reached = new Set<number>();
  const visit = ({ number, made }: ShardName): void => {
    reached.add(number);
    // A home of which nothing is noted was never split.
    const record = records.has(number) || number > 0 ? records.get(number) : WHOLE;
    if (record === undefined) {
      const what = records.has(number) ? "what it is of its group is lost" : "it is missing, with its documents";
      told(number, what, true);
      return;
    }
    const isOther = record.made !== made || !record.isOpen || record.isErased === true;
    if (isOther || record.bits - record.children.length !== bornBitsOf(number)) {
      const what = "it is not the shard that documents were given to: it is older or later than the others";
      told(number, what, false);
      return;
    }
    record.children.forEach((child, at) => {
      if (child.number === number + 2 ** (birthOf(record, at).bits - 1)) visit(child);
      else told(number, "what it is of its group is not what was written", false);
    });
  };
  visit(WHOLE);
  return reached;
}

/** Whether a shard that none gave documents to is something else than what an attempt left. */
function isFault(records: Records, reached: ReadonlySet<number>, number: number, told: Told): boolean {
  const record = records.get(number);
  const from = parentOf(number);
  const parent = records.get(from);
  // Of what its note is known to be lost, or its partition, it is not older. A home without a note may be of before its first split.
  const isLost = parent === undefined && (from > 0 || records.has(from));
  if (record === undefined) told(number, "what it is of its group is lost", false);
  else if (isLost && !record.isOpen) return false;
  else if (parent === undefined || !reached.has(from)) {
    const what = "nothing is noted of the shard that it came from: that is lost, or older";
    told(number, what, (from > 0 || isLost) && record.isOpen && record.isErased !== true);
  } else if (movingHalf(parent).number !== number || record.made > parent.attempt)
    told(number, "the shard that it came from does not know of it: that is older", false);
  else return false;
  return true;
}
