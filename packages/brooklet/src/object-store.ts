/** Databases that several processes share, in an object store: `open({ store: s3({ … }), schemas })`. */
export {
  type Environment,
  memoryObjectStore,
  type ObjectFiles,
  type ObjectLog,
  ObjectMemory,
  type ObjectStore,
  type ObjectStoreCosts,
  type PostgresClient,
  postgresObjectStore as postgres,
  type S3Access,
  type S3Answer,
  S3Error,
  type S3Options,
  type S3Request,
  type S3Transport,
  s3OptionsOf,
  type TaggedBytes,
  type WriteOutcome,
} from "@brooklet/object-store";
export { s3 } from "./node/s3.ts";
