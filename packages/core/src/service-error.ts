/**
 * The one error a caller may see: a kind, a status and a sentence. Everything else that is thrown is a defect, and
 * becomes `INTERNAL` with a reference number before it leaves the house.
 */

/** On the prototype, so that an error made by another copy of this package is still known. */
const marker: symbol = Symbol.for("brooklet.ServiceError");

/** What a `ServiceError` says. */
export interface ServiceErrorFields {
  /** Stable name of the kind (`ILLEGAL_QUERY`). */
  readonly code: string;
  /** HTTP status. */
  readonly status: number;
  /** One sentence for the caller. */
  readonly message: string;
  /** Vespa's error number. */
  readonly number: number;
  /** Line and column of the refused text, both from 1. */
  readonly line?: number;
  readonly column?: number;
  /** Whether the operation certainly did not happen; absent where nothing is changed. */
  readonly outcome?: "not_applied" | "unknown";
  readonly cause?: unknown;
}

/** A refusal or failure with everything its answer needs. */
export class ServiceError extends Error {
  readonly code: string;
  readonly status: number;
  readonly number: number;
  readonly line: number | undefined;
  readonly column: number | undefined;
  readonly outcome: "not_applied" | "unknown" | undefined;

  constructor(fields: ServiceErrorFields) {
    super(fields.message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.name = "ServiceError";
    this.code = fields.code;
    this.status = fields.status;
    this.number = fields.number;
    this.line = fields.line;
    this.column = fields.column;
    this.outcome = fields.outcome;
  }
}

Object.defineProperty(ServiceError.prototype, marker, { value: true });

/** Whether `error` is a `ServiceError` of any copy of this package. */
export function isServiceError(error: unknown): error is ServiceError {
  return typeof error === "object" && error !== null && marker in error;
}

/** The error a rejection of the core stands for; `undefined` if `thrown` is not one. */
export function rejection(thrown: unknown): ServiceError | undefined {
  if (typeof thrown !== "string" || !thrown.startsWith("{")) return undefined;
  const { code, number, status, message, line, column } = JSON.parse(thrown) as ServiceErrorFields;
  return new ServiceError({
    code,
    number,
    status,
    message,
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
    outcome: "not_applied",
  });
}

/**
 * Tells the defects of this run from those of another. Made with the first: workerd has no randomness while a module is loaded, and
 * elsewhere it takes a while to load.
 */
let run: string | undefined;
let defects = 0;

function nameOfRun(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(3));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A defect of ours, as the caller may see it: a reference number that the operator finds beside `cause`. */
export function internalError(cause: unknown): ServiceError {
  defects += 1;
  run ??= nameOfRun();
  return new ServiceError({
    code: "INTERNAL",
    number: 18,
    status: 500,
    message: `Internal error, reference ${run}-${defects}`,
    outcome: "unknown",
    cause,
  });
}
