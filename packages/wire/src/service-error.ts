/**
 * The one error class that means something to a client: it has a stable code, Vespa's number, and an HTTP status.
 * It is recognised by a marker, not by its class, since several copies of this package may be loaded.
 */
import { ERROR_KINDS, type ErrorCode, type FailureOutcome, failureOutcome, isErrorCode } from "./error-code.ts";

const MARKER: unique symbol = Symbol.for("brooklet.ServiceError");

/** What a `ServiceError` may carry beside its code and message. */
export interface ServiceErrorOptions {
  /** Status other than the code's own. */
  readonly status?: number;
  /** Vespa's number other than the code's own. */
  readonly number?: number;
  /** What became of the operation, where the status does not tell it. */
  readonly outcome?: FailureOutcome;
  /** What made it. Never shown to a client. */
  readonly cause?: unknown;
}

/** A failure that a client may be told about. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly code: ErrorCode;
  readonly status: number;
  readonly number: number;
  /** Whether the operation certainly did not happen. */
  readonly outcome: FailureOutcome;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_KINDS[code].status;
    this.number = options.number ?? ERROR_KINDS[code].number;
    this.outcome = options.outcome ?? failureOutcome(this.status);
    Object.defineProperty(this, MARKER, { value: true });
  }

  /** Recognises a service error, also one made by another copy of this package. */
  static is(value: unknown): value is ServiceError {
    return value instanceof Error && (value as { [MARKER]?: unknown })[MARKER] === true;
  }

  /** Reads the failure that another thread or the core described. An unknown name is a defect of ours. */
  static from(description: ServiceErrorOptions & { readonly code: string; readonly message: string }): ServiceError {
    const { code, message, ...options } = description;
    return new ServiceError(isErrorCode(code) ? code : "INTERNAL", message, options);
  }
}
