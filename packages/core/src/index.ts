/** The core's face in TypeScript, without a platform: the entries `node`, `workerd` and `browser` add the module. */
export {
  asOperation,
  asPackage,
  type FloorBytes,
  NO_FLOOR,
  type OperationBytes,
  type PackageBytes,
  type PartialBytes,
} from "./bytes.ts";
export {
  type ApplicationReport,
  Core,
  type CoreOptions,
  type EmbedderConfig,
  type LanguageModelConfig,
  type SearchChainConfig,
} from "./core.ts";
export { type Embedding, type EmbeddingWanted, encodeEmbeddings } from "./embedding.ts";
export { Reader, Writer } from "./frame.ts";
export type { RawCore, RawInstance, RawTask } from "./instance.ts";
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
  fileOfPackage,
  type ModelInput,
  type ModelOutput,
  type ModelResult,
  type ModelRun,
  WANTS_MODELS,
} from "./model-run.ts";
export { internalError, isServiceError, ServiceError, type ServiceErrorFields } from "./service-error.ts";
export type {
  BlockRef,
  CompactReason,
  DocumentRequest,
  EncodedOperation,
  EncodeRequest,
  Engine,
  Merged,
  Mutation,
  PageBounds,
  PageFormat,
  PartitionPage,
  Place,
  QueryRequest,
  QueryScope,
  Rendered,
  Task,
  VisitRequest,
  Want,
} from "./task.ts";
