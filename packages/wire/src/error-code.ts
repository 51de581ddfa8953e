/**
 * Every kind of failure on the wire: our stable name, Vespa's number (that of `/search/`), and the HTTP status of an
 * answer that is nothing but this failure. What Vespa says of a number is apart, since no client asks for it. The table is a vector (`test-vectors/errors.json`); the core
 * has the same one in `crates/task/src/code.rs`.
 */

/** One row of the table. */
export interface ErrorKind {
  /** Vespa's number in `root.errors[].code`. */
  readonly number: number;
  /** HTTP status when there is nothing else to answer. */
  readonly status: number;
  /** Who decides on it: the core (Rust), or the host around it (gateway, partition, store). */
  readonly by: "core" | "host";
}

const core = (number: number, status: number): ErrorKind => ({ number, status, by: "core" });
const host = (number: number, status: number): ErrorKind => ({ number, status, by: "host" });

/** The stable name of a failure. */
export type ErrorCode =
  | "NULL_QUERY"
  | "ILLEGAL_QUERY"
  | "INVALID_QUERY_PARAMETER"
  | "ERROR_IN_REPLY"
  | "TIMED_OUT"
  | "BAD_REQUEST"
  | "INVALID_DOCUMENT"
  | "TOO_LARGE"
  | "INVALID_APPLICATION_PACKAGE"
  | "UNSUPPORTED"
  | "CONDITION_NOT_MET"
  | "STORE_CORRUPT"
  | "INTERNAL"
  | "UNAUTHENTICATED"
  | "NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "REQUEST_TIMEOUT"
  | "DEPLOYMENT_UNDER_WAY"
  | "TARGET_TOO_LONG"
  | "UNSUPPORTED_ENCODING"
  | "HEADERS_TOO_LARGE"
  | "MISDIRECTED"
  | "ORIGIN_REFUSED"
  | "SCOPE_REFUSED"
  | "OVERLOADED"
  | "UNAVAILABLE"
  | "TAIL_FULL"
  | "STORE_BUSY"
  | "STORE_FAILED"
  | "STORE_REFUSED"
  | "INSUFFICIENT_STORAGE";

/** All failures by name. */
export const ERROR_KINDS: Readonly<Record<ErrorCode, ErrorKind>> = {
  NULL_QUERY: core(1, 500),
  ILLEGAL_QUERY: core(3, 400),
  INVALID_QUERY_PARAMETER: core(4, 400),
  ERROR_IN_REPLY: core(8, 500),
  TIMED_OUT: core(12, 504),
  BAD_REQUEST: core(17, 400),
  INVALID_DOCUMENT: core(17, 400),
  TOO_LARGE: core(17, 413),
  INVALID_APPLICATION_PACKAGE: core(17, 400),
  UNSUPPORTED: core(4, 400),
  CONDITION_NOT_MET: core(17, 412),
  STORE_CORRUPT: core(10, 500),
  INTERNAL: core(18, 500),
  UNAUTHENTICATED: host(14, 401),
  NOT_FOUND: host(16, 404),
  METHOD_NOT_ALLOWED: host(17, 405),
  REQUEST_TIMEOUT: host(17, 408),
  DEPLOYMENT_UNDER_WAY: host(17, 409),
  TARGET_TOO_LONG: host(17, 414),
  UNSUPPORTED_ENCODING: host(17, 415),
  HEADERS_TOO_LARGE: host(17, 431),
  MISDIRECTED: host(17, 421),
  ORIGIN_REFUSED: host(15, 403),
  SCOPE_REFUSED: host(15, 403),
  OVERLOADED: host(17, 429),
  UNAVAILABLE: host(0, 503),
  TAIL_FULL: host(10, 503),
  STORE_BUSY: host(10, 503),
  STORE_FAILED: host(10, 500),
  STORE_REFUSED: host(10, 500),
  INSUFFICIENT_STORAGE: host(19, 507),
};

/** Whether a name is one of the table. */
export function isErrorCode(name: string): name is ErrorCode {
  return Object.hasOwn(ERROR_KINDS, name);
}

/** What became of an operation that failed: surely nothing, or nobody knows. */
export type FailureOutcome = "not_applied" | "unknown";

/**
 * What a failed write means for what is stored. A refusal (4xx), a full or absent backend (503, 507) comes before
 * execution; anything else may have happened after it began.
 */
export function failureOutcome(status: number): FailureOutcome {
  return status < 500 || status === 503 || status === 507 ? "not_applied" : "unknown";
}
