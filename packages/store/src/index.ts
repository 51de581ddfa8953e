/** All SQL, over a port of three methods. `@brooklet/store/node` adds the data directory, `…/contract` the driver tests. */
export { Bucket, type BucketOptions, type PartitionsOf } from "./bucket.ts";
export { bucketOf } from "./bucket-of.ts";
export { DirectoryStore, isListedKey } from "./directory-store.ts";
export { type BetterSqlite3, betterSqlite3 } from "./drivers/better-sqlite3.ts";
export {
  type BilledRows,
  durableObject,
  type ObjectSql,
  type ObjectSqlStorage,
  objectStorageFailure,
} from "./drivers/durable-object.ts";
export { type NodeSqlite, nodeSqlite } from "./drivers/node-sqlite.ts";
export { type SqliteWasm, type SqliteWasmOptions, sqliteWasm, type WasmStatement } from "./drivers/sqlite-wasm.ts";
export { hasErased, hasPartitionBefore } from "./leftovers.ts";
export { type NotedPartition, storedNotes } from "./notes.ts";
export {
  isUnsettled,
  type OnePartitionOptions,
  OnePartitionStore,
  replacePartition,
  storedPartition,
} from "./one-partition-store.ts";
export { concatenate } from "./packed-row.ts";
export {
  allSegments,
  type NextNumbers,
  type PartitionRows,
  readPartitionRows,
  removeBlocks,
  type SegmentRow,
  segmentsOf,
  writeBlocks,
  writeNextNumbers,
} from "./partition-rows.ts";
export { PartitionStore, type PartitionStoreOptions, partitionsInTables } from "./partition-store.ts";
export type {
  BlockReceiver,
  NumberedKey,
  PartitionState,
  Partitions,
  StoredBlock,
  StoredChange,
  StoredCompaction,
  StoredManifest,
  StoredSegment,
  TailEntry,
  TailKey,
} from "./partitions.ts";
export { type FilePool, PoolStorage } from "./pool-storage.ts";
export { DAMAGED_APPLICATION, type DeploymentState, RegistryStore, type StoredSession } from "./registry-store.ts";
export type { Reserve } from "./reserve.ts";
export type { Blobs, Sql, SqlConnection, SqlValue } from "./sql.ts";
export { memoryStorage, SECRET_BYTES, type Storage, type StoredApplication, type StoredBackup } from "./storage.ts";
export { StoreError, type StoreErrorKind, storeError } from "./store-error.ts";
export {
  APPLICATION_ID,
  type BucketIdentity,
  checkTables,
  createTables,
  FORMAT_VERSION,
} from "./tables.ts";
