/** A look at a data directory that changes nothing of it, also while a process serves it: whose it is, what its files are, and who has it. */
import { accessSync, constants, existsSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { headKeyOf } from "../heads.ts";
import { StoreError } from "../store-error.ts";
import { BucketMoment } from "./bucket-copy.ts";
import { bucketsIn, checkHeader, type OpenSql, secretIn } from "./data-directory.ts";
import { lockWhole } from "./directory-lock.ts";
import { GenerationFile } from "./generation-file.ts";
import { KEYS_FOLDER } from "./group-keys.ts";

/** A process that has a directory. */
export interface LockHolder {
  /** Nothing: the system does not say. */
  readonly pid?: number;
  readonly name?: string;
}

/** A bucket as it stands in its files. */
export interface BucketLook {
  readonly bucket: number;
  readonly bytes: number;
  readonly logBytes: number;
  /** What keeps it from being used. */
  readonly problem?: string;
  /** Why nothing can be told of it: its device has no room for what SQLite makes beside it. */
  readonly unseen?: string;
}

/** What there is of a data directory. */
export interface DirectoryLook {
  readonly path: string;
  /** Nothing: it is not there, and would be made. */
  readonly buckets?: readonly BucketLook[];
  /** What keeps it from being used as a whole. */
  readonly problem?: string;
  readonly holder?: LockHolder;
  /** Names in it that others than its owner may read or write. */
  readonly open: readonly string[];
  /** Names of files in it that are written to where they are, and that who looks may not write to. */
  readonly readOnly?: readonly string[];
  /** The newest time that a file of it was written, milliseconds since the epoch. */
  readonly writtenMs: number;
}

const OTHERS = 0o077;
const OTHERS_WRITE = 0o022;
/** Files that are written to where they are; others are put in the place of what was there. */
const WRITTEN = /\.(sqlite|sqlite-wal|sqlite-shm|generation)$/;
const NOT_OURS = "not a data directory";

/** Looks at a directory. */
export function lookAtDirectory(path: string, openSql: OpenSql): DirectoryLook {
  const directory = resolve(path);
  if (!existsSync(directory)) return { path: directory, open: [], writtenMs: 0 };
  const names = readdirSync(directory);
  if (!names.includes("brooklet.json")) {
    const isEmpty = names.every((name) => name === "models" || name === "lock.sqlite");
    return { path: directory, open: [], writtenMs: 0, ...(!isEmpty && { problem: NOT_OURS }) };
  }
  const folders = ["buckets", KEYS_FOLDER].filter((name) => names.includes(name));
  const within = folders.flatMap((folder) => readdirSync(join(directory, folder)).map((name) => join(folder, name)));
  const files = [...names.filter((name) => name !== "models" && !folders.includes(name)), ...within];
  const known = files.flatMap((name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false });
    return found === undefined ? [] : [{ name, found }];
  });
  // Who may write to a folder may put another file in the place of one that nobody else may read.
  const written = [".", ...folders].map((name) => ({ name, found: statSync(join(directory, name)) }));
  const open = [
    ...written.filter(({ found }) => (found.mode & OTHERS_WRITE) !== 0),
    ...known.filter(({ found }) => (found.mode & OTHERS) !== 0),
  ];
  const writtenMs = known.reduce((newest, { found }) => Math.max(newest, found.mtimeMs), 0);
  const holder = holderOf(join(directory, "lock.sqlite"), openSql);
  const isTold = process.platform !== "win32";
  const readOnly = known.filter(({ name }) => WRITTEN.test(name) && !isWritable(join(directory, name)));
  const look = {
    path: directory,
    readOnly: readOnly.map(({ name }) => name),
    open: isTold ? open.map(({ name }) => name) : [],
    writtenMs,
    ...(holder && { holder }),
  };
  try {
    const buckets = bucketsIn(directory);
    const numbers = Array.from({ length: buckets }, (_, bucket) => bucket);
    return { ...look, buckets: numbers.map((bucket) => lookAtBucket(directory, { bucket, buckets }, openSql)) };
  } catch (error) {
    return { ...look, problem: errorText(error) };
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function lookAtBucket(
  directory: string,
  identity: { readonly bucket: number; readonly buckets: number },
  openSql: OpenSql,
): BucketLook {
  const file = join(directory, "buckets", String(identity.bucket).padStart(3, "0"));
  const sizeOf = (name: string): number => statSync(name, { throwIfNoEntry: false })?.size ?? 0;
  const sizes = { bucket: identity.bucket, bytes: sizeOf(`${file}.sqlite`), logBytes: sizeOf(`${file}.sqlite-wal`) };
  try {
    checkHeader(`${file}.sqlite`);
    const problem = behind(directory, `${file}.generation`, identity, openSql);
    return problem === undefined ? sizes : { ...sizes, problem };
  } catch (error) {
    return { ...sizes, [isFull(error) ? "unseen" : "problem"]: errorText(error) };
  }
}

/** What says that a bucket is behind what was on stable storage of it once. Throws where its head cannot be read. */
function behind(
  directory: string,
  generation: string,
  identity: { readonly bucket: number; readonly buckets: number },
  openSql: OpenSql,
): string | undefined {
  let moment: BucketMoment;
  try {
    moment = new BucketMoment(directory, identity, openSql);
  } catch (error) {
    // An earlier release's, or one with large groups: nothing is wrong with that.
    if (error instanceof StoreError && error.kind === "refused" && !/tampered/.test(error.message)) return undefined;
    throw error;
  }
  try {
    const file = new GenerationFile(generation, headKeyOf(secretIn(directory)));
    try {
      // First: it grows while it is looked at.
      const reached = file.reached();
      const now = moment.generation;
      const isBehind = now.changes < reached.changes || now.operation < reached.operation;
      return isBehind ? "it is behind what was stored: its log was removed, or it is an earlier file" : undefined;
    } finally {
      file.close();
    }
  } finally {
    moment.close();
  }
}

/** Who has a directory; nothing: nobody does. */
function holderOf(lock: string, openSql: OpenSql): LockHolder | undefined {
  if (!existsSync(lock)) return undefined;
  const sql = openSql(lock);
  try {
    lockWhole(sql);
    sql.run("ROLLBACK");
    return undefined;
  } catch (error) {
    if (error instanceof StoreError && error.kind === "busy") return processWith(lock);
    // It could be locked, and there is no room for what comes after that.
    if (isFull(error)) return undefined;
    throw error;
  } finally {
    sql.close();
  }
}

/** The process that has a file open, where the system tells it (Linux), of those that this user may look at. */
function processWith(path: string): LockHolder {
  if (process.platform !== "linux") return {};
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    try {
      const files = readdirSync(`/proc/${pid}/fd`);
      if (!files.some((file) => linkOf(`/proc/${pid}/fd/${file}`) === path)) continue;
      return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() };
    } catch {
      // Another user's, or gone by now.
    }
  }
  return {};
}

function isFull(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "full";
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
