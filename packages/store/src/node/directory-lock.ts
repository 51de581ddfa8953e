/** Who has a data directory: one process, and of that one copy of this module. */

import { randomUUID } from "node:crypto";
import { accessSync, constants, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { OpenSql, SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { makeFile } from "./durable-files.ts";

const SQLITE_OLDEST = "3.51.3";
/** The file that is locked. */
export const LOCK = "lock.sqlite";

/**
 * Locks that are held, and of which file: a connection that is garbage is closed, and a lock must not end by inattention. Another copy of this module
 * in the process has them, too: another copy of SQLite sees no lock of its own process, and ends them all when it closes the file.
 */
const HELD: unique symbol = Symbol.for("brooklet.locks");
const shared = globalThis as { [HELD]?: Map<SqlConnection, string> };
shared[HELD] ??= new Map();
const held = shared[HELD];

/** One process at a time: an exclusive transaction on a file of its own, which the system ends with the process. */
export function takeLock(path: string, directory: string, openSql: OpenSql): SqlConnection {
  makeFile(path);
  // Of a file that is only read SQLite locks nothing, and says that it did.
  demandAccess(path, constants.R_OK | constants.W_OK);
  // No other file has its number as long as it is open.
  const { dev, ino } = statSync(path, { bigint: true });
  const file = `${dev} ${ino}`;
  const refused = (by: string, cause?: unknown): StoreError =>
    new StoreError("busy", `the data directory ${directory} is ${by}`, cause);
  if ([...held.values()].includes(file))
    throw refused("open in this process already: open it once, and share that (by once: true)");
  const sql = openSql(path);
  try {
    refuseSqlite(sql);
    lockWhole(sql);
    held.set(sql, file);
    return sql;
  } catch (error) {
    sql.close();
    if (!(error instanceof StoreError && error.kind === "busy")) throw error;
    if (takesLocks(`${path}.${randomUUID()}`, openSql)) throw refused("in use by another process", error);
    const where = "on a file system that locks no files (ENOLCK), as one of a network may be";
    throw new StoreError("refused", `the data directory ${directory} is ${where}: nothing keeps others from it`, error);
  }
}

/** Whether a file that nobody else knows can be locked: SQLite tells a lock that cannot be had from one that another has by nothing. */
function takesLocks(path: string, openSql: OpenSql): boolean {
  const sql = openSql(path);
  try {
    lockWhole(sql);
    return true;
  } catch (error) {
    if (error instanceof StoreError && error.kind === "busy") return false;
    throw error;
  } finally {
    sql.close();
    rmSync(path, { force: true });
  }
}

/** What the lock of a directory is known by; nothing: there is none. */
export function lockOf(directory: string): string | undefined {
  const found = statSync(join(directory, LOCK), { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

/** What was thrown of locks that are gone: the same for all buckets, so that it is told once. */
const gone = new Map<string, StoreError>();

/** Throws unless the lock of a directory is still this one: who removes the file lets another process in. */
export function demandLock(directory: string, lock: string | undefined): void {
  if (lockOf(directory) === lock) return;
  const what = `${join(directory, LOCK)} was removed or replaced while the directory is in use`;
  const message = `${what}: another process may have it, and nothing is written any more until a restart`;
  const error = gone.get(`${directory} ${lock}`) ?? new StoreError("busy", message);
  gone.set(`${directory} ${lock}`, error);
  throw error;
}

/** Locks a database that stays empty. Without a file for what it was before: a device that is full has no room for one. */
export function lockWhole(sql: SqlConnection): void {
  sql.run("PRAGMA journal_mode = MEMORY");
  sql.run("BEGIN EXCLUSIVE");
}

/** Lets others in. */
export function releaseLock(lock: SqlConnection): void {
  held.delete(lock);
  lock.close();
}

/** Throws where a place may not be used so. */
export function demandAccess(place: string, mode: number): void {
  try {
    accessSync(place, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const whose = code === "EROFS" ? "its device is only read" : "it is another user's, or only read";
    const message = `${place} cannot be used: nothing may be written there (${code}): ${whose}`;
    throw new StoreError("readonly", message, error);
  }
}

/** Refuses an SQLite before the mend of logs that begin anew while another connection writes, also where another has made the file. */
export function refuseSqlite(sql: SqlConnection): void {
  const [{ version = "" } = {}] = sql.all<{ version?: string }>("SELECT sqlite_version() AS version");
  if (version.localeCompare(SQLITE_OLDEST, "en", { numeric: true }) >= 0) return;
  const remedy = "run the build script of better-sqlite3, or use Node 22.23, 24.15 or later (brooklet doctor says how)";
  throw new StoreError("refused", `SQLite ${version} is older than ${SQLITE_OLDEST}; ${remedy}`);
}
