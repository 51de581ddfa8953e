/** Clusters whose groups are objects of a platform, each with a database of its own. */

export { OBJECT_SEGMENT_BYTES } from "../limits.ts";
export { readObjectName, storedName } from "../shards/shard.ts";
export { GroupObject } from "./group-object.ts";
export type { Alarm, GroupObjectOptions } from "./group-options.ts";
export { type DeployedCore, Isolate, type IsolateOptions } from "./isolate.ts";
export {
  type DirectoryCalls,
  directoryOf,
  type GroupCalls,
  MESSAGES,
  type ObjectPort,
  type ObjectReply,
  type ObjectStep,
  type ObjectWaiting,
  type RegistryCalls,
} from "./object-calls.ts";
export { ObjectCluster, type ObjectClusterOptions } from "./object-cluster.ts";
export { OwnObjects, type OwnObjectsOptions } from "./own-objects.ts";
export { SharedCores } from "./shared-cores.ts";
