/** Partitions: the loop between a task of the core and a store, and the clusters in which they are reached. */
export type { GeneratorConfig, LanguageModelConfig, SearchChainConfig } from "@brooklet/core";
export { BucketHost, type BucketHostOptions, type DeployableEngine } from "./bucket-host.ts";
export { type BucketServerOptions, serveBuckets } from "./bucket-server.ts";
export type {
  Answer,
  Cluster,
  ClusterFigures,
  DeployReport,
  DeploySessions,
  Erasure,
  FedOperation,
  FeedOptions,
  Gate,
  GateTarget,
  GetRequest,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  PartitionWriter,
  QueryHandle,
  SearchRequest,
  SearchScope,
  Visit,
  VisitPage,
  VisitPosition,
  VisitStep,
} from "./cluster.ts";
export type { BucketThread } from "./correspondent.ts";
export { type Deployment, deploymentUnderWay, prepareDeployment } from "./deployment.ts";
export type { TextEmbedder } from "./embedding.ts";
export { serviceError, tellingOnce } from "./failure.ts";
export { SHARD_BYTES } from "./limits.ts";
export { type ClusterEngine, LocalCluster, type LocalClusterOptions } from "./local-cluster.ts";
export { GroupObject } from "./objects/group-object.ts";
export type { Alarm, GroupObjectOptions } from "./objects/group-options.ts";
export { type DeployedCore, Isolate, type IsolateOptions } from "./objects/isolate.ts";
export type {
  DirectoryCalls,
  GroupCalls,
  ObjectPort,
  ObjectReply,
  ObjectStep,
  ObjectWaiting,
  RegistryCalls,
} from "./objects/object-calls.ts";
export { directoryOf, ObjectCluster, type ObjectClusterOptions } from "./objects/object-cluster.ts";
export { OwnObjects, type OwnObjectsOptions } from "./objects/own-objects.ts";
export { SharedCores } from "./objects/shared-cores.ts";
export { Partition } from "./partition.ts";
export { searchOnce } from "./query/cluster-query.ts";
export { LANE_LIMITS, type LaneLimits } from "./query/lane.ts";
export type { SentQuery } from "./query/open-queries.ts";
export type { ModelApplication, ModelRunner } from "./query/query-models.ts";
export { readObjectName, storedName } from "./shards/shard.ts";
export type { Surroundings } from "./surroundings.ts";
export { ThreadCluster, type ThreadClusterOptions } from "./thread-cluster.ts";
export type { ThreadCall, ThreadPort, ThreadReply } from "./thread-messages.ts";
