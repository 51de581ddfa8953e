/**
 * A backup of a data directory, which may be served meanwhile. Each bucket is read at one moment, and everything that is read is
 * verified; the blocks of segments never change, so that only those that no earlier backup has are stored.
 */
import { createHash, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  applicationIn,
  BucketMoment,
  type BucketRows,
  bucketsIn,
  type IsSealed,
  noteBackup,
  type OpenSql,
  secretIn,
} from "@brooklet/store/node";
import {
  type BackupEntry,
  type BucketPart,
  LIST,
  type Manifest,
  manifestName,
  objectsOf,
  type SegmentPlace,
} from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";
import { packBlocks } from "./pack.ts";

/** What is backed up, and how. */
export interface BackupOptions {
  readonly directory: string;
  readonly objects: BackupObjects;
  readonly openSql: OpenSql;
  readonly isSealed: IsSealed;
  /** Of an encrypted directory: whether a partition has a key. One that lost it since is being erased. */
  readonly hasKey?: (partition: string) => boolean;
  /** After how many days it may be removed, which the next backup does; never, unless it is said. */
  readonly keepDays?: number;
  /** Told of what is done, for who waits. */
  readonly onProgress?: (line: string) => void;
}

/** What came of a backup. */
export interface BackupReport extends BackupEntry {
  readonly buckets: number;
  readonly partitions: number;
  readonly operations: number;
  readonly segments: number;
  /** Segments that an earlier backup had already. */
  readonly kept: number;
  readonly storedBytes: number;
  /** Backups that were removed: their time was over. */
  readonly removed: readonly string[];
}

/** Blocks of several segments are one object, as far as they have fewer bytes together. */
const OBJECT_BYTES: number = 8 << 20;
const DAY_MS = 86_400_000;
const HEADER = 2 ** 32 - 1;
const LIVENESS = 2 ** 32 - 2;

/** Makes a backup. When it settles, it is whole and on stable storage; a failure leaves those before it as they were. */
export async function backUp(options: BackupOptions): Promise<BackupReport> {
  const { directory, objects, keepDays } = options;
  const takenAt = new Date();
  const id = `${takenAt.toISOString().replaceAll(":", "-")}-${randomBytes(4).toString("hex")}`;
  const of = createHash("sha256").update(secretIn(directory)).update("backup").digest("hex").slice(0, 16);
  const list = (await objects.value<readonly BackupEntry[]>(LIST)) ?? [];
  const before = await latestOf(objects, list, of);
  const stored = applicationIn(directory);
  const counts = { buckets: bucketsIn(directory), partitions: 0, operations: 0, segments: 0, kept: 0, storedBytes: 0 };
  const buckets: BucketPart[] = [];
  for (let bucket = 0; bucket < counts.buckets; bucket += 1) {
    options.onProgress?.(`bucket ${bucket + 1} of ${counts.buckets}`);
    buckets.push(await backUpBucket(options, { bucket, buckets: counts.buckets }, before?.buckets[bucket], counts));
  }
  const expiresAt = keepDays === undefined ? undefined : new Date(takenAt.getTime() + keepDays * DAY_MS).toISOString();
  const entry = { id, takenAt: takenAt.toISOString(), ...(expiresAt !== undefined && { expiresAt }) };
  const application = stored === undefined ? undefined : await objects.add(stored);
  const manifest: Manifest = {
    version: 1,
    ...entry,
    directory: of,
    ...(application !== undefined && { application }),
    ...(options.hasKey && { encrypted: true }),
    buckets,
  };
  await objects.write(manifestName(id), manifest);
  await objects.write(LIST, [...list, entry]);
  noteBackup(directory, { ...entry, target: objects.target.name });
  const removed = await removeExpired(objects, [...list, entry], takenAt.toISOString());
  return { ...entry, ...counts, removed };
}

/** The manifest of the latest backup of the same directory. */
async function latestOf(
  objects: BackupObjects,
  list: readonly BackupEntry[],
  directory: string,
): Promise<Manifest | undefined> {
  for (const { id } of [...list].reverse()) {
    const manifest = await objects.value<Manifest>(manifestName(id));
    if (manifest?.directory === directory) return manifest;
  }
  return undefined;
}

type Counts = { -readonly [Name in "partitions" | "operations" | "segments" | "kept" | "storedBytes"]: number };

async function backUpBucket(
  { directory, objects, openSql, isSealed, hasKey }: BackupOptions,
  identity: { readonly bucket: number; readonly buckets: number },
  before: BucketPart | undefined,
  counts: Counts,
): Promise<BucketPart> {
  const moment = new BucketMoment(directory, identity, openSql);
  try {
    const rows = hasKey === undefined ? moment.rows() : withKeys(moment.rows(), hasKey);
    demandSealed(rows, isSealed);
    const keys = new Map(rows.partitions.map(([number, key]) => [number, key]));
    const segments: Record<string, SegmentPlace> = {};
    let waiting: { readonly segment: number; readonly seal: string; readonly bytes: Uint8Array }[] = [];
    const store = async (): Promise<void> => {
      if (waiting.length === 0) return;
      const all = Buffer.concat(waiting.map(({ bytes }) => bytes));
      const object = await objects.add(all);
      let at = 0;
      for (const { segment, seal, bytes } of waiting) {
        segments[segment] = { object, at, bytes: bytes.length, seal };
        at += bytes.length;
      }
      counts.storedBytes += all.length;
      waiting = [];
    };
    for (const [segment, partition] of rows.segments) {
      const seal = moment.sealOf(segment);
      const known = before?.segments[segment];
      if (known !== undefined && known.seal === seal) {
        segments[segment] = known;
        counts.kept += 1;
        continue;
      }
      const blocks = moment.blocks(segment);
      blocks.forEach((bytes, block) => {
        if (!isSealed(keys.get(partition) ?? "", segment, block, bytes))
          throw new Error(`block ${block} of segment ${segment} is not what was written: brooklet check says more`);
      });
      waiting.push({ segment, seal, bytes: packBlocks(blocks) });
      if (waiting.reduce((sum, { bytes }) => sum + bytes.length, 0) >= OBJECT_BYTES) await store();
    }
    await store();
    counts.partitions += rows.partitions.length;
    counts.operations += rows.operations.length;
    counts.segments += rows.segments.length;
    const packed = await promisify(gzip)(JSON.stringify(rows));
    counts.storedBytes += packed.length;
    return { rows: await objects.add(packed), segments };
  } finally {
    moment.close();
  }
}

/** The rows of partitions whose keys are there: nobody reads those of others. */
export function withKeys(rows: BucketRows, hasKey: (partition: string) => boolean): BucketRows {
  const partitions = rows.partitions.filter(([, key]) => hasKey(key));
  const numbers = new Set(partitions.map(([number]) => number));
  return {
    ...rows,
    partitions,
    operations: rows.operations.filter(([, partition]) => numbers.has(partition)),
    segments: rows.segments.filter(([, partition]) => numbers.has(partition)),
  };
}

/** Throws if a row is not what was sealed. */
export function demandSealed({ partitions, operations, segments }: BucketRows, isSealed: IsSealed): void {
  const keys = new Map(partitions.map(([number, key]) => [number, key]));
  const demand = (partition: number, segment: number, block: number, bytes: string, what: string): void => {
    if (!isSealed(keys.get(partition) ?? "", segment, block, Buffer.from(bytes, "base64")))
      throw new Error(`${what} is not what was written: brooklet check says more`);
  };
  for (const [number, partition, bytes] of operations) demand(partition, HEADER, HEADER, bytes, `operation ${number}`);
  for (const [number, partition, , , header, liveness] of segments) {
    demand(partition, number, HEADER, header, `the header of segment ${number}`);
    demand(partition, number, LIVENESS, liveness, `the liveness of segment ${number}`);
  }
}

/** Removes backups whose time is over, and what no other has of them. */
async function removeExpired(objects: BackupObjects, list: readonly BackupEntry[], now: string): Promise<string[]> {
  const isOver = ({ expiresAt }: BackupEntry): boolean => expiresAt !== undefined && expiresAt < now;
  const expired = list.filter(isOver);
  if (expired.length === 0) return [];
  const rest = list.filter((entry) => !isOver(entry));
  // First the list: what nobody lists may be half gone.
  await objects.write(LIST, rest);
  const kept = new Set<string>();
  for (const { id } of rest) for (const object of objectsOf(await demand(objects, id))) kept.add(object);
  for (const { id } of expired) {
    const manifest = await objects.value<Manifest>(manifestName(id));
    for (const object of manifest === undefined ? [] : objectsOf(manifest))
      if (!kept.has(object)) await objects.target.remove(object);
    await objects.target.remove(manifestName(id));
  }
  return expired.map(({ id }) => id);
}

/** A manifest that has to be there. */
export async function demand(objects: BackupObjects, id: string): Promise<Manifest> {
  const manifest = await objects.value<Manifest>(manifestName(id));
  if (manifest === undefined) throw new Error(`${objects.target.name}: the manifest of ${id} is missing`);
  if (manifest.version !== 1) throw new Error(`${objects.target.name}: ${id} is of a later release`);
  return manifest;
}
