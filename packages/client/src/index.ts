/** Schemas, documents and queries as TypeScript, over Vespa's HTTP interfaces. No platform is needed but `fetch`. */
export type {
  AnswerPart,
  AnswerSummary,
  ChatEndpoint,
  ChatEvent,
  ChatFailure,
  ChatLimits,
  ChatMessage,
  ChatModel,
  Citation,
  Fusion,
  LanguageModel,
  Passage,
  PassageScores,
  RerankEndpoint,
  Reranker,
  Retrieved,
  TokenCounter,
} from "@brooklet/answers";
export { ChatError, rerankEndpoint, tokensAtMost } from "@brooklet/answers/search";
export {
  type Client,
  type Connection,
  type ConnectOptions,
  type ConnectSchemasOptions,
  connect,
} from "./client.ts";
export type { Page } from "./cursor.ts";
export type { ApplicationOptions } from "./deployment/application.ts";
export type { Deployment, DeployOptions } from "./deployment/deployment.ts";
export {
  Feed,
  FeedError,
  type FeedOperation,
  type FeedOptions,
  type FeedOutcome,
  type FeedPut,
  type FeedRemove,
  type FeedSource,
  type FeedSummary,
  type FeedSurroundings,
  type FeedUpdate,
  feed,
} from "./feed.ts";
export { Group } from "./group.ts";
export type { ClearReceipt, EraseReceipt, GroupsOptions } from "./group-list.ts";
export type { MiniGroup } from "./mini-group.ts";
export { Answer, type AskOptions } from "./retrieval/answer.ts";
export type { NearRetrieval, RetrieveOptions, TextRetrieval } from "./retrieval/retrieval.ts";
export type {
  EmbedderComponent,
  HuggingFaceComponent,
  ModelFile,
  OpenAiComponent,
  Prepend,
  TokenizerComponent,
} from "./schema/embedder-component.ts";
export type { ServerOptions, WireAnswer, WireRequest } from "./server.ts";
export type { SelectedOptions, SelectedSummary, VisitedDocument, VisitOptions } from "./visit.ts";
export * from "./vocabulary.ts";
