/** Vespa's HTTP interfaces as types, the table of error codes, `ServiceError`, and what names may be. No dependency, no behaviour. */
export { causeOf, withCause } from "./cause.ts";
export type { DeployAnswer, DeployFailure, DeployLogEntry, ServiceConvergence } from "./deploy.ts";
export type { DocumentAnswer, DocumentBody, DocumentFailure, DocumentFound } from "./document.ts";
export { type DocumentNamePart, documentNameProblem, illegalCodePoint } from "./document-name.ts";
export {
  ERROR_KINDS,
  type ErrorCode,
  type ErrorKind,
  type FailureOutcome,
  failureOutcome,
  isErrorCode,
} from "./error-code.ts";
export type { Coverage, GroupingResult, Hit, ResultRoot, SearchError, SearchResult } from "./search.ts";
export { ServiceError, type ServiceErrorOptions } from "./service-error.ts";
export { suggestion } from "./suggestion.ts";
