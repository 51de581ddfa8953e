/** What a backup consists of, and which there are in a target. */
import type { NotedPartition } from "@brooklet/store";
import type { KnownBackup } from "@brooklet/store/node";
import { BackupFailure } from "./backup-failure.ts";

/** Where the blocks of a segment are: an object, from where on in it, and how many bytes. */
export interface SegmentPlace {
  readonly object: string;
  readonly at: number;
  readonly bytes: number;
  /** What tells them from the blocks of every other segment that had this number. */
  readonly seal: string;
}

/** A bucket in a backup. */
export interface BucketPart {
  /** The object with its rows. */
  readonly rows: string;
  readonly segments: Readonly<Record<string, SegmentPlace>>;
  /** The numbers of all partitions that an object with segments has anything of, of earlier backups too. Earlier releases do not say it. */
  readonly partitionsOf?: Readonly<Record<string, readonly number[]>>;
  /** What is noted of partitions. */
  readonly noted?: readonly NotedPartition[];
}

/** A backup. */
export interface Manifest {
  /** 2: groups have several shards, which an earlier release would restore as if they had one. */
  readonly version: 1 | 2;
  readonly id: string;
  readonly takenAt: string;
  readonly expiresAt?: string;
  /** Which directory it is of; what another has is never taken for what this one has. */
  readonly directory: string;
  readonly application?: string;
  /** What it is of is encrypted, with keys of groups that are in no backup. */
  readonly encrypted?: true;
  readonly buckets: readonly BucketPart[];
  /** Its objects with rows and the application, by digests of what is in them: the next backup names them where that is the same. */
  readonly contents?: Readonly<Record<string, string>>;
  /** The backups that the directory knew of then, in other targets too: a restored one names them in its receipts. Earlier releases do not say it. */
  readonly known?: readonly KnownBackup[];
}

/** A backup in a list. */
export interface BackupEntry {
  readonly id: string;
  readonly takenAt: string;
  readonly expiresAt?: string;
}

/** The name of the list of all backups. */
export const LIST = "backups";
const VERSION = 2;

/** The name of a backup's manifest. */
export function manifestName(id: string): string {
  return `manifests/${id}`;
}

/** Throws where a manifest is of a later release. */
export function demandVersion({ version }: { readonly version: number }, name: string): void {
  if (!(version <= VERSION)) throw new BackupFailure(laterMessage(name));
}

/** What is said of what a later release wrote. */
export function laterMessage(name: string): string {
  return `${name} is of a later release of brooklet: take that one`;
}

/** All objects of a backup. */
export function objectsOf({ application, buckets }: Manifest): Set<string> {
  const segments = buckets.flatMap((bucket) => Object.values(bucket.segments).map(({ object }) => object));
  return new Set([
    ...(application === undefined ? [] : [application]),
    ...buckets.map(({ rows }) => rows),
    ...segments,
  ]);
}
