/** From hits to passages to answers. Nothing here knows a platform: what is needed of it is `fetch` and timers. */

export { type AnswerPiece, AnswerText } from "./answer-text.ts";
export {
  type AnswerOptions,
  type AnswerPart,
  type AnswerSummary,
  answer,
  type Citation,
  rewrittenQuestion,
  summarize,
} from "./ask.ts";
export { type AskedVector, type SearchParameters, vectorParameters } from "./asked-vector.ts";
export {
  type ChatEndpoint,
  type ChatEvent,
  type ChatLimits,
  type ChatModel,
  type ChatRequest,
  chat,
  completionsUrl,
  type LanguageModel,
} from "./chat.ts";
export { ChatError, type ChatFailure } from "./chat-error.ts";
export { passageRanges, type Range } from "./cutting.ts";
export { EventStreamError, type ServerEvent, serverEvents } from "./event-stream.ts";
export { type Fused, type Fusion, fuse, type Ranking } from "./fusion.ts";
export {
  contextOf,
  type Generation,
  type GenerationEvent,
  generationEvents,
  promptOf,
  renderEvent,
  renderGeneration,
  STREAM_END,
} from "./generation.ts";
export { type MatchBy, relevantText } from "./matching.ts";
export type { Passage, PassageScores } from "./passage.ts";
export { type ChatMessage, fenceFor, passageBlock, promptMessages, RULES, recentMessages } from "./prompt.ts";
export { type RerankEndpoint, type Reranker, rerankEndpoint } from "./reranker.ts";
export {
  type RetrievalRequest,
  type RetrievalSource,
  retrievePassages,
  type VectorSide,
  type WordSide,
} from "./retrieval.ts";
export {
  type FoundTexts,
  type RetrievalOptions,
  type RetrievalSearch,
  type Retrieved,
  retrieve,
  type StoredText,
} from "./retrieve.ts";
export { type AskedSearch, searchParameters } from "./search-parameters.ts";
export {
  chunkScoresName,
  hybridProfileName,
  madeVector,
  nearProfileName,
  type SearchedField,
  type SearchedSchema,
} from "./searched-schema.ts";
export { type TokenCounter, tokensAtMost } from "./token-budget.ts";
export { type SearchNote, type TextQuery, type TypedText, typedText } from "./typed-text.ts";
