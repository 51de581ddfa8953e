/** What can go wrong where a database or a server begins, as errors that say what is missing and carry their cause. */
import { BrookletError, type BrookletErrorCode } from "@brooklet/client";
import { StartError } from "@brooklet/gateway/local";
import { serviceError } from "@brooklet/partition";
import { StoreError } from "@brooklet/store";
import { ServiceError } from "@brooklet/wire";

const FOLDER_GONE = "The folder that this process is in is not there any more: start it, or process.chdir(), elsewhere";

/** The error of a beginning: what the store says with the code it has anywhere, anything else with `CANNOT_START`. */
export function startingError(reason: unknown): BrookletError {
  if (BrookletError.is(reason)) return reason;
  const { message } = reason as Error;
  // Where nothing can be written nothing begins; that a call waits for it is for what has begun.
  if (reason instanceof StoreError && reason.kind !== "readonly") {
    const { code, status } = serviceError(reason);
    // Nobody else reads it: what names files may be said.
    return new BrookletError(code as BrookletErrorCode, message, { status, cause: reason });
  }
  if (ServiceError.is(reason)) {
    const { code, status, outcome, cause = reason } = reason;
    return new BrookletError(code, message, { status, outcome, cause });
  }
  const cause = reason instanceof StartError && reason.cause !== undefined ? reason.cause : reason;
  const { syscall, path } = reason as NodeJS.ErrnoException;
  const isGone = syscall === "uv_cwd" || (syscall === "realpath" && path === ".");
  return new BrookletError("CANNOT_START", isGone ? FOLDER_GONE : message, { cause });
}

/** Begins something; what goes wrong is told by `startingError`. */
export function starting<Result>(begin: () => Result): Result {
  try {
    return begin();
  } catch (reason) {
    throw startingError(reason);
  }
}
