/**
 * A pool of files that a browser keeps for a site (OPFS) as the place of an application and its bucket: each is a SQLite file in
 * the pool. There is one owner of a pool at a time, which whoever opens it has to see to.
 */
import { RegistryStore } from "./registry-store.ts";
import type { SqlConnection } from "./sql.ts";
import type { Storage, StoredApplication } from "./storage.ts";
import { StoreError } from "./store-error.ts";
import { checkTables, configureFile, createTables, stampFile, upgradeTables } from "./tables.ts";

/** What is used of a pool. */
export interface FilePool {
  /** Opens or makes a file. */
  open(name: string): SqlConnection;
  /** Lets go of all files, which are closed. */
  close(): void;
}

const BUCKET = "/bucket.sqlite";
const APPLICATION = "/application.sqlite";
/** No log has a place where no memory is shared: a journal beside each file is emptied with every commit. */
const LOG = "TRUNCATE";
/** A page has one thread that reads and writes. */
const IDENTITY = { bucket: 0, buckets: 1 };

/** An application and its bucket in a pool. */
export class PoolStorage implements Storage {
  readonly buckets: number = IDENTITY.buckets;
  readonly secret: Uint8Array;
  readonly #pool: FilePool;
  readonly #application: SqlConnection;
  readonly #registry: RegistryStore;
  #closed = false;

  /** Opens what is in a pool, or begins with an empty one. Throws what is wrong with either file. */
  constructor(pool: FilePool) {
    this.#pool = pool;
    this.#application = openFile(pool, APPLICATION);
    try {
      const isNew = isEmpty(this.#application);
      // The bucket first: where there is a secret, there was one, and a missing one is a loss that must be told.
      if (isNew) makeBucket(pool);
      this.#registry = new RegistryStore(this.#application);
      this.secret = this.#registry.secret();
      // What is wrong with it is told before anything is deployed over it.
      this.openBucket().close();
    } catch (error) {
      this.#application.close();
      throw error;
    }
  }

  /** Opens the bucket. */
  openBucket(): SqlConnection {
    this.#refuseIfClosed();
    const sql = openFile(this.#pool, BUCKET);
    try {
      if (isEmpty(sql)) throw new StoreError("damaged", "the documents are gone from the browser's storage");
      checkTables(sql, IDENTITY);
      upgradeTables(sql, IDENTITY);
    } catch (error) {
      sql.close();
      throw error;
    }
    return sql;
  }

  readApplication(): StoredApplication | undefined {
    this.#refuseIfClosed();
    return this.#registry.application();
  }

  storeApplication(application: StoredApplication): void {
    this.#refuseIfClosed();
    if (!this.#registry.store(application.number - 1, application))
      throw new StoreError("refused", `application ${application.number} does not follow ${this.#registry.number}`);
  }

  /** Lets another have the pool. The bucket must be closed before. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#application.close();
    this.#pool.close();
  }

  #refuseIfClosed(): void {
    if (this.#closed) throw new StoreError("closed", "the storage is closed");
  }
}

function openFile(pool: FilePool, name: string): SqlConnection {
  const sql = pool.open(name);
  try {
    if (isEmpty(sql)) stampFile(sql, LOG);
    configureFile(sql, LOG);
  } catch (error) {
    sql.close();
    throw error;
  }
  return sql;
}

/** Makes the bucket, unless a page that was closed meanwhile had made it. */
function makeBucket(pool: FilePool): void {
  const sql = openFile(pool, BUCKET);
  try {
    if (isEmpty(sql)) createTables(sql, IDENTITY);
  } finally {
    sql.close();
  }
}

function isEmpty(sql: SqlConnection): boolean {
  return sql.all("SELECT 1 FROM sqlite_schema").length === 0;
}
