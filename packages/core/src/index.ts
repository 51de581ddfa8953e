/** The core's face in TypeScript, without a platform: the entries `node`, `workerd` and `browser` add the module. */
export {
  asOperation,
  asPackage,
  type FloorBytes,
  NO_FLOOR,
  type OperationBytes,
  type PackageBytes,
  type PartialBytes,
  type QueryBytes,
  type UnsharedBytes,
} from "./bytes.ts";
export {
  Core,
  type CoreOptions,
  type DeployReport,
  type EmbedderConfig,
  type GeneratorConfig,
  type LanguageModelConfig,
  type RefeedAction,
  type SearchChainConfig,
  type UnlessStored,
} from "./core.ts";
export {
  decodeWanted,
  type Embedding,
  type EmbeddingWanted,
  encodeEmbeddings,
  encodeKnown,
  generationOf,
  WANTS_EMBEDDINGS,
} from "./embedding.ts";
export { Reader, Writer } from "./frame.ts";
export type { RawCore, RawInstance, RawQuery, RawTask } from "./instance.ts";
export {
  type LaterOperation,
  type Load,
  type LoadedOperation,
  type LoadResult,
  type RefusedOperation,
  SPLIT_NUMBERS,
  type SplitChunk,
  type SplitOperations,
} from "./load.ts";
export {
  type Change,
  encodeManifest,
  type Manifest,
  type NewSegment,
  type OperationEntry,
  type SegmentEntry,
} from "./manifest.ts";
export {
  decodeModelRuns,
  encodeModelResults,
  type ModelInput,
  type ModelOutput,
  type ModelResult,
  type ModelRun,
  type RunsWanted,
} from "./model-run.ts";
export {
  type DeploymentFacts,
  fileOfPackage,
  type ModelAddresses,
  modelsOfPackage,
  withHistory,
  withOutlines,
} from "./package.ts";
export { encodeQuery } from "./query.ts";
export { ResultRoom } from "./result-room.ts";
export { internalError, isServiceError, ServiceError, type ServiceErrorFields } from "./service-error.ts";
export { CLUSTER_MARK, shownId, shownType, storedTypesOf } from "./stored-ids.ts";
export {
  type Answer,
  type BlockRef,
  type CompactBounds,
  type CompactReason,
  type EncodedOperation,
  type Engine,
  type EvaluationRequest,
  encodeZoneOffset,
  type GetRequest,
  type Merged,
  type Mutation,
  type OperationRequest,
  type PageBounds,
  type PageFormat,
  type PartitionPage,
  type Place,
  type Query,
  type QueryScope,
  type SearchRequest,
  type ShardBits,
  type Task,
  type Visit,
  type Want,
} from "./task.ts";
