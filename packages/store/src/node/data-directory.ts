/**
 * A directory that holds an application and its buckets on Node: made whole or not at all, used by one process at a
 * time, and let in only as we left it. What is in the files is decided elsewhere.
 */
import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { headKeyOf } from "../heads.ts";
import type { OpenSql, SqlConnection } from "../sql.ts";
import { SECRET_BYTES, type Storage, type StoredApplication, type StoredBackup } from "../storage.ts";
import { StoreError, storeErrorAt, systemFailure } from "../store-error.ts";
import {
  type BucketIdentity,
  checkTables,
  configureFile,
  createTables,
  hasHeads,
  refuseVersion,
  stampFile,
  upgradeTables,
} from "../tables.ts";
import { withBlobs } from "./block-file.ts";
import { DESCRIPTOR, demandEncryption, type EncryptionChoice, isEncrypted, prepareKeys } from "./directory-key.ts";
import { demandAccess, demandLock, LOCK, lockOf, refuseSqlite, releaseLock, takeLock } from "./directory-lock.ts";
import { isThere, makeDirectory, syncDirectory, syncFile, writeDurably } from "./durable-files.ts";
import { copyKeys } from "./encryption.ts";
import { GenerationFile } from "./generation-file.ts";
import { KEYS_FOLDER } from "./group-keys.ts";
import { BACKUPS, backupsOf, type KnownBackup, noteBackups } from "./noted-backups.ts";

export type { OpenSql } from "../sql.ts";

const DIRECTORY_VERSION = 1;
/** The version of one that is encrypted, which an earlier release must not read. */
const ENCRYPTED_VERSION = 2;
const APPLICATION = "application";
const SECRET = "secret";
const BUCKETS = "buckets";
/** A folder in the directory that is not ours: models are downloaded to it, also before there is anything else. */
export const MODELS_FOLDER = "models";
const APPLICATION_MAGIC = "brklapp1";
const DIGEST_BYTES = 32;
const SQLITE_MAGIC = "SQLite format 3\0";

/** What a directory is made of that is restored. */
export interface RestoredDirectory {
  readonly buckets: number;
  /** As `applicationIn` gave it. */
  readonly application: Uint8Array | undefined;
  /** Those that have what it is made of. */
  readonly backups?: readonly KnownBackup[];
  /** What it is encrypted with, and a copy of the keys of its groups. */
  readonly encryption?: { readonly key: Uint8Array; readonly keys: string };
  /** Fills an empty bucket; what it throws ends the restoration, and leaves nothing at its path. */
  readonly fill: (sql: SqlConnection, identity: BucketIdentity) => Promise<void>;
}

/** Buckets of a directory that is made without saying how many. */
export const BUCKETS_DEFAULT = 16;

/** A data directory, locked by this process until it is closed. */
export class DataDirectory implements Storage {
  readonly path: string;
  readonly buckets: number;
  readonly secret: Uint8Array;
  /** What the lock is known by, to who opens buckets in another thread. */
  readonly lock: string | undefined;
  readonly #lock: SqlConnection;
  readonly #openSql: OpenSql;
  #closed = false;

  private constructor(path: string, buckets: number, secret: Uint8Array, lock: SqlConnection, openSql: OpenSql) {
    this.path = path;
    this.buckets = buckets;
    this.secret = secret;
    this.#lock = lock;
    this.lock = lockOf(path);
    this.#openSql = openSql;
  }

  /** Opens `path`, making it if there is nothing. The number of buckets of an existing directory never changes. */
  static open(
    path: string,
    openSql: OpenSql,
    buckets: number = BUCKETS_DEFAULT,
    encryption: EncryptionChoice = "none",
  ): DataDirectory {
    const directory = resolve(path);
    return at(directory, () => DataDirectory.#open(directory, openSql, buckets, encryption));
  }

  static #open(directory: string, openSql: OpenSql, buckets: number, encryption: EncryptionChoice): DataDirectory {
    makeDirectory(directory);
    const found = readdirSync(directory);
    demandWritable(directory, found);
    const known = [
      DESCRIPTOR,
      LOCK,
      `${LOCK}-journal`,
      APPLICATION,
      SECRET,
      BUCKETS,
      MODELS_FOLDER,
      `${DESCRIPTOR}.new`,
      `${APPLICATION}.new`,
      `${SECRET}.new`,
      BACKUPS,
      `${BACKUPS}.new`,
      KEYS_FOLDER,
    ];
    const stranger = found.find((name) => !known.includes(name));
    if (stranger !== undefined && !found.includes(DESCRIPTOR)) {
      throw new StoreError(
        "refused",
        `${directory} is not a brooklet data directory: it holds ${JSON.stringify(stranger)}`,
      );
    }
    const lock = takeLock(join(directory, LOCK), directory, openSql);
    try {
      // Buckets are sealed with it.
      const secret = readSecret(directory);
      const found = describe(directory, openSql, buckets, encryption);
      return new DataDirectory(directory, found, secret, lock, openSql);
    } catch (error) {
      releaseLock(lock);
      throw error;
    }
  }

  /** Opens a bucket. */
  openBucket(bucket: number): SqlConnection {
    this.#refuseIfClosed();
    return openBucket(this.path, { bucket, buckets: this.buckets }, this.#openSql, this.lock);
  }

  /** The last deployed package. */
  readApplication(): StoredApplication | undefined {
    this.#refuseIfClosed();
    const path = join(this.path, APPLICATION);
    const file = at(path, () => (isThere(path) ? readFileSync(path) : undefined));
    if (file === undefined) return undefined;
    const header = APPLICATION_MAGIC.length + 4;
    const bytes = file.subarray(header + DIGEST_BYTES);
    const intact =
      file.subarray(0, APPLICATION_MAGIC.length).toString("latin1") === APPLICATION_MAGIC &&
      file.subarray(header, header + DIGEST_BYTES).equals(digest(bytes));
    if (!intact) throw new StoreError("damaged", `${path} is not what was written`);
    return { number: file.readUInt32LE(APPLICATION_MAGIC.length), bytes: new Uint8Array(bytes) };
  }

  /** Stores a package on stable storage: after a crash there is this one or the one before, never a mixture. */
  storeApplication(application: StoredApplication): void {
    this.#refuseIfClosed();
    const number = Buffer.alloc(4);
    number.writeUInt32LE(application.number);
    const parts = [Buffer.from(APPLICATION_MAGIC, "latin1"), number, digest(application.bytes), application.bytes];
    at(this.path, () => writeDurably(this.path, APPLICATION, Buffer.concat(parts)));
  }

  backups(): readonly StoredBackup[] {
    this.#refuseIfClosed();
    return backupsOf(this.path);
  }

  filesOf(bucket: number): readonly string[] {
    const file = join(BUCKETS, String(bucket).padStart(3, "0"));
    const names = [`${file}.sqlite`, `${file}.sqlite-wal`];
    return this.isEncrypted ? [...names, join(KEYS_FOLDER, `${String(bucket).padStart(3, "0")}.sqlite`)] : names;
  }

  get isEncrypted(): boolean {
    return isEncrypted(this.path);
  }

  /** Lets another process in. Buckets must be closed before. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    releaseLock(this.#lock);
  }

  /** Without the lock the directory is another's. */
  #refuseIfClosed(): void {
    if (this.#closed) throw new StoreError("closed", `the data directory ${this.path} is closed`);
    demandLock(this.path, this.lock);
  }
}

/** Runs `work`; what of the store or the system keeps it from being done is a `StoreError` that names the place. */
function at<Result>(place: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw storeErrorAt(place, error);
  }
}

/** Throws where nothing can be written, which the first write would meet, and reads too: a log is made for each. */
function demandWritable(directory: string, found: readonly string[]): void {
  for (const place of [directory, ...(found.includes(BUCKETS) ? [join(directory, BUCKETS)] : [])])
    demandAccess(place, constants.W_OK | constants.X_OK);
}

/** The secret of a data directory, which may be in use. Throws where there is none. */
export function secretIn(directory: string): Uint8Array {
  return new Uint8Array(readFileSync(join(directory, SECRET)));
}

/** How many buckets a directory has, which may be in use. Throws a `StoreError` if it is no data directory. */
export function bucketsIn(directory: string): number {
  const path = join(directory, DESCRIPTOR);
  if (!isThere(path)) throw new StoreError("refused", `${directory} is not a data directory`);
  return readDescriptor(path);
}

/** The package that a directory has, which may be in use, as it is stored. Nothing: none was deployed. */
export function applicationIn(directory: string): Uint8Array | undefined {
  const path = join(directory, APPLICATION);
  return isThere(path) ? new Uint8Array(readFileSync(path)) : undefined;
}

/**
 * Makes a directory of what a backup has. It is made beside `path`, and moved there when all of it is on stable storage: where there
 * is something already, nothing is done. A failure leaves nothing: it would be documents, and room on a device that may be full.
 */
export async function restoreDirectory(
  path: string,
  openSql: OpenSql,
  { buckets, application, backups = [], encryption, fill }: RestoredDirectory,
): Promise<void> {
  const target = resolve(path);
  if (lstatSync(target, { throwIfNoEntry: false }) !== undefined)
    throw new StoreError("refused", `${target} is there already: restore to a new path`);
  const fresh = `${target}.restoring`;
  // What one left that was killed goes. One that is under way has the lock of it.
  if (isThere(fresh)) releaseLock(takeLock(join(fresh, LOCK), fresh, openSql));
  rmSync(fresh, { recursive: true, force: true });
  let directory: DataDirectory | undefined;
  try {
    makeDirectory(fresh);
    if (encryption !== undefined) copyKeys(encryption.keys, join(fresh, KEYS_FOLDER), encryption.key, openSql);
    directory = DataDirectory.open(fresh, openSql, buckets, encryption?.key ?? "none");
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const sql = directory.openBucket(bucket);
      try {
        await fill(sql, { bucket, buckets });
        sql.checkpoint?.(true);
      } finally {
        sql.close();
      }
    }
    if (application !== undefined) writeDurably(fresh, APPLICATION, Buffer.from(application));
    noteBackups(fresh, backups);
    directory.readApplication();
  } catch (error) {
    directory?.close();
    // Who began at the same moment may have the lock of it.
    if (!(error instanceof StoreError && error.kind === "busy")) rmSync(fresh, { recursive: true, force: true });
    throw error instanceof StoreError ? storeErrorAt(target, error) : error;
  }
  directory.close();
  renameSync(fresh, target);
  syncDirectory(dirname(target));
}

/** The secret of a directory, which gets one if it has none. */
function readSecret(directory: string): Uint8Array {
  const path = join(directory, SECRET);
  if (!isThere(path)) writeDurably(directory, SECRET, randomBytes(SECRET_BYTES));
  const secret = new Uint8Array(readFileSync(path));
  if (secret.length !== SECRET_BYTES) throw new StoreError("damaged", `${path} is not what was written`);
  return secret;
}

/** Opens a bucket of a directory that has this lock: checked before SQLite touches it, configured, and checked again. */
export function openBucket(
  directory: string,
  identity: BucketIdentity,
  openSql: OpenSql,
  lock: string | undefined = lockOf(directory),
): SqlConnection {
  const path = bucketPath(directory, identity.bucket);
  const demandOwn = (): void => demandLock(directory, lock);
  return refusing(path, () => {
    demandOwn();
    checkHeader(path);
    const hasLog = (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    const sql = openSql(path);
    try {
      const generation = generationPath(directory, identity.bucket);
      const key = headKeyOf(secretIn(directory));
      // A bucket without heads was not followed until now.
      if (!hasHeads(checkTables(sql, identity)) && !isThere(generation)) {
        GenerationFile.make(generation, key);
        syncDirectory(dirname(generation));
      }
      configureFile(sql);
      const guarded = guardedBy(sql, new GenerationFile(generation, key), demandOwn);
      try {
        upgradeTables(guarded, identity);
        return withBlobs(guarded, path, hasLog);
      } catch (error) {
        guarded.guard.close();
        throw error;
      }
    } catch (error) {
      sql.close();
      throw error;
    }
  });
}

/** A bucket whose progress is noted in a file. Where that cannot be written, nor can the bucket; nor where it may be another's. */
function guardedBy(
  sql: SqlConnection,
  guard: GenerationFile,
  demandOwn: () => void,
): SqlConnection & { readonly guard: GenerationFile } {
  if (guard.isReadOnly) sql.run("PRAGMA query_only = ON");
  return {
    ...sql,
    guard,
    ...(guard.isReadOnly && { isWritable: () => guard.isWritable() }),
    transaction: (work) => {
      demandOwn();
      return sql.transaction(work);
    },
    checkpoint: (truncate) => {
      demandOwn();
      const isWhole = sql.checkpoint?.(truncate) ?? false;
      if (truncate) guard.sync();
      return isWhole;
    },
    close: () => {
      guard.close();
      sql.close();
    },
  };
}

function generationPath(directory: string, bucket: number): string {
  return join(directory, BUCKETS, `${String(bucket).padStart(3, "0")}.generation`);
}

function bucketPath(directory: string, bucket: number): string {
  return join(directory, BUCKETS, `${String(bucket).padStart(3, "0")}.sqlite`);
}

/** The number of buckets of a directory, which is made complete if its making was interrupted or has not begun. */
function describe(directory: string, openSql: OpenSql, buckets: number, encryption: EncryptionChoice): number {
  const path = join(directory, DESCRIPTOR);
  if (isThere(path)) {
    const found = readDescriptor(path);
    demandEncryption(directory, encryption, openSql);
    return found;
  }
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > 999)
    throw new RangeError(`1 to 999 buckets, not ${buckets}`);
  makeDirectory(join(directory, BUCKETS));
  for (let bucket = 0; bucket < buckets; bucket += 1) makeBucket(directory, { bucket, buckets }, openSql);
  syncDirectory(join(directory, BUCKETS));
  // Last: where there is a descriptor, every bucket was there once, and a missing one is a loss that must be told.
  const isEncrypted = typeof encryption !== "string";
  if (isEncrypted) prepareKeys(directory, encryption);
  const version = isEncrypted ? ENCRYPTED_VERSION : DIRECTORY_VERSION;
  const text = `${JSON.stringify({ version, minReader: version, buckets, ...(isEncrypted && { encrypted: true }) })}\n`;
  writeDurably(directory, DESCRIPTOR, Buffer.from(text));
  return buckets;
}

function readDescriptor(path: string): number {
  return refusing(path, () => {
    const { minReader, version, buckets } = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    if (typeof minReader !== "number" || minReader > ENCRYPTED_VERSION) {
      const read = `this release reads versions ${DIRECTORY_VERSION} and ${ENCRYPTED_VERSION}`;
      throw new StoreError("refused", `directory version ${version}; ${read}`);
    }
    if (typeof buckets !== "number" || !Number.isInteger(buckets) || buckets < 1)
      throw new StoreError("damaged", "no buckets");
    return buckets;
  });
}

/** Makes an empty bucket beside its place and moves it there whole. One that is there is checked and kept. */
function makeBucket(directory: string, identity: BucketIdentity, openSql: OpenSql): void {
  const path = bucketPath(directory, identity.bucket);
  if (isThere(path)) {
    openBucket(directory, identity, openSql).close();
    return;
  }
  const key = headKeyOf(secretIn(directory));
  GenerationFile.make(generationPath(directory, identity.bucket), key);
  renameSync(freshBucket(path, identity, key, openSql), path);
}

/**
 * Puts another file in the place of a bucket, filled beside it. `settle` is called when that is on stable storage, and leaves no log there: a log
 * belongs to whatever file has its name.
 */
export function replaceBucket(
  directory: string,
  identity: BucketIdentity,
  openSql: OpenSql,
  { fill, settle }: { readonly fill: (sql: SqlConnection) => void; readonly settle: () => void },
): void {
  const path = bucketPath(directory, identity.bucket);
  refusing(path, () => {
    const fresh = freshBucket(path, identity, headKeyOf(secretIn(directory)), openSql, fill);
    try {
      settle();
    } catch (error) {
      rmSync(fresh, { force: true });
      throw error;
    }
    renameSync(fresh, path);
    syncDirectory(dirname(path));
  });
}

/** Makes a bucket beside its place, where it is on stable storage then; nothing is left of one that fails. */
function freshBucket(
  path: string,
  identity: BucketIdentity,
  key: Uint8Array,
  openSql: OpenSql,
  fill: (sql: SqlConnection) => void = () => undefined,
): string {
  const fresh = `${path}.new`;
  const clear = (): void => {
    for (const leftover of [fresh, `${fresh}-wal`, `${fresh}-shm`]) rmSync(leftover, { force: true });
  };
  clear();
  closeSync(openSync(fresh, "wx", 0o600));
  const sql = openSql(fresh);
  try {
    refuseSqlite(sql);
    stampFile(sql);
    const guard = { key, reached: () => ({ changes: 0, operation: 0 }), reach: () => undefined };
    createTables({ ...sql, guard }, identity);
    fill({ ...sql, guard });
    // A failure of what closing does with the log would not be told, and the log does not come along.
    sql.checkpoint?.(true);
    sql.close();
    checkHeader(fresh);
    syncFile(fresh);
    return fresh;
  } catch (error) {
    sql.close();
    clear();
    throw error;
  }
}

/** Refuses, without opening it in SQLite, a file that is missing, empty, foreign or of another version; its version. */
export function checkHeader(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError("damaged", "the file is missing");
  if (!found.isFile()) throw new StoreError("refused", "not a file");
  const header = Buffer.alloc(100);
  const file = openSync(path, "r");
  let length: number;
  try {
    length = readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (length === 0)
    throw new StoreError("damaged", isThere(`${path}-wal`) ? "the file is empty beside a log" : "the file is empty");
  if (length < header.length || header.subarray(0, 16).toString("latin1") !== SQLITE_MAGIC) {
    throw new StoreError("refused", "not an SQLite database");
  }
  const version = header.readUInt32BE(60);
  refuseVersion(header.readUInt32BE(68), version);
  return version;
}

/** Runs `work`; a `StoreError` of it names the file. What the system refuses tells nothing of what is in the file. */
function refusing<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const kind = error instanceof StoreError ? error.kind : (systemFailure(error) ?? "damaged");
    throw new StoreError(kind, `${path}: ${error instanceof Error ? error.message : error}`, error);
  }
}

function digest(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
