/** Files and folders that are whole after a crash, or not there. */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { StoreError } from "../store-error.ts";

const SQLITE_MAGIC = "SQLite format 3\0";

/** Makes a folder that is its owner's, and those above it. */
export function makeDirectory(path: string): void {
  try {
    const first = makeFolders(path, 0o700);
    if (first === undefined) return;
    chmodSync(path, 0o700);
    // The name of each that was made is in the one above it.
    for (let made = path; made.length >= first.length; made = dirname(made)) syncDirectory(dirname(made));
  } catch (error) {
    throw new StoreError("io", `${path} cannot be used: ${error instanceof Error ? error.message : error}`, error);
  }
}

/**
 * Makes a folder and those above it, unless something is there; gives the first that was made. Node's own way never ends
 * where a folder takes none, as /proc does.
 */
export function makeFolders(path: string, mode = 0o777): string | undefined {
  if (isThere(path)) return undefined;
  const parent = dirname(path);
  const first = parent === path ? undefined : makeFolders(parent, mode);
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!isThere(path)) throw error;
  }
  return first ?? path;
}

/** Makes an empty file that is its owner's, unless one is there: who closes a file ends the locks that its process has of it. */
export function makeFile(path: string): void {
  if (!isThere(path)) closeSync(openSync(path, "a", 0o600));
}

/** Whether something is there. What may not be looked at is no "no", and throws. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    // Within a file there is nothing.
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
    throw error;
  }
}

/** Whether a file begins as SQLite's do. */
export function isSqlite(path: string): boolean {
  const begin = Buffer.alloc(SQLITE_MAGIC.length);
  const file = openSync(path, "r");
  try {
    readSync(file, begin, 0, begin.length, 0);
  } finally {
    closeSync(file);
  }
  return begin.toString("latin1") === SQLITE_MAGIC;
}

/** Writes a file so that after a crash its name stands for the old content or the new, both whole. */
export function writeDurably(directory: string, name: string, content: Uint8Array): void {
  const fresh = join(directory, `${name}.new`);
  const file = openSync(fresh, "w", 0o600);
  try {
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    fsyncSync(file);
  } catch (error) {
    // A device that is full has to have its room back.
    rmSync(fresh, { force: true });
    // Of what is open the system does not say where it is.
    throw Object.assign(error as Error, { path: fresh });
  } finally {
    closeSync(file);
  }
  renameSync(fresh, join(directory, name));
  try {
    syncDirectory(directory);
  } catch (error) {
    // Whatever the device says, "full" among it, is no "nothing was changed": it stands there, and may go with the power.
    throw new StoreError("io", `${join(directory, name)} may not last: ${(error as Error).message}`, error);
  }
}

/** Puts what a file has on stable storage. */
export function syncFile(path: string): void {
  sync(path, "r+");
}

/** Removes a file whose bytes are not to be found on the device afterwards, as far as that is up to who writes. */
export function eraseFile(path: string): void {
  if (!isThere(path)) return;
  const file = openSync(path, "r+");
  try {
    writeSync(file, new Uint8Array(statSync(path).size), 0);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  rmSync(path);
}

/** Makes the names in a directory durable. Windows has no such call and needs none. */
export function syncDirectory(path: string): void {
  if (process.platform !== "win32") sync(path, "r");
}

function sync(path: string, flags: "r" | "r+"): void {
  const opened = openSync(path, flags);
  try {
    fsyncSync(opened);
  } catch (error) {
    // Of what is open the system does not say where it is.
    throw Object.assign(error as Error, { path });
  } finally {
    closeSync(opened);
  }
}
