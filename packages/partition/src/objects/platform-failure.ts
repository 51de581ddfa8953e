/** Failures of the platform, not of an object: what is told of them, and whether to ask again. */
import { ServiceError } from "@brooklet/core";

/** What a failure of the platform means: too much at a time, or an object that was moved meanwhile. */
export function platformFailure(error: unknown, writes: boolean): unknown {
  if (isOverloaded(error)) {
    const message = "The object of this group has too much to do; try again later";
    return new ServiceError({
      code: "OVERLOADED",
      status: 503,
      number: 8,
      message,
      outcome: "not_applied",
      cause: error,
    });
  }
  if (!isRetryable(error)) return error;
  const message = "The object of this group was moved or started again meanwhile; ask again";
  const outcome = writes ? "unknown" : "not_applied";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome, cause: error });
}

function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown }).overloaded === true;
}

/**
 * Whether the object was moved or ended before it answered: one that is asked now begins anew. One that has too much to do is not
 * asked again, whatever else the platform says of it.
 */
export function isRetryable(error: unknown): boolean {
  if (isOverloaded(error)) return false;
  const { retryable, durableObjectReset } = error as {
    readonly retryable?: unknown;
    readonly durableObjectReset?: unknown;
  };
  return retryable === true || durableObjectReset === true;
}
