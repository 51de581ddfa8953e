/** Where an application and its buckets are kept: a directory on Node, or memory that ends with the process. */
import type { SqlConnection } from "./sql.ts";
import { createTables } from "./tables.ts";

/** The deployed application package and its number, which grows with every deployment. */
export interface StoredApplication {
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** All buckets, and the application they belong to. */
export interface Storage {
  /** How many buckets there are; it never changes. */
  readonly buckets: number;
  openBucket(bucket: number): SqlConnection;
  readApplication(): StoredApplication | undefined;
  /** Returns when the package is on stable storage. */
  storeApplication(application: StoredApplication): void;
  close(): void;
}

/** One bucket in memory, for tests and for data that may be lost. `open` gives an empty database. */
export function memoryStorage(open: () => SqlConnection): Storage {
  let application: StoredApplication | undefined;
  return {
    buckets: 1,
    openBucket: (bucket) => {
      const sql = open();
      createTables(sql, { bucket, buckets: 1 });
      return sql;
    },
    readApplication: () => application,
    storeApplication: (stored) => {
      application = stored;
    },
    close: () => undefined,
  };
}
