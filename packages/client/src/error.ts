/**
 * The error of everything in this package: a stable code, one sentence, and whether anything happened. It is recognised
 * by a marker, not by its class, since several copies of this package may be loaded.
 */
import { type ErrorCode, type FailureOutcome, suggestion } from "@brooklet/wire";

const MARKER: unique symbol = Symbol.for("brooklet.BrookletError");

/** Codes of failures that no server has seen. */
export const OWN_CODES = [
  "INVALID_ARGUMENT",
  "CANNOT_START",
  "CLOSED",
  "UNREACHABLE",
  "UNEXPECTED_ANSWER",
  "FEED_FAILED",
  "SCHEMAS_DIFFER",
  "MIGRATION_FAILED",
] as const;

/** The server's codes, and those of failures that no server has seen. */
export type BrookletErrorCode = ErrorCode | (typeof OWN_CODES)[number];

/** What an error may carry beside its code and message. */
export interface BrookletErrorOptions {
  /** HTTP status of the answer; 0 without one. */
  readonly status?: number;
  /** Whether the operation certainly did not happen. */
  readonly outcome?: FailureOutcome;
  /** How long the server wants nothing of the kind, as its `Retry-After` said. */
  readonly retryAfterMs?: number | undefined;
  /** What made it. */
  readonly cause?: unknown;
}

/**
 * A failure, with the sentence to show and the code to decide by.
 *
 * @example
 * ```ts
 * try {
 *   await alice.get(mail, "m1");
 * } catch (error) {
 *   if (BrookletError.is(error) && error.code === "OVERLOADED") console.log(error.outcome);
 *   else throw error;
 * }
 * ```
 */
export class BrookletError extends Error {
  override readonly name = "BrookletError";
  readonly code: BrookletErrorCode;
  /** HTTP status of the answer; 0 if there was none. */
  readonly status: number;
  /** `not_applied`: the operation certainly did not happen. `unknown`: it may have. */
  readonly outcome: FailureOutcome;
  /** How long the server asked to wait, in its `Retry-After`; not there if it did not. */
  declare readonly retryAfterMs?: number;

  constructor(
    code: BrookletErrorCode,
    message: string,
    { status = 0, outcome = "not_applied", retryAfterMs, cause }: BrookletErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.outcome = outcome;
    if (retryAfterMs) this.retryAfterMs = retryAfterMs;
    Object.defineProperty(this, MARKER, { value: true });
  }

  /** Recognises an error of this package, also one made by another copy of it. */
  static is(value: unknown): value is BrookletError {
    return value instanceof Error && (value as { [MARKER]?: unknown })[MARKER] === true;
  }
}

/**
 * @internal An argument that cannot be used: nothing was sent.
 *
 * @example
 * ```ts
 * if (Math.random() > 1) throw invalidArgument("limit is 0: give 1 or more");
 * ```
 */
export function invalidArgument(message: string): BrookletError {
  return new BrookletError("INVALID_ARGUMENT", message);
}

/** An answer that does not mean what it should. */
export function unexpectedAnswer(message: string): BrookletError {
  return new BrookletError("UNEXPECTED_ANSWER", message, { outcome: "unknown" });
}

/**
 * @internal Refuses a member of `given` that is not known: what is misspelt must not be left out silently.
 *
 * @example
 * ```ts
 * const options = { limit: 5 };
 * refuseUnknown("my search", options, ["limit", "offset"]);
 * ```
 */
export function refuseUnknown(what: string, given: object, known: readonly string[] | Kinds): void {
  demandKind(what, given, "an object");
  const names = Array.isArray(known) ? (known as readonly string[]) : Object.keys(known);
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name)) throw invalidArgument(`${what} has no option '${name}'${suggestion(name, names)}`);
    if (value !== undefined) demandKind(name, value, (known as Kinds)[name]);
  }
}

/** What an option may be: anything, something of a kind, or one of these. */
export type Kind = true | "a text" | "a list" | "an object" | "a function" | readonly unknown[];
/** @internal What options may be, by their names. */
export type Kinds = Readonly<Record<string, Kind>>;
/** What is so or not. */
export const FLAG: Kind = [true, false];

/** Refuses what is not of a kind. */
export function demandKind(name: string, value: unknown, kind: Kind = true): void {
  if (kind === true || (typeof kind === "string" ? kindOf(value) === kind : kind.includes(value))) return;
  throw invalidArgument(`${name} is ${excerpt(value)}: give ${[kind].flat().join(" or ")}`);
}

const KINDS: Readonly<Record<string, string>> = { string: "a text", object: "an object", function: "a function" };

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "a list" : (value !== null && KINDS[typeof value]) || String(value);
}

/** A value in a sentence. */
export function excerpt(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : kindOf(value);
}

/** @internal What a room below refuses, as the error of this package. */
export function withOwnErrors<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw error instanceof RangeError ? invalidArgument(error.message) : error;
  }
}
