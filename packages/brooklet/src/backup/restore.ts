/**
 * A data directory made of a backup, at a new path: everything is read and verified before it is there. The secret of the directory is
 * a new one: backups contain no keys.
 */
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { type BucketRows, fillBucket, type IsSealed, type OpenSql, restoreDirectory } from "@brooklet/store/node";
import { demand, thoseOf } from "./backup.ts";
import { BackupFailure } from "./backup-failure.ts";
import { demandSealed, withoutPartitions } from "./bucket-backup.ts";
import { largeGroups } from "./large-groups.ts";
import { type BackupEntry, LIST } from "./manifest.ts";
import type { BackupObjects } from "./objects.ts";
import { unpackBlocks } from "./pack.ts";

/** What is restored, and where. */
export interface RestoreOptions {
  readonly objects: BackupObjects;
  /** A path where there is nothing. */
  readonly path: string;
  /** Which backup; the latest, unless it is said. */
  readonly id?: string;
  readonly openSql: OpenSql;
  readonly isSealed: IsSealed;
  /** The operator's key of what is encrypted, a folder with a copy of the keys of groups, and whether it has that of a partition. */
  readonly encryption?: {
    readonly key: Uint8Array;
    readonly keys: string;
    readonly hasKey: (partition: string) => boolean;
  };
  readonly onProgress?: (line: string) => void;
  /** Ends it: nothing is left of it. */
  readonly signal?: AbortSignal;
}

/** What was restored. */
export interface RestoreReport extends BackupEntry {
  /** Partitions whose keys were destroyed, so that nothing of them can be had. */
  readonly erased: number;
  readonly partitions: number;
  readonly operations: number;
  readonly segments: number;
  /** Groups that have several shards, and how many those are together. */
  readonly largeGroups: number;
  readonly shards: number;
}

const WITHOUT_KEYS =
  "the backup is of an encrypted directory: give the keys of its groups (--keys) and what they are wrapped with (BROOKLET_ENCRYPTION_KEY)";
const WITH_KEYS = "the backup is of a directory that is not encrypted: give no --keys";

/** The backups of a target, the latest last. */
export async function backupsIn(objects: BackupObjects): Promise<readonly BackupEntry[]> {
  return (await objects.value<readonly BackupEntry[]>(LIST)) ?? [];
}

/** What `work` gives, unless the signal ends it: a target may not answer at all. */
async function beforeEnd<Result>(work: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return await work();
  signal.throwIfAborted();
  // A promise for each: one that all are raced with would keep what each of them gave.
  let end = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    end = () => reject(signal.reason);
    signal.addEventListener("abort", end);
  });
  return await Promise.race([work(), ended]).finally(() => signal.removeEventListener("abort", end));
}

/** Restores a backup. A failure leaves nothing at the path. */
export async function restore({
  objects: given,
  path,
  id,
  openSql,
  isSealed,
  encryption,
  onProgress,
  signal,
}: RestoreOptions): Promise<RestoreReport> {
  const get = (name: string): Promise<Uint8Array | undefined> => beforeEnd(() => given.target.get(name), signal);
  const objects = given.through({ ...given.target, get });
  const list = await backupsIn(objects);
  const entry = id === undefined ? list.at(-1) : list.find((one) => one.id === id);
  if (entry === undefined)
    throw new BackupFailure(`${objects.target.name}: there is no backup${id === undefined ? "" : ` ${id}`}`);
  const manifest = await demand(objects, entry.id);
  const { application, buckets, directory } = manifest;
  if ((manifest.encrypted === true) !== (encryption !== undefined))
    throw new BackupFailure(manifest.encrypted === true ? WITHOUT_KEYS : WITH_KEYS);
  const groups = largeGroups(
    buckets.flatMap(({ noted = [] }) => noted),
    encryption?.hasKey,
  );
  const isLeftOut = encryption === undefined ? () => false : groups.isLeftOut;
  const counts = { ...groups.counts, partitions: 0, operations: 0, segments: 0, erased: 0 };
  await restoreDirectory(path, openSql, {
    buckets: buckets.length,
    ...(encryption && { encryption }),
    // Whoever erases a group there is told that these have it.
    backups: await thoseOf(objects, list, directory),
    application: application === undefined ? undefined : await objects.read(application),
    fill: async (sql, identity) => {
      onProgress?.(`bucket ${identity.bucket + 1} of ${buckets.length}`);
      const part = buckets[identity.bucket];
      if (part === undefined) throw new BackupFailure(`${entry.id} has no bucket ${identity.bucket}`);
      const all = JSON.parse((await promisify(gunzip)(await objects.read(part.rows))).toString("utf8")) as BucketRows;
      const rows = withoutPartitions(all, isLeftOut);
      const noted = (part.noted ?? []).filter(({ key }) => !isLeftOut(key));
      counts.erased += all.partitions.length - rows.partitions.length;
      demandSealed(rows, isSealed);
      const blocks = await blocksOf(objects, part.segments, rows, isSealed);
      fillBucket(sql, identity, { ...rows, noted }, (segment) => blocks.get(segment) ?? []);
      counts.partitions += rows.partitions.length;
      counts.operations += rows.operations.length;
      counts.segments += rows.segments.length;
    },
  });
  return { ...entry, ...counts };
}

/** The blocks of all segments of a bucket, each what was sealed for its place. */
async function blocksOf(
  objects: BackupObjects,
  places: Readonly<Record<string, { readonly object: string; readonly at: number; readonly bytes: number }>>,
  { partitions, segments }: BucketRows,
  isSealed: IsSealed,
): Promise<Map<number, readonly Uint8Array[]>> {
  const keys = new Map(partitions.map(([number, key]) => [number, key]));
  const found = new Map<number, readonly Uint8Array[]>();
  let read: { readonly object: string; readonly bytes: Uint8Array } | undefined;
  for (const [segment, partition] of segments) {
    const place = places[segment];
    if (place === undefined) throw new BackupFailure(`the blocks of segment ${segment} are not in the backup`);
    if (read?.object !== place.object) read = { object: place.object, bytes: await objects.read(place.object) };
    const blocks = unpackBlocks(read.bytes.subarray(place.at, place.at + place.bytes));
    blocks.forEach((bytes, block) => {
      if (!isSealed(keys.get(partition) ?? "", segment, block, bytes))
        throw new BackupFailure(`block ${block} of segment ${segment} is not what was written`);
    });
    found.set(segment, blocks);
  }
  return found;
}
