/** Failures of the platform, not of an object: what is told of them, and whether to ask again. */
import { ServiceError } from "@brooklet/core";
import type { GroupCalls, ObjectPort } from "./object-calls.ts";

/** What a failure of the platform means: too much at a time, or an object that was moved meanwhile. */
function platformFailure(error: unknown, writes: boolean): unknown {
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

/** What is asked of a group: whether it writes, and whether it may be asked once more where nobody knows what came of it. */
export interface Asking {
  readonly writes: boolean;
  readonly mayRepeat: boolean;
}

/** What a group replies. One whose object was moved, or begins anew, is asked once more if it may be. */
export async function askGroup<Given, Reply>(
  port: ObjectPort,
  name: string,
  { writes, mayRepeat }: Asking,
  call: (group: GroupCalls, given: Given) => Promise<Reply>,
  given: Given,
): Promise<Reply> {
  try {
    return await call(port.group(name), given);
  } catch (error) {
    if (!mayRepeat || !isRetryable(error)) throw platformFailure(error, writes);
  }
  try {
    return await call(port.group(name), given);
  } catch (error) {
    throw platformFailure(error, writes);
  }
}

function isOverloaded(error: unknown): boolean {
  return (error as { readonly overloaded?: unknown }).overloaded === true;
}

/**
 * Whether the object was moved or ended before it answered: one that is asked now begins anew. One that has too much to do is not
 * asked again, whatever else the platform says of it.
 */
function isRetryable(error: unknown): boolean {
  if (isOverloaded(error)) return false;
  const { retryable, durableObjectReset } = error as {
    readonly retryable?: unknown;
    readonly durableObjectReset?: unknown;
  };
  return retryable === true || durableObjectReset === true;
}
