/** The check and the repair of a data directory that nobody serves: every bucket of it, and what cannot be opened at all. */
import { accessSync, constants, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { Heads, headKeyOf, type PartitionRow } from "../heads.ts";
import { type NotedPartition, Notes, notedPartitions } from "../notes.ts";
import { PartitionStore, type PartitionStoreOptions } from "../partition-store.ts";
import type { SqlConnection } from "../sql.ts";
import { StoreError, type StoreErrorKind } from "../store-error.ts";
import { type BucketIdentity, FORMAT_VERSION } from "../tables.ts";
import {
  type BucketReport,
  checkBucket,
  type Damage,
  type IsSealed,
  KEYS,
  pageProblems,
  repairBucket,
  type SalvagedKeys,
} from "./bucket-check.ts";
import { salvageBucket } from "./bucket-salvage.ts";
import { checkHeader, DataDirectory, type OpenSql, openBucket, replaceBucket, secretIn } from "./data-directory.ts";
import { isDataDirectory } from "./directory-key.ts";
import { DiskReserve } from "./disk-reserve.ts";
import { GenerationFile } from "./generation-file.ts";
import { isSameFile, keepFiles } from "./kept-files.ts";
import { PageFile } from "./page-file.ts";

/** What a directory has, and what is damaged of it, bucket by bucket. */
export interface DirectoryReport {
  readonly path: string;
  readonly buckets: readonly BucketReport[];
  /** What is damaged beside the buckets. */
  readonly damage: readonly string[];
  /** The files of buckets as they were before a repair. */
  readonly kept: readonly string[];
  /** Of how many buckets all was done when it was ended before its time, and how many there are. */
  readonly ended?: { readonly buckets: number; readonly of: number };
  /** What a repair could not mend. */
  readonly left?: readonly NotedDamage[];
  /** Buckets that a repair wrote anew of what their damaged pages still had, and how much is told to be lost of each. */
  readonly salvaged?: readonly { readonly bucket: number; readonly losses: number }[];
  /** Files of keys that a repair wrote anew, with the keys that their damaged pages still had. */
  readonly keys?: readonly SalvagedKeys[];
}

/** Something of a bucket that is seen only beside others. */
export interface NotedDamage extends Damage {
  readonly bucket: number;
}

/** What notes of partitions mean together, in a directory of so many buckets. */
export interface NoteReader {
  /** What is not as it was written. */
  damage(noted: readonly NotedPartition[], buckets: number): readonly NotedDamage[];
  /** Notes with which what is there can be used without what is lost. */
  mended(
    noted: readonly NotedPartition[],
    buckets: number,
  ): readonly { readonly bucket: number; readonly key: string; readonly note: string }[];
}

const NOTHING_NOTED: NoteReader = { damage: () => [], mended: () => [] };

/** Who waits for a check or a repair. */
export interface DirectoryWatch {
  /** Ends it, with what was done until then; a bucket whose repair has begun is repaired. */
  readonly signal?: AbortSignal;
  /** Told before each bucket. */
  readonly onBucket?: (bucket: number, buckets: number) => void;
}

/** What a repair does beside taking what is there for all there is. */
export interface RepairOptions {
  /** Whether operations and segments that are not what was written are deleted. */
  readonly drop: boolean;
  readonly notes?: NoteReader;
}

/** Reads everything of a directory. It is locked meanwhile. */
export async function checkDirectory(
  path: string,
  openSql: OpenSql,
  isSealed: IsSealed,
  notes: NoteReader = NOTHING_NOTED,
  watch: DirectoryWatch = {},
): Promise<DirectoryReport> {
  const noted: NotedPartition[] = [];
  const report = await eachBucket(path, openSql, { ...watch, isSealed }, async (directory, bucket) => {
    const identity = { bucket, buckets: directory.buckets };
    const sql = DiskReserve.beside(directory.path, () => openSound(directory.path, identity, openSql));
    try {
      const found = await checkBucket(sql, identity, isSealed, watch.signal);
      if (!found.hasDamagedPages) noted.push(...notedPartitions(sql));
      return found;
    } finally {
      sql.close();
    }
  });
  // What was not looked at is not gone.
  if (report.ended !== undefined || report.buckets.some(({ hasDamagedPages }) => hasDamagedPages)) return report;
  const told = notes.damage(noted, report.buckets.length);
  const damageOf = (bucket: number): Damage[] =>
    told.filter((one) => one.bucket === bucket).map(({ bucket: _, ...damage }) => damage);
  const buckets = report.buckets.map((one) => ({ ...one, damage: [...one.damage, ...damageOf(one.bucket)] }));
  return { ...report, buckets };
}

/** Repairs the buckets that are damaged. The files of each are kept beside it as they were. */
export async function repairDirectory(
  path: string,
  openSql: OpenSql,
  isSealed: IsSealed,
  { drop, notes = NOTHING_NOTED }: RepairOptions,
  watch: DirectoryWatch = {},
): Promise<DirectoryReport> {
  const stamp = new Date().toISOString().replaceAll(":", "-");
  // First: without its key nothing of a group is what was written.
  const keys = salvageKeys(path, openSql, isSealed, stamp);
  const told = await checkDirectory(path, openSql, isSealed, notes, watch);
  const before = keys.length === 0 ? told : { ...told, keys, kept: keys.flatMap(({ kept }) => kept) };
  if (before.ended !== undefined) return { ...before, ended: { ...before.ended, buckets: 0 } };
  const damaged = new Set(before.buckets.filter(({ damage }) => damage.length > 0).map(({ bucket }) => bucket));
  const kept: string[] = [...before.kept];
  const repaired = new Set<number>();
  const anew = new Set<number>();
  const report = await eachBucket(path, openSql, { ...watch, isSealed }, (directory, bucket) => {
    const known = before.buckets.find((one) => one.bucket === bucket);
    if (!damaged.has(bucket) && known !== undefined) return known;
    const beside = <Result>(work: () => Result): Result => DiskReserve.beside(directory.path, work);
    const identity = { bucket, buckets: directory.buckets };
    const file = join(directory.path, "buckets", String(bucket).padStart(3, "0"));
    const names = [`${file}.sqlite`, `${file}.sqlite-wal`, `${file}.generation`];
    // Once: what stands there later is not what was there before.
    const copies = beside(() => keepFiles(names, stamp));
    beside(() => renewGeneration(directory.path, `${file}.generation`));
    const untold: Damage[] = [];
    const isSound = !known?.hasDamagedPages || hasSoundPages(directory, identity, openSql);
    // What is kept is not changed, also where it could not be copied.
    if (!isSound || isSameFile(`${file}.sqlite`, copies[0])) {
      untold.push(...salvage(directory, identity, openSql, { isSealed, copies }));
      anew.add(bucket);
    }
    kept.push(...copies);
    return beside(() => {
      const sql = openBucket(directory.path, identity, openSql);
      try {
        const whole = repairBucket(sql, identity, { isSealed, drop });
        repaired.add(bucket);
        return { ...whole, damage: [...whole.damage, ...untold] };
      } finally {
        sql.close();
      }
    });
  });
  const salvaged = report.buckets
    .filter(({ bucket }) => anew.has(bucket))
    .map(({ bucket, damage }) => ({ bucket, losses: damage.length }));
  // What is no bucket of ours, or has nothing left that shows it is, of which nothing was changed.
  const unread = report.buckets
    .filter(({ bucket, damage }) => damage.length > 0 && !repaired.has(bucket))
    .flatMap(({ bucket, damage }) => damage.map((one) => ({ ...one, bucket })));
  // Beside what cannot be read nothing is said of what belongs together.
  const rest = unread.length > 0 ? unread : repairNotes(path, openSql, notes);
  const left = report.ended === undefined ? rest : [];
  const buckets = report.buckets.map((one, at) => withNoted(one, before.buckets[at]));
  return { ...before, ...report, buckets, kept, left, salvaged };
}

/** Writes files of keys anew whose pages are damaged. */
function salvageKeys(path: string, openSql: OpenSql, isSealed: IsSealed, stamp: string): readonly SalvagedKeys[] {
  const keys = isSealed[KEYS];
  if (keys === undefined) return [];
  const directory = DataDirectory.open(path, openSql, undefined, "any");
  try {
    return DiskReserve.beside(directory.path, () => keys.salvage(stamp));
  } finally {
    directory.close();
  }
}

/**
 * Opens a bucket. One of an earlier version, which would become one of this as far as it can be read, is left what it is where its pages are not
 * as SQLite made them: nothing would tell afterwards what is lost.
 */
function openSound(path: string, identity: BucketIdentity, openSql: OpenSql): SqlConnection {
  const file = join(path, "buckets", `${String(identity.bucket).padStart(3, "0")}.sqlite`);
  if (isEarlier(file)) {
    const sql = openSql(file);
    try {
      const problems = pageProblems(sql);
      if (problems.length > 0) throw new StoreError("damaged", `${file}: ${problems.join("; ")}`);
    } finally {
      sql.close();
    }
  }
  return openBucket(path, identity, openSql);
}

/** Whether a file is a bucket of an earlier version; what is none is refused by who opens it. */
function isEarlier(file: string): boolean {
  try {
    return checkHeader(file) < FORMAT_VERSION;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}

/** Whether a bucket can be opened whose pages are as SQLite made them. */
function hasSoundPages(directory: DataDirectory, identity: BucketIdentity, openSql: OpenSql): boolean {
  try {
    const sql = openSound(directory.path, identity, openSql);
    try {
      return pageProblems(sql).length === 0;
    } finally {
      sql.close();
    }
  } catch (error) {
    if (error instanceof StoreError && isSalvaged(error)) return false;
    throw error;
  }
}

/** Puts what the pages of a bucket still have into a new file in its place; what that cannot tell. Copies of a file that then stays as it is are none of use. */
function salvage(
  directory: DataDirectory,
  identity: BucketIdentity,
  openSql: OpenSql,
  { isSealed, copies }: { readonly isSealed: IsSealed; readonly copies: readonly string[] },
): readonly Damage[] {
  const { path } = directory;
  let isChanged = false;
  let untold: readonly Damage[] = [];
  try {
    DiskReserve.beside(path, () => {
      const pages = pagesOf(path, identity);
      const application = storedNumber(directory);
      try {
        replaceBucket(path, identity, openSql, {
          fill: (sql) => {
            untold = salvageBucket(sql, pages, { ...identity, isSealed, application });
          },
          settle: () => {
            isChanged = true;
            pages.moveLog();
          },
        });
      } finally {
        pages.close();
      }
    });
  } catch (error) {
    if (!isChanged) for (const copy of copies) rmSync(copy, { force: true });
    throw error;
  }
  return untold;
}

function pagesOf(path: string, { bucket }: BucketIdentity): PageFile {
  const file = join(path, "buckets", `${String(bucket).padStart(3, "0")}.sqlite`);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new StoreError("damaged", `${file}: there is no such file`);
  return new PageFile(file);
}

/** The number of the deployed application; nothing where it cannot be read, which is told elsewhere. */
function storedNumber(directory: DataDirectory): number | undefined {
  try {
    return directory.readApplication()?.number;
  } catch (error) {
    if (error instanceof StoreError) return undefined;
    throw error;
  }
}

/** What was found of a bucket when it was repaired, with what only a look at all of them had told. */
function withNoted(bucket: BucketReport, before: BucketReport | undefined): BucketReport {
  const own = new Set(bucket.damage.map(({ what }) => what));
  return { ...bucket, damage: [...bucket.damage, ...(before?.damage ?? []).filter(({ what }) => !own.has(what))] };
}

/** Writes the notes that make partitions whole that belong together. What is left that is not. */
function repairNotes(path: string, openSql: OpenSql, notes: NoteReader): readonly NotedDamage[] {
  const directory = DataDirectory.open(path, openSql, undefined, "any");
  try {
    const { buckets } = directory;
    const stored = directory.readApplication();
    const inBucket = <Result>(bucket: number, work: (sql: SqlConnection) => Result): Result => {
      const sql = openBucket(directory.path, { bucket, buckets }, openSql);
      try {
        return work(sql);
      } finally {
        sql.close();
      }
    };
    const noted = (): NotedPartition[] =>
      Array.from({ length: buckets }, (_, bucket) => inBucket(bucket, notedPartitions)).flat();
    for (const { bucket, key, note } of notes.mended(noted(), buckets)) {
      const options = { bucket, buckets, application: stored?.number ?? 0 };
      inBucket(bucket, (sql) => putNote(sql, options, key, note));
    }
    return notes.damage(noted(), buckets);
  } finally {
    directory.close();
  }
}

/** Notes something of a partition, which is made if there is none; of one that is there its note may be lost. */
function putNote(sql: SqlConnection, options: PartitionStoreOptions, key: string, note: string): void {
  const [row] = sql.all<PartitionRow>("SELECT number, key, application FROM partition WHERE key = ?", key);
  if (row === undefined) {
    new PartitionStore(sql, options).note(key, note);
    return;
  }
  const heads = new Heads(sql, options);
  sql.transaction(() => {
    new Notes(sql).write(row.number, note);
    heads.write(row, row, heads.derived(row.number), note);
  });
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

async function eachBucket(
  path: string,
  openSql: OpenSql,
  { signal, onBucket, isSealed }: DirectoryWatch & { readonly isSealed: IsSealed },
  work: (directory: DataDirectory, bucket: number) => BucketReport | Promise<BucketReport>,
): Promise<DirectoryReport> {
  if (!isDataDirectory(path)) throw new StoreError("refused", `${path} is not a data directory`);
  // SQLite opens nothing where it cannot write, which would be told as damage.
  accessSync(path, constants.W_OK);
  const directory = DataDirectory.open(path, openSql, undefined, "any");
  try {
    const damage: StoreError[] = [];
    await attempt(() => directory.readApplication(), damage);
    for (const problem of isSealed[KEYS]?.problems() ?? []) damage.push(new StoreError("damaged", problem));
    const buckets: BucketReport[] = [];
    let whole = 0;
    for (let bucket = 0; bucket < directory.buckets; bucket += 1) {
      // Whoever ends it has to be heard.
      await turn();
      if (signal?.aborted) break;
      onBucket?.(bucket, directory.buckets);
      const told: StoreError[] = [];
      const report = await attempt(() => work(directory, bucket), told);
      const nothing = { bucket, partitions: 0, operations: 0, segments: 0, blocks: 0 };
      const unread = told.map(({ message: what }) => ({ what }));
      const hasDamagedPages = told.some(isSalvaged);
      buckets.push(report ?? { ...nothing, damage: unread, ...(hasDamagedPages && { hasDamagedPages }) });
      if (!signal?.aborted) whole += 1;
    }
    const ended = whole < directory.buckets && { ended: { buckets: whole, of: directory.buckets } };
    return { path: directory.path, buckets, damage: damage.map(({ message }) => message), kept: [], ...ended };
  } finally {
    directory.close();
  }
}

/** What says nothing of what is stored: it is not told as damage, and ends a check. */
const PASSING: readonly StoreErrorKind[] = ["full", "readonly", "busy"];
/** What keeps a bucket from being opened that is there. */
const SALVAGED: readonly StoreErrorKind[] = ["damaged", "refused"];

/** Whether pages may have something nevertheless, some of which the device may not read. */
function isSalvaged({ kind, message }: StoreError): boolean {
  return SALVAGED.includes(kind) || message.includes("SQLITE_IOERR_READ");
}

/** Runs work; what of the store keeps it from being done is told. */
async function attempt<Result>(work: () => Result | Promise<Result>, told: StoreError[]): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof StoreError) || PASSING.includes(error.kind)) throw error;
    told.push(error);
    return undefined;
  }
}
