/** What a failure of the store means to a caller: a code, a status, and whether the operation certainly did not happen. */
import { internalError, isServiceError, ServiceError } from "@brooklet/core";
import { StoreError, type StoreErrorKind } from "@brooklet/store";
import type { Outcome } from "./cluster.ts";

/** As `withCause` of the wire has it, which this package does not see: beside an outcome, never in what is sent of it. */
const CAUSE: unique symbol = Symbol.for("brooklet.cause");

type Meaning = Pick<ServiceError, "code" | "status" | "number" | "message" | "outcome">;

/** The code of a failure of one partition alone: what is stored of it is damaged, others are no worse for it. */
export const DAMAGED = "STORE_CORRUPT";
/** The code of what a full device does not take. */
export const FULL = "INSUFFICIENT_STORAGE";

/** The code of what was not done in its time. */
export const TIMED_OUT = "TIMED_OUT";

/** A platform that lets an account do no more that day. The status is none after which clients ask again: it would be in vain for hours. */
export const SPENT: Meaning & { readonly outcome: "not_applied" } = {
  code: "OVERLOADED",
  status: 507,
  number: 8,
  message: "The account has used up what its plan at the platform allows for a day; try again when the next one begins",
  outcome: "not_applied",
};

/** The messages name no file and no document: those are in the cause, for the operator. */
const MEANINGS: Readonly<Record<StoreErrorKind, Meaning>> = {
  full: meaning(FULL, 507, 19, "The storage is full", "not_applied"),
  readonly: meaning(
    "UNAVAILABLE",
    503,
    0,
    "The storage can only be read: its device or its files take no writes",
    "not_applied",
  ),
  io: meaning("STORE_FAILED", 500, 10, "The storage failed", "unknown"),
  damaged: meaning(DAMAGED, 500, 10, "The stored data is damaged", "unknown"),
  refused: meaning("STORE_REFUSED", 500, 10, "The stored data cannot be used by this release", "not_applied"),
  busy: meaning("STORE_BUSY", 503, 10, "The storage is in use", "not_applied"),
  closed: meaning("UNAVAILABLE", 503, 0, "The database is closed", "not_applied"),
  large: meaning(
    "TOO_LARGE",
    413,
    17,
    "The document is longer than the storage takes (2 MB in an object)",
    "not_applied",
  ),
  spent: SPENT,
};

/** The `ServiceError` that a caller sees for whatever was thrown. */
export function serviceError(thrown: unknown): ServiceError {
  if (isServiceError(thrown)) return thrown;
  if (thrown instanceof StoreError) {
    const { outcome, ...said } = MEANINGS[thrown.kind];
    return new ServiceError({ ...said, ...(outcome === undefined ? {} : { outcome }), cause: thrown });
  }
  return internalError(thrown);
}

/** The outcome of a write that failed with `thrown`. */
export function failedOutcome(thrown: unknown): Outcome {
  const { status, code, message, outcome, cause } = serviceError(thrown);
  return withCause({ status, code, message, outcome: outcome ?? "unknown" }, cause);
}

/** An outcome with what made it beside it. */
export function withCause(outcome: Outcome, cause: unknown): Outcome {
  return cause === undefined ? outcome : Object.defineProperty(outcome, CAUSE, { value: cause });
}

/** What made an outcome. */
export function causeOf(outcome: object): unknown {
  return (outcome as { readonly [CAUSE]?: unknown })[CAUSE];
}

/** Whether a failure is a defect of ours, or the machine's: something the operator has to know. */
export function isOperators({ code }: Pick<ServiceError, "code">): boolean {
  return code === "INTERNAL" || code === DAMAGED || code === "STORE_FAILED" || code === "STORE_REFUSED";
}

/** Everything the operator may need of an error, as a text: its causes cannot travel, and its stack does not tell them. */
export function describeProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = isServiceError(error) ? error.message : (error.stack ?? error.message);
  return error.cause === undefined ? own : `${own}\ncaused by ${describeProblem(error.cause)}`;
}

/** Tells each problem once, however many calls it fails, and whether it is told itself or as what made another. */
export function tellingOnce(tell: (problem: unknown) => void): (problem: unknown) => void {
  const told = new WeakSet();
  return (problem) => {
    const made = problem instanceof Error && typeof problem.cause === "object" ? problem.cause : problem;
    if (typeof made === "object" && made !== null) {
      if (told.has(made)) return;
      told.add(made);
    }
    tell(problem);
  };
}

/** Whether something was not done because what it was to be done to was closed, or let go of. */
export function isClosed(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "closed";
}

/** A call that came after the database was closed, or was not begun when it was. */
export function closedError(): ServiceError {
  return serviceError(new StoreError("closed", "nothing is read or written after close()"));
}

/** A request that was not begun before its time was over. */
export function tooLate(): ServiceError {
  return new ServiceError({
    code: TIMED_OUT,
    status: 504,
    number: 12,
    message: "Timed out before the operation was begun",
    outcome: "not_applied",
  });
}

/** A query whose time was over before it was begun; the core's words for it. */
export function noTimeLeft(waitedMs: number): ServiceError {
  const message = `No time left after waiting for ${Math.max(1, Math.floor(waitedMs))}ms to execute query`;
  return new ServiceError({ code: TIMED_OUT, status: 504, number: 12, message, outcome: "not_applied" });
}

/** A partition whose tail is at its limit and cannot be folded at the moment. */
export function tailFull(operations: number, cause: unknown): ServiceError {
  const message = `The group has ${operations} operations that are not in a segment yet (limit ${operations}); try again later`;
  return new ServiceError({ code: "TAIL_FULL", status: 503, number: 10, message, outcome: "not_applied", cause });
}

/** A write that would have a group exceed what it may have (L-group). */
export function overQuota(of: "documents" | "bytes", most: number, now: number): ServiceError {
  const message = `The group may have ${most} ${of} and has ${now} (limit L-group): remove some, removes are always taken`;
  return new ServiceError({ code: FULL, status: 507, number: 19, message, outcome: "not_applied" });
}

function meaning(code: string, status: number, number: number, message: string, outcome: Meaning["outcome"]): Meaning {
  return { code, status, number, message, outcome };
}
