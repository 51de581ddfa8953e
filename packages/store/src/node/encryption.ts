/** The encryption of a data directory: what it is opened with, how its buckets are, and how it is told whether bytes are what was written. */
import { readdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { PartitionsOf } from "../bucket.ts";
import { PartitionStore } from "../partition-store.ts";
import type { OpenSql, SqlConnection } from "../sql.ts";
import type { Storage } from "../storage.ts";
import { StoreError } from "../store-error.ts";
import type { BucketIdentity } from "../tables.ts";
import { type IsSealed, KEYS, OPENED, type SalvagedKeys } from "./bucket-check.ts";
import { isThere, makeDirectory, makeFolders, syncDirectory, writeDurably } from "./durable-files.ts";
import { EncryptedPartitions, placeOf } from "./encrypted-partitions.ts";
import {
  type DirectoryKey,
  decrypt,
  GroupKeys,
  KEY_CHECK,
  KEY_ROTATION,
  KEYS_FOLDER,
  keyOfFolder,
} from "./group-keys.ts";
import { keyProblems, salvageKeys } from "./key-salvage.ts";

/** How the buckets of an encrypted directory are opened, and what keeps their partitions. */
export interface EncryptedBuckets {
  readonly openBucket: (identity: BucketIdentity) => SqlConnection;
  readonly partitions: PartitionsOf;
}

/** Buckets of a directory whose keys stand beside them; `key` is the operator's. */
export function encryptedBuckets(
  directory: string,
  key: Uint8Array,
  openSql: OpenSql,
  openBucket: (identity: BucketIdentity) => SqlConnection,
): EncryptedBuckets {
  const directoryKey = keyOfFolder(join(directory, KEYS_FOLDER), key);
  const keysOf = new WeakMap<SqlConnection, GroupKeys>();
  return {
    openBucket: (identity) => {
      const keys = new GroupKeys(join(directory, KEYS_FOLDER), identity.bucket, directoryKey, openSql);
      const sql = openBucket(identity);
      const connection: SqlConnection = {
        ...sql,
        checkpoint: (truncate) => {
          const isWhole = sql.checkpoint?.(truncate) ?? true;
          return keys.checkpoint(truncate) && isWhole;
        },
        close: () => {
          keys.close();
          sql.close();
        },
      };
      keysOf.set(connection, keys);
      return connection;
    },
    partitions: (connection, options) => {
      const keys = keysOf.get(connection);
      if (keys === undefined) throw new Error("a bucket that was opened without its keys");
      // Where it has no room it fails here, and not when something is read.
      keys.open();
      return new EncryptedPartitions(connection, new PartitionStore(connection, options), keys);
    },
  };
}

/** A storage whose buckets are opened with their keys. */
export function encryptedStorage(storage: Storage, { openBucket }: EncryptedBuckets): Storage {
  const { buckets, secret } = storage;
  return {
    buckets,
    secret,
    openBucket: (bucket) => openBucket({ bucket, buckets }),
    readApplication: () => storage.readApplication(),
    storeApplication: (application) => storage.storeApplication(application),
    backups: () => storage.backups?.() ?? [],
    filesOf: (bucket) => storage.filesOf?.(bucket) ?? [],
    isEncrypted: true,
    close: () => storage.close(),
  };
}

/** The keys of all buckets of a folder, for who reads them all. */
export class FolderKeys {
  readonly #folder: string;
  readonly #key: DirectoryKey;
  /** By what the key was known. */
  readonly #check: Buffer;
  readonly #openSql: OpenSql;
  readonly #files = new Map<string, GroupKeys>();
  /** In which file the key of a partition is. */
  readonly #fileOf = new Map<string, GroupKeys>();

  /** Throws a `StoreError` if they are none, or of another key. */
  constructor(folder: string, key: Uint8Array, openSql: OpenSql) {
    [this.#folder, this.#openSql, this.#key] = [folder, openSql, keyOfFolder(folder, key)];
    this.#check = readFileSync(join(folder, KEY_CHECK));
  }

  /** The files there are: a served directory gets them one by one. */
  #all(): ReadonlyMap<string, GroupKeys> {
    for (const name of readdirSync(this.#folder)) {
      const [, number] = /^(\d{3})\.sqlite$/.exec(name) ?? [];
      if (number !== undefined && !this.#files.has(name))
        this.#files.set(name, new GroupKeys(this.#folder, Number(number), this.#key, this.#openSql));
    }
    return this.#files;
  }

  /** The key of a partition; nothing: there is none any more. */
  of(partition: string): Uint8Array | undefined {
    const known = this.#fileOf.get(partition);
    const failures: unknown[] = [];
    for (const file of known === undefined ? this.#all().values() : [known]) {
      try {
        const key = file.of(partition);
        if (key === undefined) continue;
        this.#fileOf.set(partition, file);
        return key;
      } catch (error) {
        // What another key wraps by now is not damaged.
        this.#demandSame();
        failures.push(error);
      }
    }
    // It may be in a file that cannot be read.
    if (failures.length > 0) throw failures[0];
    return undefined;
  }

  /** What of the files is not as it was written. */
  problems(): readonly string[] {
    return [...this.#all().keys()].flatMap((name) => keyProblems(join(this.#folder, name), this.#key, this.#openSql));
  }

  /** Writes the damaged ones anew, with the keys that they still have. Nobody else may have them open. */
  salvage(stamp: string): readonly SalvagedKeys[] {
    const damaged = [...this.#all()].filter(
      ([name]) => keyProblems(join(this.#folder, name), this.#key, this.#openSql).length > 0,
    );
    this.#fileOf.clear();
    return damaged.flatMap(([name, keys]) => {
      keys.close();
      return salvageKeys(join(this.#folder, name), this.#key, this.#openSql, stamp) ?? [];
    });
  }

  /** Copies all keys to a folder, as they are now: what was copied there before has keys of groups that were erased since. */
  copyTo(folder: string): void {
    const { target, fresh, before } = this.#demandPlace(folder);
    // One that was killed had moved the copy away: until there is another it is the only one.
    const putBack = (): void => {
      if (isThere(before) && !isThere(target)) renameSync(before, target);
    };
    try {
      putBack();
      for (const leftover of [fresh, before]) rmSync(leftover, { recursive: true, force: true });
      this.copyInto(fresh);
      // What cannot be moved, as the root of a device, is not emptied either.
      if (isThere(target)) renameSync(target, before);
      renameSync(fresh, target);
    } catch (error) {
      // Keys of groups that may be erased from here on.
      rmSync(fresh, { recursive: true, force: true });
      putBack();
      throw error;
    }
    syncDirectory(dirname(target));
    rmSync(before, { recursive: true, force: true });
  }

  /** Puts all keys, as they are now, on stable storage in a folder where there are none. */
  copyInto(folder: string): void {
    makeDirectory(folder);
    for (const [name, keys] of this.#all()) keys.copyTo(join(folder, name));
    writeDurably(folder, KEY_CHECK, this.#check);
    // A copy of keys that are wrapped with two keys would be of neither.
    this.#demandSame();
  }

  /** Throws where no copy of them could be put: before work that it is the end of. */
  demandPlace(folder: string): void {
    const { fresh } = this.#demandPlace(folder);
    const made = makeFolders(fresh, 0o700);
    if (made !== undefined) rmSync(made, { recursive: true });
  }

  close(): void {
    for (const keys of this.#files.values()) keys.close();
  }

  #demandPlace(folder: string): Readonly<Record<"target" | "fresh" | "before", string>> {
    // With a slash at the end what is beside it would be in it.
    const named = resolve(folder);
    // Of a link, what it names: what was copied there before would stay.
    const target = isThere(named) ? realpathSync(named) : named;
    // Whatever else is there is somebody's, and would be gone; the keys themselves are being written to.
    const isOwn = isThere(target) && target === realpathSync(this.#folder);
    if (isOwn || (isThere(target) && !isReplaceable(target)))
      throw new StoreError(
        "refused",
        `${target} is no copy of keys: name a folder that has one, is empty or is not there`,
      );
    return { target, fresh: `${target}.new`, before: `${target}.replaced` };
  }

  /** Throws if the operator's key is another by now, or is being changed. */
  #demandSame(): void {
    // In this order: a change that ends between the two is seen by its check.
    const isChanging = isThere(join(this.#folder, KEY_ROTATION));
    if (isChanging || !readFileSync(join(this.#folder, KEY_CHECK)).equals(this.#check))
      throw new StoreError("busy", `the encryption key of ${this.#folder} was changed while it was read: do it again`);
  }
}

/** Copies the keys of a folder to one where there are none; `key` is the operator's. They are on stable storage then. */
export function copyKeys(from: string, to: string, key: Uint8Array, openSql: OpenSql): void {
  const keys = new FolderKeys(from, key, openSql);
  try {
    keys.copyInto(to);
  } finally {
    keys.close();
  }
}

/** Whether a copy of keys may take the place of what is there: one that was made before, or a folder without anything. */
function isReplaceable(path: string): boolean {
  return statSync(path).isDirectory() && (isThere(join(path, KEY_CHECK)) || readdirSync(path).length === 0);
}

/** Whether bytes are what was sealed, where they are encrypted. */
export function encryptedSeals(isSealed: IsSealed, keys: FolderKeys): IsSealed {
  const opened = (partition: string, segment: number, block: number, bytes: Uint8Array): Uint8Array | undefined => {
    const key = keys.of(partition);
    if (key === undefined) return undefined;
    try {
      return decrypt(key, placeOf(partition, segment, block), bytes);
    } catch {
      return undefined;
    }
  };
  const sealed: IsSealed = (partition, segment, block, bytes) => {
    const plain = opened(partition, segment, block, bytes);
    return plain !== undefined && isSealed(partition, segment, block, plain);
  };
  return Object.assign(sealed, { [OPENED]: opened, [KEYS]: keys });
}
