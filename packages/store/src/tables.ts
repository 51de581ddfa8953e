/**
 * The tables of a bucket, how a new one is made, and how an existing one is let in: exactly ours, or refused without a
 * change. What the rows mean is `partition-store.ts`'s.
 */
import type { BucketIdentity } from "./bucket-identity.ts";
import { Heads } from "./heads.ts";
import { hasNotes, NOTES } from "./notes.ts";
import type { Sql } from "./sql.ts";
import { StoreError } from "./store-error.ts";

export type { BucketIdentity } from "./bucket-identity.ts";

/**
 * Version of what a bucket holds; `PRAGMA user_version` of every bucket. 2 is 1 with operations and segments that say
 * when their documents were written; 3 has segments that say how long their documents are, 4 such that say where words
 * stand; in 5 the schemas of operations and segments have lives; in 6 partitions have heads; 7 has segments whose blocks may be
 * packed, and heads that tell what is noted. What 1 to 6 wrote is read as it is, and has such heads from then on.
 */
export const FORMAT_VERSION = 7;
/** The oldest version that is read; a bucket of it becomes one of `FORMAT_VERSION` when it is opened. */
const OLDEST_VERSION = 1;

/** `PRAGMA application_id` of every bucket: "brkl". */
export const APPLICATION_ID = 0x62726b6c;

/** Size of a page of a bucket file (docs: 16 KiB reads blocks of 256 KiB best). */
export const PAGE_BYTES = 16_384;

/** Blocks of a segment have the ids from `segment * BLOCKS_PER_SEGMENT` on: below 2^53 for every 32-bit segment. */
export const BLOCKS_PER_SEGMENT: number = 2 ** 20;

const TABLES: readonly (readonly [name: string, sql: string])[] = [
  ["about", "CREATE TABLE about (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID"],
  [
    "partition",
    "CREATE TABLE partition (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, application INTEGER NOT NULL) STRICT",
  ],
  [
    "operation",
    "CREATE TABLE operation (number INTEGER PRIMARY KEY, partition INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT",
  ],
  ["operation_of_partition", "CREATE INDEX operation_of_partition ON operation (partition)"],
  [
    "segment",
    "CREATE TABLE segment (number INTEGER PRIMARY KEY, partition INTEGER NOT NULL, schema TEXT NOT NULL, documents INTEGER NOT NULL, header BLOB NOT NULL, liveness BLOB NOT NULL) STRICT",
  ],
  ["segment_of_partition", "CREATE INDEX segment_of_partition ON segment (partition)"],
  ["block", "CREATE TABLE block (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"],
  ["head", "CREATE TABLE head (partition INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT"],
];
/** The first version whose buckets have heads. */
const HEADS_VERSION = 6;

/** How a file's commits are made durable: by a log beside it, or where that cannot be had by a journal that is emptied. */
export type CommitLog = "WAL" | "TRUNCATE";

/** Pragmas of every connection and the value each must have when read back. Library defaults differ: none is relied on. */
const PRAGMAS: readonly (readonly [name: string, set: string, read: number | string])[] = [
  ["synchronous", "FULL", 2],
  ["secure_delete", "ON", 1],
  ["trusted_schema", "OFF", 0],
  ["cell_size_check", "ON", 1],
  ["mmap_size", "0", 0],
  ["temp_store", "MEMORY", 2],
  // Checkpoints are ours alone: between them the file is what it was, and is read as that (`node/block-file.ts`).
  ["wal_autocheckpoint", "0", 0],
  ["cache_size", "-4096", -4096],
];

/** Makes the tables in an empty database. */
export function createTables(sql: Sql, identity: BucketIdentity): void {
  const { bucket, buckets } = identity;
  sql.transaction(() => {
    for (const [, statement] of TABLES) sql.run(statement);
    const about = { format_version: FORMAT_VERSION, bucket, buckets, next_operation: 1, next_segment: 1 };
    for (const [name, value] of Object.entries(about))
      sql.run("INSERT INTO about (name, value) VALUES (?, ?)", name, value);
    new Heads(sql, identity).derive();
  });
}

/**
 * Prepares an empty file before its tables are made: the size of its pages, its kind of log, and the marks by which it
 * is known. Nothing is synced: who makes the file does that once, when it is whole.
 */
export function stampFile(sql: Sql, log: CommitLog = "WAL"): void {
  sql.run("PRAGMA synchronous = OFF");
  sql.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  // Pages that nothing stands in can be given back, a few at a time. It cannot be had later: files of before keep theirs.
  sql.run("PRAGMA auto_vacuum = INCREMENTAL");
  sql.run(`PRAGMA journal_mode = ${log}`);
  sql.run(`PRAGMA application_id = ${APPLICATION_ID}`);
  sql.run(`PRAGMA user_version = ${FORMAT_VERSION}`);
}

/** Sets what holds for every connection to a file and reads it back. */
export function configureFile(sql: Sql, log: CommitLog = "WAL"): void {
  for (const [name, set, expected] of [["journal_mode", log, log.toLowerCase()] as const, ...PRAGMAS]) {
    sql.run(`PRAGMA ${name} = ${set}`);
    const value = pragma(sql, name);
    if (value !== expected) throw new StoreError("io", `SQLite has ${name} = ${value} where ${expected} was set`);
  }
}

/** Refuses a file that is not ours or of another version, by the two numbers in its header. */
export function refuseVersion(applicationId: number, version: number): void {
  if (applicationId !== APPLICATION_ID) throw new StoreError("refused", "not a brooklet bucket");
  if (!isRead(version)) {
    const read = `this release reads versions ${OLDEST_VERSION} to ${FORMAT_VERSION}`;
    throw new StoreError("refused", `format version ${version}; ${read}`);
  }
}

/** Requires that a database is the bucket it should be, of a version that is read, with exactly our tables. The version. */
export function checkTables(sql: Sql, identity: BucketIdentity): number {
  const expected = new Map(TABLES);
  if (hasNotes(sql)) expected.set(...NOTES);
  const [about] = sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'about'");
  if (about !== undefined && !hasHeads(readAbout(sql, "format_version"))) expected.delete("head");
  const found = sql.all<{ name: string; sql: string | null }>(
    "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_autoindex%' ESCAPE '\\' ORDER BY name",
  );
  for (const { name, sql: text } of found) {
    if (expected.get(name) !== text)
      throw new StoreError("refused", `tampered: ${JSON.stringify(name)} is not as we made it`);
    expected.delete(name);
  }
  if (expected.size > 0) throw new StoreError("refused", `tampered: ${[...expected.keys()].join(", ")} missing`);
  const version = readAbout(sql, "format_version");
  // The header of a file whose log was not emptied may be of the version before.
  if (version === undefined || !isRead(version)) {
    throw new StoreError("refused", `format_version is ${version}, not ${FORMAT_VERSION}`);
  }
  for (const [name, value] of Object.entries({ bucket: identity.bucket, buckets: identity.buckets })) {
    const stored = readAbout(sql, name);
    if (stored !== value) throw new StoreError("refused", `${name} is ${stored}, not ${value}`);
  }
  return version;
}

/** Whether buckets of a version have heads. */
export function hasHeads(version: number | undefined): boolean {
  return (version ?? 0) >= HEADS_VERSION;
}

/** Makes a bucket of an earlier version one of this: an earlier release must not read what is written from here on. */
export function upgradeTables(sql: Sql, identity: BucketIdentity): void {
  const version = readAbout(sql, "format_version");
  if (version === FORMAT_VERSION) return;
  sql.transaction(() => {
    if (!hasHeads(version)) {
      for (const [name, statement] of TABLES) if (name === "head") sql.run(statement);
      new Heads(sql, identity).derive();
    } else new Heads(sql, identity).sealNotes();
    sql.run("UPDATE about SET value = ? WHERE name = 'format_version'", FORMAT_VERSION);
    sql.run(`PRAGMA user_version = ${FORMAT_VERSION}`);
  });
}

function isRead(version: number): boolean {
  return version >= OLDEST_VERSION && version <= FORMAT_VERSION;
}

function readAbout(sql: Sql, name: string): number | undefined {
  return sql.all<{ value: number }>("SELECT value FROM about WHERE name = ?", name)[0]?.value;
}

function pragma(sql: Sql, name: string): unknown {
  const row = sql.all<Record<string, unknown>>(`PRAGMA ${name}`)[0];
  return row === undefined ? undefined : Object.values(row)[0];
}
