/** All SQL, over a port of three methods. `@brooklet/store/node` adds the data directory, `…/contract` the driver tests. */
export { Bucket, type BucketOptions } from "./bucket.ts";
export { bucketOf } from "./bucket-of.ts";
export { type BetterSqlite3, betterSqlite3 } from "./drivers/better-sqlite3.ts";
export { type NodeSqlite, nodeSqlite } from "./drivers/node-sqlite.ts";
export {
  hasPartitionBefore,
  type PartitionState,
  PartitionStore,
  type PartitionStoreOptions,
  type StoredChange,
  type StoredManifest,
  type StoredSegment,
  type TailEntry,
} from "./partition-store.ts";
export type { Sql, SqlConnection, SqlValue } from "./sql.ts";
export { memoryStorage, type Storage, type StoredApplication } from "./storage.ts";
export { StoreError, type StoreErrorKind, storeError } from "./store-error.ts";
export {
  APPLICATION_ID,
  type BucketIdentity,
  checkTables,
  createTables,
  FORMAT_VERSION,
} from "./tables.ts";
