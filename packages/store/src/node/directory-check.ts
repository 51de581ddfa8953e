/** The check and the repair of a data directory that nobody serves: every bucket of it, and what cannot be opened at all. */
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { headKeyOf } from "../heads.ts";
import { StoreError } from "../store-error.ts";
import { type BucketReport, checkBucket, type IsSealed, repairBucket } from "./bucket-check.ts";
import { DataDirectory, type OpenSql, openBucket, secretIn } from "./data-directory.ts";
import { GenerationFile } from "./generation-file.ts";

/** What a directory has, and what is damaged of it, bucket by bucket. */
export interface DirectoryReport {
  readonly path: string;
  readonly buckets: readonly BucketReport[];
  /** What is damaged beside the buckets. */
  readonly damage: readonly string[];
  /** The files of buckets as they were before a repair. */
  readonly kept: readonly string[];
}

/** What a repair does beside taking what is there for all there is. */
export interface RepairOptions {
  /** Whether operations and segments that are not what was written are deleted. */
  readonly drop: boolean;
}

/** Reads everything of a directory. It is locked meanwhile. */
export function checkDirectory(path: string, openSql: OpenSql, isSealed: IsSealed): DirectoryReport {
  return eachBucket(path, openSql, (directory, bucket) => {
    const identity = { bucket, buckets: directory.buckets };
    const sql = openBucket(directory.path, identity, openSql);
    try {
      return checkBucket(sql, identity, isSealed);
    } finally {
      sql.close();
    }
  });
}

/** Repairs the buckets that are damaged. The files of each are kept beside it as they were. */
export function repairDirectory(
  path: string,
  openSql: OpenSql,
  isSealed: IsSealed,
  { drop }: RepairOptions,
): DirectoryReport {
  const before = checkDirectory(path, openSql, isSealed);
  const damaged = new Set(before.buckets.filter(({ damage }) => damage.length > 0).map(({ bucket }) => bucket));
  const kept: string[] = [];
  const stamp = new Date().toISOString().replaceAll(":", "-");
  const report = eachBucket(path, openSql, (directory, bucket) => {
    const known = before.buckets.find((one) => one.bucket === bucket);
    if (!damaged.has(bucket) && known !== undefined) return known;
    const file = join(directory.path, "buckets", String(bucket).padStart(3, "0"));
    for (const name of [`${file}.sqlite`, `${file}.sqlite-wal`, `${file}.generation`]) {
      if (!existsSync(name)) continue;
      copyFileSync(name, `${name}.before-${stamp}`);
      kept.push(`${name}.before-${stamp}`);
    }
    renewGeneration(directory.path, `${file}.generation`);
    const identity = { bucket, buckets: directory.buckets };
    const sql = openBucket(directory.path, identity, openSql);
    try {
      return repairBucket(sql, identity, { isSealed, drop });
    } finally {
      sql.close();
    }
  });
  return { ...report, kept };
}

/** Makes the file that says how far a bucket is, if it cannot be read. */
function renewGeneration(directory: string, path: string): void {
  const key = headKeyOf(secretIn(directory));
  try {
    const file = new GenerationFile(path, key);
    try {
      file.reached();
    } finally {
      file.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    GenerationFile.make(path, key);
  }
}

function eachBucket(
  path: string,
  openSql: OpenSql,
  work: (directory: DataDirectory, bucket: number) => BucketReport,
): DirectoryReport {
  if (!existsSync(join(path, "brooklet.json"))) throw new StoreError("refused", `${path} is not a data directory`);
  const directory = DataDirectory.open(path, openSql, undefined, "any");
  try {
    const damage: string[] = [];
    attempt(() => directory.readApplication(), damage);
    const buckets = Array.from({ length: directory.buckets }, (_, bucket) => {
      const told: string[] = [];
      const report = attempt(() => work(directory, bucket), told);
      const nothing = { bucket, partitions: 0, operations: 0, segments: 0, blocks: 0 };
      return report ?? { ...nothing, damage: told.map((what) => ({ what })) };
    });
    return { path: directory.path, buckets, damage, kept: [] };
  } finally {
    directory.close();
  }
}

/** Runs work; what of the store keeps it from being done is told. */
function attempt<Result>(work: () => Result, told: string[]): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    told.push(error.message);
    return undefined;
  }
}
