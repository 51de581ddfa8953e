/**
 * The keys that what is stored of groups is encrypted with, one for each partition: random, wrapped with a key that is made of the
 * operator's, in a file beside the buckets which no backup has. Who removes one has removed what it encrypted, in every copy
 * there is of it. Names of partitions are not in the file: they are found by a keyed hash.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomFillSync } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { OpenSql, SqlConnection } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { configureFile } from "../tables.ts";
import { isSqlite, isThere, makeFile } from "./durable-files.ts";
import { eraseKept } from "./kept-files.ts";

/** Length of the operator's key, and of those of groups. */
export const KEY_BYTES = 32;
/** The folder of the keys in a data directory. */
export const KEYS_FOLDER = "keys";
/** A file in it by which the operator's key is known. */
export const KEY_CHECK = "check";
/** A file in it while the operator's key is changed. */
export const KEY_ROTATION = "rotation";

/** Size of a page of a file of keys. */
export const KEY_PAGE_BYTES = 4_096;

const ALGORITHM = "aes-256-gcm";
/** The place that the check of a key is encrypted for which is not a directory's first: an earlier release, which would look for names by it, refuses it. */
const LATER_CHECK = "check of a later key";
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** What is encrypted is so much longer. */
export const ENCRYPTED_BYTES: number = 1 + NONCE_BYTES + TAG_BYTES;
/** Whether the engine gives memory back at once when it is told (Node 22 and later). */
const GIVES_BACK = "transfer" in ArrayBuffer.prototype;
/** Pieces that are opened at a time: as long as the memory of the one before is used again for the next. From 128 KiB on it is new pages each time. */
const PIECE_BYTES = GIVES_BACK ? 64 << 10 : 16 << 10;
/** "brkk": a file of keys. */
const APPLICATION_ID = 0x62726b6b;
const TABLE = "CREATE TABLE IF NOT EXISTS key (name BLOB PRIMARY KEY, wrapped BLOB NOT NULL) STRICT, WITHOUT ROWID";
/** Keys of a bucket that are remembered, of the partitions that were used last. */
const REMEMBERED = 1_000;
/** Keys that are made, each of which writes a page or two to the log, after which that is moved to the file. */
const LOGGED = 256;
/** How long who opens the file, copies it or wraps all keys anew waits for others. */
const BUSY_TRIES = 50;
const BUSY_MS = 20;
/** Random bytes are made for many nonces at a time: each is used once. */
const NONCES = 512;
const nonces = { bytes: Buffer.alloc(NONCES * NONCE_BYTES), at: NONCES * NONCE_BYTES };

/** What the keys of groups are wrapped with, which is made of the operator's key, and found by, which is made of the first that a directory had. */
export interface DirectoryKey {
  readonly wrapping: Uint8Array;
  readonly naming: Uint8Array;
}

/** What keys of groups are wrapped with and found by in a directory whose first key this is. */
export function directoryKeyOf(key: Uint8Array): DirectoryKey {
  return { wrapping: deriveKey(key, "wraps group keys"), naming: deriveKey(key, "names group keys") };
}

/** What keys of groups are wrapped with by a key that comes after others: what they are found by does not change. */
export function laterKeyOf(key: Uint8Array, { naming }: Pick<DirectoryKey, "naming">): DirectoryKey {
  return { wrapping: deriveKey(key, "wraps group keys"), naming };
}

function deriveKey(key: Uint8Array, what: string): Uint8Array {
  if (key.length !== KEY_BYTES) throw new RangeError(`an encryption key has ${KEY_BYTES} bytes, not ${key.length}`);
  return new Uint8Array(hkdfSync("sha256", key, "", `brooklet ${what}`, KEY_BYTES));
}

/** Encrypts bytes for their place, which is not kept and has to be said again. */
export function encrypt(key: Uint8Array, place: string, bytes: Uint8Array): Uint8Array {
  const encrypted = Buffer.allocUnsafeSlow(ENCRYPTED_BYTES + bytes.length);
  encrypted[0] = VERSION;
  const nonce = encrypted.subarray(1, 1 + NONCE_BYTES);
  fillNonce(nonce);
  const cipher = createCipheriv(ALGORITHM, key, nonce);
  cipher.setAAD(Buffer.from(place));
  const body = cipher.update(bytes);
  body.copy(encrypted, 1 + NONCE_BYTES);
  cipher.final();
  // Last: what is known of bytes by their end is known by the tag.
  cipher.getAuthTag().copy(encrypted, encrypted.length - TAG_BYTES);
  return plainArray(encrypted);
}

/** The bytes that were encrypted for a place. Throws a `StoreError` if they are others. */
export function decrypt(key: Uint8Array, place: string, encrypted: Uint8Array): Uint8Array {
  if (encrypted.length < ENCRYPTED_BYTES || encrypted[0] !== VERSION) throw changedError();
  const end = encrypted.length - TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key, encrypted.subarray(1, 1 + NONCE_BYTES));
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(encrypted.subarray(end));
  const bytes = decipher.update(encrypted.subarray(1 + NONCE_BYTES, end));
  try {
    decipher.final();
  } catch (cause) {
    throw changedError(cause);
  }
  return plainArray(bytes);
}

/**
 * The same into room that is there, of so many bytes as were encrypted. Pieces that are small come of memory that was used before; large
 * ones are new pages each time, which cost more than what is done with them.
 */
export function decryptInto(key: Uint8Array, place: string, encrypted: Uint8Array, room: Uint8Array): void {
  const end = encrypted.length - TAG_BYTES;
  if (encrypted[0] !== VERSION || room.length !== encrypted.length - ENCRYPTED_BYTES) throw changedError();
  const decipher = createDecipheriv(ALGORITHM, key, encrypted.subarray(1, 1 + NONCE_BYTES));
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(encrypted.subarray(end));
  for (let at = 1 + NONCE_BYTES; at < end; at += PIECE_BYTES) {
    const piece = decipher.update(encrypted.subarray(at, Math.min(at + PIECE_BYTES, end)));
    room.set(piece, at - 1 - NONCE_BYTES);
    giveBack(piece);
  }
  try {
    decipher.final();
  } catch (cause) {
    room.fill(0);
    throw changedError(cause);
  }
}

/** Gives the memory of a piece back at once, where the engine can (Node 22 and later): the next has the same, which the processor's caches still have. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  const own: ArrayBufferLike & { transfer?(length: number): unknown } = buffer;
  if (own.byteLength === byteLength) own.transfer?.(0);
}

/** What `keys/check` of a directory has, for its first key. */
export function checkOf(key: DirectoryKey): Uint8Array {
  return encrypt(key.wrapping, KEY_CHECK, new Uint8Array(KEY_BYTES));
}

/** What it has for a later one: what keys are found by, which cannot be made of that. */
export function laterCheckOf(key: DirectoryKey): Uint8Array {
  return encrypt(key.wrapping, LATER_CHECK, key.naming);
}

/**
 * The key of a folder of keys, where `key` is the operator's. Throws a `StoreError` if the folder is not there, or of another key, or if it is being
 * changed: who has the directory to itself ends that (`endRotation`).
 */
export function keyOfFolder(folder: string, key: Uint8Array): DirectoryKey {
  const path = join(folder, KEY_CHECK);
  if (isThere(join(folder, KEY_ROTATION))) throw new StoreError("refused", interruptionMessage(folder));
  if (!isThere(path))
    throw new StoreError("refused", `${folder}, with the keys of the groups, is missing: restore it from its copy`);
  const check = readFileSync(path);
  const first = directoryKeyOf(key);
  try {
    return laterKeyOf(key, { naming: decrypt(first.wrapping, LATER_CHECK, check) });
  } catch {
    // Of the first key, or of none that was given.
  }
  try {
    decrypt(first.wrapping, KEY_CHECK, check);
    return first;
  } catch (cause) {
    throw new StoreError("refused", `the encryption key is another than that of ${folder}`, cause);
  }
}

/** What is said of a folder whose key was being changed, to whoever cannot end it. */
export function interruptionMessage(folder: string): string {
  return `the change of the encryption key of ${folder} has begun and not ended: give the new key to what serves or opens the directory, or to brooklet key rotate, which end it`;
}

/** The keys of the partitions of one bucket; their file is opened when one is needed. */
export class GroupKeys {
  readonly #path: string;
  readonly #key: DirectoryKey;
  readonly #openSql: OpenSql;
  readonly #known = new Map<string, Uint8Array>();
  #sql: SqlConnection | undefined;
  /** Keys that were made since the log was moved to the file. */
  #logged = 0;
  /** Also by a process before this one. */
  #hasDestroyed = true;

  /** `folder` is the folder of keys. */
  constructor(folder: string, bucket: number, key: DirectoryKey, openSql: OpenSql) {
    this.#path = join(folder, `${String(bucket).padStart(3, "0")}.sqlite`);
    this.#key = key;
    this.#openSql = openSql;
  }

  /** Opens the file of keys, if there is one. Throws a `StoreError` where there is no room for that; whatever else fails is told when it is needed. */
  open(): void {
    try {
      if (isThere(this.#path)) void this.#file;
    } catch (error) {
      if (error instanceof StoreError && error.kind === "full") throw error;
    }
  }

  /** The key of a partition; nothing: there is none, or none any more. */
  of(partition: string): Uint8Array | undefined {
    const known = this.#known.get(partition);
    if (known !== undefined) return known;
    const name = this.#nameOf(partition);
    const [row] = patiently(() =>
      this.#file.all<{ wrapped: Uint8Array }>("SELECT wrapped FROM key WHERE name = ?", name),
    );
    if (row === undefined) return undefined;
    return this.#remember(partition, decrypt(this.#key.wrapping, hex(name), row.wrapped));
  }

  /** The key of a partition, made if there is none. */
  made(partition: string): Uint8Array {
    return this.madeAll([partition]).get(partition) as Uint8Array;
  }

  /**
   * The keys of partitions, made where there are none: in one transaction, which waits for the device, however many they are. They are on stable
   * storage before anything is encrypted with them.
   */
  madeAll(partitions: readonly string[]): ReadonlyMap<string, Uint8Array> {
    const keys = new Map<string, Uint8Array>();
    const added: string[] = [];
    for (const partition of new Set(partitions)) {
      const known = this.of(partition);
      keys.set(partition, known ?? randomFillSync(new Uint8Array(KEY_BYTES)));
      if (known === undefined) added.push(partition);
    }
    if (added.length === 0) return keys;
    // What fails here fails before there is a key.
    if (this.#logged >= LOGGED) this.checkpoint(false);
    const key = (partition: string): Uint8Array => keys.get(partition) as Uint8Array;
    const sql = this.#file;
    sql.transaction(() => {
      for (const partition of added) {
        const name = this.#nameOf(partition);
        const wrapped = encrypt(this.#key.wrapping, hex(name), key(partition));
        sql.run("INSERT INTO key (name, wrapped) VALUES (?, ?)", name, wrapped);
      }
    });
    this.#logged += added.length;
    for (const partition of added) this.#remember(partition, key(partition));
    return keys;
  }

  /** Removes the key of a partition. It is in the log as long as somebody reads the file, as a copy does (`hasDestroyed`). */
  destroy(partition: string): void {
    this.#known.get(partition)?.fill(0);
    this.#known.delete(partition);
    const name = this.#nameOf(partition);
    const sql = this.#file;
    // What a repair kept has it, too, and is wrapped as keys are now.
    eraseKept(this.#path);
    this.#hasDestroyed = true;
    sql.transaction(() => sql.run("DELETE FROM key WHERE name = ?", name));
    this.checkpoint(true);
  }

  /** Whether keys that were removed may still be in the log. */
  get hasDestroyed(): boolean {
    return this.#hasDestroyed;
  }

  /** Moves the log to the file, also that of a process that was killed; whether all of it was. `truncate` leaves nothing in the log. */
  checkpoint(truncate: boolean): boolean {
    const hasLog = this.#sql !== undefined || (statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
    const isWhole = !hasLog || (this.#file.checkpoint?.(truncate) ?? true);
    this.#logged = 0;
    if (isWhole && truncate) this.#hasDestroyed = false;
    return isWhole;
  }

  /**
   * Wraps with this key all that is wrapped with `before`. When it returns, nothing in the file nor in its log is wrapped with that, but for `damaged`
   * keys, which neither opens: they are left as they are.
   */
  rewrap(before: Uint8Array): { readonly keys: number; readonly damaged: number } {
    const sql = this.#file;
    eraseKept(this.#path);
    const done = { keys: 0, damaged: 0 };
    sql.transaction(() => {
      let after: Uint8Array = new Uint8Array(0);
      for (;;) {
        const rows = sql.all<{ name: Uint8Array; wrapped: Uint8Array }>(
          "SELECT name, wrapped FROM key WHERE name > ? ORDER BY name LIMIT 1000",
          after,
        );
        for (const { name, wrapped } of rows) {
          const again = this.#rewrapped(name, wrapped, before);
          if (again === undefined) done.damaged += 1;
          else done.keys += 1;
          if (again !== undefined && again !== wrapped)
            sql.run("UPDATE key SET wrapped = ? WHERE name = ?", again, name);
          after = name;
        }
        if (rows.length === 0) return;
      }
    });
    for (let tries = 0; sql.checkpoint?.(true) === false; tries += 1) {
      if (tries === BUSY_TRIES)
        throw new StoreError("busy", `${this.#path} is read by another process, as a backup does`);
      wait();
    }
    return done;
  }

  /** What a key is wrapped as with this key: as it is where it is wrapped with that; nothing where neither opens it. */
  #rewrapped(name: Uint8Array, wrapped: Uint8Array, before: Uint8Array): Uint8Array | undefined {
    const opened = (wrapping: Uint8Array): Uint8Array | undefined => {
      try {
        return decrypt(wrapping, hex(name), wrapped);
      } catch {
        return undefined;
      }
    };
    if (opened(this.#key.wrapping) !== undefined) return wrapped;
    const key = opened(before);
    if (key === undefined) return undefined;
    const again = encrypt(this.#key.wrapping, hex(name), key);
    key.fill(0);
    return again;
  }

  /** Copies the file of keys as it is at one moment, also while it is written: on stable storage, as what this file has, but for its name. */
  copyTo(path: string): void {
    makeFile(path);
    patiently(() => this.#file.run("VACUUM INTO ?", path));
  }

  close(): void {
    for (const key of this.#known.values()) key.fill(0);
    this.#known.clear();
    this.#sql?.close();
    this.#sql = undefined;
  }

  get #file(): SqlConnection {
    if (this.#sql !== undefined) return this.#sql;
    const sql = openKeyFile(this.#path, this.#openSql);
    this.#sql = sql;
    return sql;
  }

  #nameOf(partition: string): Uint8Array {
    return new Uint8Array(createHmac("sha256", this.#key.naming).update(partition).digest());
  }

  #remember(partition: string, key: Uint8Array): Uint8Array {
    this.#known.set(partition, key);
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > REMEMBERED) this.#known.delete(oldest);
    return key;
  }
}

/** Opens a file of keys, which is made if there is none. */
export function openKeyFile(path: string, openSql: OpenSql): SqlConnection {
  makeFile(path);
  demandHeader(path);
  const sql = openSql(path);
  try {
    patiently(() => {
      sql.run(`PRAGMA page_size = ${KEY_PAGE_BYTES}`);
      configureFile(sql);
      const [row] = sql.all<{ id: number }>("SELECT application_id AS id FROM pragma_application_id");
      const [table] = sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'key'");
      if (table !== undefined && row?.id !== APPLICATION_ID)
        throw new StoreError("refused", `${path} is no file of keys`);
      if (table === undefined) {
        sql.run(`PRAGMA application_id = ${APPLICATION_ID}`);
        sql.run(TABLE);
      }
    });
    return sql;
  } catch (error) {
    sql.close();
    throw error;
  }
}

/** Throws for a file that is no SQLite file any more: opened as one, it would be a new one, and its log deleted. */
function demandHeader(path: string): void {
  const isEmpty = statSync(path).size === 0;
  if (isEmpty && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new StoreError("damaged", `${path}: the file is empty beside a log`);
  if (!isEmpty && !isSqlite(path)) throw new StoreError("damaged", `${path}: not an SQLite database`);
}

/** Whether a key is what was wrapped for its name. */
export function isWrapped({ wrapping }: DirectoryKey, name: Uint8Array, wrapped: Uint8Array): boolean {
  try {
    decrypt(wrapping, hex(name), wrapped).fill(0);
    return true;
  } catch {
    return false;
  }
}

/** Bytes without the manners of a `Buffer`, whose `slice` is no copy. */
function plainArray({ buffer, byteOffset, length }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, length);
}

function fillNonce(room: Uint8Array): void {
  if (nonces.at === nonces.bytes.length) {
    randomFillSync(nonces.bytes);
    nonces.at = 0;
  }
  room.set(nonces.bytes.subarray(nonces.at, nonces.at + NONCE_BYTES));
  nonces.at += NONCE_BYTES;
}

function changedError(cause?: unknown): StoreError {
  return new StoreError("damaged", "what is encrypted is not what was written at its place", cause);
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

/** Does something with a file that another process may have for a moment. */
function patiently<Result>(work: () => Result): Result {
  for (let tries = 1; ; tries += 1) {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof StoreError && error.kind === "busy") || tries === BUSY_TRIES) throw error;
      wait();
    }
  }
}

function wait(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
}
