/**
 * What writes a search, and what callers of a retrieval are given, without what retrieves and asks models: a client in a browser
 * has this much from the start, and the rest when it asks (docs/decisions/0059).
 */
export { type AskedVector, vectorParameters } from "./asked-vector.ts";
export { ChatError } from "./chat-error.ts";
export { type MatchBy, relevantText } from "./matching.ts";
export { rerankEndpoint, timedReranker } from "./reranker.ts";
export {
  chunkScoresName,
  hybridProfileName,
  madeVector,
  nearProfileName,
  type SearchedField,
  type SearchedSchema,
} from "./searched-schema.ts";
export { tokensAtMost } from "./token-budget.ts";
export { type SearchNote, type TextQuery, type TypedText, typedText } from "./typed-text.ts";
