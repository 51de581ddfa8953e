/** What people install: the client, a database in this process, and a server. */
export * from "@brooklet/client";
export { type Embedder, type Embedding, HashEmbedder, HttpEmbedder } from "@brooklet/models";
export type { ModelOptions } from "./node/application-embedders.ts";
export { connect } from "./node/connect.ts";
export { type Database, type OpenOptions, open } from "./open.ts";
export { type RunningService, type ServeOptions, serve } from "./serve.ts";
