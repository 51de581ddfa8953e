/** Partitions over an object store that several gateways share. `@brooklet/object-store/contract` has the tests of drivers. */
export { Fenced } from "./bucket-log.ts";
export { type Carry, memoryObjectStore, ObjectMemory } from "./memory.ts";
export {
  Costs,
  type ObjectFiles,
  type ObjectLog,
  type ObjectStore,
  type ObjectStoreCosts,
  type TaggedBytes,
  type WriteOutcome,
} from "./object-store.ts";
export { ObjectStoreCluster, type ObjectStoreClusterOptions, openObjectStoreCluster } from "./object-store-cluster.ts";
