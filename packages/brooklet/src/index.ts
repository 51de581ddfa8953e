/** What people install: the client, a database in this process, and a server. */
export * from "@brooklet/client";
export { applicationFiles } from "@brooklet/client/application";
export type { AuditEvent, AuditListener } from "@brooklet/gateway";
export { type Embedder, type Embedding, HashEmbedder, HttpEmbedder } from "@brooklet/models";
export {
  type Collision,
  type Constant,
  type Copy,
  type FieldMigration,
  type FieldMigrations,
  type Make,
  type MigratedDocument,
  type MigratedPlace,
  type Migration,
  migration,
  type Remake,
  type Rename,
} from "./migration/changes.ts";
export type { MigrationFailure } from "./migration/draft.ts";
export type { Migrating } from "./migration/migrating.ts";
export {
  MigrationError,
  type MigrationExample,
  type MigrationOptions,
  type MigrationProgress,
  type MigrationReport,
} from "./migration/report.ts";
export { type Client, type Connection, connect } from "./node/connect.ts";
export type { ModelOptions } from "./node/models/application-embedders.ts";
export { type Database, type OpenOptions, open, type RunningConsole } from "./open.ts";
export { type RunningService, type ServedApplication, type ServeOptions, serve } from "./serve.ts";
