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
  S3Error,
  type S3Options,
  s3ObjectStore as s3,
  s3OptionsOf,
  type TaggedBytes,
  type WriteOutcome,
} from "@brooklet/object-store";
