/** Where an application and its buckets are kept: a directory on Node, or memory that ends with the process. */
import type { SqlConnection } from "./sql.ts";
import { StoreError } from "./store-error.ts";
import { createTables } from "./tables.ts";

/** The deployed application package and its number, which grows with every deployment. */
export interface StoredApplication {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** A backup of what a storage has. */
export interface StoredBackup {
  readonly id: string;
  readonly takenAt: string;
  /** When it may be gone; nothing: it is kept until somebody removes it. */
  readonly expiresAt?: string;
}

/** All buckets, and the application they belong to. */
export interface Storage {
  /** How many buckets there are; it never changes. */
  readonly buckets: number;
  /** 32 random bytes that stay the same as long as what is stored: what is handed out can be known again by them. */
  readonly secret: Uint8Array;
  openBucket(bucket: number): SqlConnection;
  readApplication(): StoredApplication | undefined;
  /** Returns when the package is on stable storage. */
  storeApplication(application: StoredApplication): void;
  /** The backups that were made of what is stored here, and are not over. Nothing: none can be. */
  backups?(): readonly StoredBackup[];
  /** The names of the files of a bucket, where there are some. */
  filesOf?(bucket: number): readonly string[];
  /** Whether each partition has a key of its own, which ends with it. */
  readonly isEncrypted?: boolean;
  close(): void;
}

/** Length of a storage's secret. */
export const SECRET_BYTES = 32;

/** One bucket in memory, for tests and for data that may be lost. `open` gives an empty database. Its secret is random, unless it is given. */
export function memoryStorage(
  open: () => SqlConnection,
  secret: Uint8Array = crypto.getRandomValues(new Uint8Array(SECRET_BYTES)),
): Storage {
  let application: StoredApplication | undefined;
  let isClosed = false;
  const refuseIfClosed = (): void => {
    if (isClosed) throw new StoreError("closed", "the storage is closed");
  };
  return {
    buckets: 1,
    secret,
    openBucket: (bucket) => {
      refuseIfClosed();
      const sql = open();
      createTables(sql, { bucket, buckets: 1 });
      return sql;
    },
    readApplication: () => {
      refuseIfClosed();
      return application;
    },
    storeApplication: (stored) => {
      refuseIfClosed();
      application = stored;
    },
    close: () => {
      isClosed = true;
    },
  };
}
