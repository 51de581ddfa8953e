/** The JSON of `/document/v1`. Answers are flat: the Java feed client skips one token per member it does not know. */
import type { ErrorCode, FailureOutcome } from "./error-code.ts";

/** What every answer about one document has. */
export interface DocumentAnswer {
  /** The request path as it came. */
  readonly pathId: string;
  /** The document id; absent when the request failed before it meant a document. */
  readonly id?: string;
}

/** A document that was found. */
export interface DocumentFound<Fields = Readonly<Record<string, unknown>>> extends DocumentAnswer {
  readonly id: string;
  readonly fields: Fields;
}

/** A failure of a document operation. */
export interface DocumentFailure extends DocumentAnswer {
  readonly message: string;
  readonly outcome: FailureOutcome;
  readonly code: ErrorCode;
}

/** The body of a put or of an update. */
export interface DocumentBody<Fields = Readonly<Record<string, unknown>>> {
  readonly fields: Fields;
  readonly condition?: string;
  readonly create?: boolean;
}
