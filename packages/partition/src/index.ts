/** Partitions: the loop between a task of the core and a store, and the cluster in one thread. `…/threads` has that of several, `…/objects` that of a platform. */
export type { GeneratorConfig, LanguageModelConfig, SearchChainConfig } from "@brooklet/core";
export { shownType } from "@brooklet/core";
export { BucketHost, type BucketHostOptions, type DeployableEngine } from "./bucket-host.ts";
export type {
  Answer,
  Cluster,
  ClusterFigures,
  DeployReport,
  DeploySessions,
  DocumentRead,
  Erasure,
  EvaluationRequest,
  FedOperation,
  FeedOptions,
  Gate,
  GateKind,
  GateTarget,
  GetRequest,
  GroupUsage,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  PartitionWriter,
  Purge,
  QueryHandle,
  SearchRequest,
  SearchScope,
  StoredSession,
  Visit,
  VisitPage,
  VisitPosition,
  VisitStep,
  WrittenDocuments,
} from "./cluster.ts";
export { type Deployment, deploymentUnderWay, prepareDeployment } from "./deployment.ts";
export { type TextEmbedder, untilClosed } from "./embedding.ts";
export { describeProblem, serviceError, tellingOnce } from "./failure.ts";
export type { SharedStoreFigures } from "./health/figures.ts";
export type { ModelCalls, ModelState } from "./health/model-state.ts";
export { SHARD_BYTES } from "./limits.ts";
export { type ClusterEngine, LocalCluster, type LocalClusterOptions } from "./local-cluster.ts";
export { Partition } from "./partition.ts";
export { searchOnce } from "./query/cluster-query.ts";
export { LANE_LIMITS, type LaneLimits } from "./query/lane.ts";
export type { SentQuery } from "./query/open-queries.ts";
export type { ModelApplication, ModelRunner } from "./query/query-models.ts";
export type { StageName, Stages } from "./query/stages.ts";
export type { GroupQuotaLimits } from "./quotas/group-quotas.ts";
export { groupOf } from "./shards/shard.ts";
export {
  mendedShards,
  type ShardFault,
  type StoredShards,
  shardDamage,
  shownPartition,
  storedShards,
} from "./shards/stored-shards.ts";
export type { Surroundings } from "./surroundings.ts";
