/** Partitions over an object store that several gateways share. `@brooklet/object-store/contract` has the tests of drivers. */
export { Fenced } from "./bucket-log.ts";
export { type ForkOptions, type ForkReport, forkStore } from "./fork.ts";
export { type Carry, memoryObjectStore, ObjectMemory } from "./memory.ts";
export {
  Costs,
  type ObjectFiles,
  type ObjectLog,
  type ObjectStore,
  type ObjectStoreCosts,
  refusalIn,
  type TaggedBytes,
  type WriteOutcome,
} from "./object-store.ts";
export { ObjectStoreCluster, type ObjectStoreClusterOptions, openObjectStoreCluster } from "./object-store-cluster.ts";
export type { PeerCall, PeerPort, PeerReply } from "./peers.ts";
export { type PostgresClient, postgresObjectStore } from "./postgres.ts";
export {
  type AgedBytes,
  S3Error,
  type S3ObjectStore,
  type S3Options,
  s3ObjectStore,
  type TaggedObjects,
} from "./s3.ts";
export { type Environment, s3OptionsOf } from "./s3-address.ts";
export {
  ageOf,
  credentialsOf,
  S3_REGION,
  S3_TIMEOUT_MS,
  type S3Access,
  type S3Answer,
  type S3Credentials,
  type S3Request,
  type S3Role,
  type S3Transport,
  signedTime,
} from "./s3-transport.ts";
export { pauseMs } from "./store-records.ts";
export {
  listSnapshots,
  removeSnapshot,
  type SnapshotOptions,
  type StoreSnapshot,
  takeSnapshot,
} from "./store-snapshot.ts";
