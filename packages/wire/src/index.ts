/**
 * Vespa's HTTP interfaces as types, the table of error codes, `ServiceError`, and what both ends of a connection have to do
 * alike: what names may be, base64, waits before another try, what tokens grant. No dependency, no state.
 */
export { auditNames } from "./audit-name.ts";
export {
  adminKeyProblem,
  type Grant,
  TOKEN_AUDIENCE,
  TOKEN_GROUPS_MAX,
  TOKEN_SCHEMAS_MAX,
  TOKEN_SECONDS_MAX,
  type TokenAlgorithm,
  type TokenOptions,
  tokenSecret,
  VERBS,
  type Verb,
} from "./authority.ts";
export { abortable, askedWaitMs, pause, type Waits, waitMs } from "./backoff.ts";
export { type Base64Alphabet, decodeBase64, encodeBase64 } from "./base64.ts";
export type { UnsharedBytes } from "./bytes.ts";
export { hasCalendarDay } from "./calendar.ts";
export { type CallFigures, type CallOutline, Calls, type WaitingItems } from "./calls.ts";
export { causeOf, withCause } from "./cause.ts";
export type { DeployAnswer, DeployFailure, DeployLogEntry, ServiceConvergence } from "./deploy.ts";
export { CellDigits, digitsOf } from "./digits.ts";
export type { DocumentAnswer, DocumentBody, DocumentFailure, DocumentFound } from "./document.ts";
export { type DocumentNamePart, documentNameProblem, illegalCodePoint } from "./document-name.ts";
export { echo, withoutSecret } from "./echo.ts";
export {
  ERROR_KINDS,
  type ErrorCode,
  type ErrorKind,
  type FailureOutcome,
  failureOutcome,
  isErrorCode,
} from "./error-code.ts";
export { ERROR_SUMMARIES } from "./error-summary.ts";
export type { FeedLine } from "./feed.ts";
export { BOUNDS, Histogram, type HistogramFigures } from "./histogram.ts";
export { membersThere } from "./members.ts";
export { networkOf } from "./network.ts";
export type {
  Coverage,
  GroupingResult,
  Hit,
  ResultRoot,
  SearchError,
  SearchResult,
  SearchTiming,
  StageTiming,
} from "./search.ts";
export { ServiceError, type ServiceErrorOptions } from "./service-error.ts";
export { suggestion } from "./suggestion.ts";
export { nextTurn } from "./turn.ts";
