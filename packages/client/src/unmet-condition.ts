/** Why a write on a condition was not done. */
import { BrookletError } from "./error.ts";

/** The error of a write whose condition, as the server reads it, was not met. */
export function unmetCondition(cause: BrookletError, document: string, condition: string): BrookletError {
  const isThere = !cause.message.includes("does not exist");
  const message = isThere
    ? `${document} was not written: as it is stored it does not fulfil ${condition}. Read it and decide anew`
    : `${document} was not written: it is not there, and fulfils no condition (${condition}). With { create: true } it is made`;
  return new BrookletError(cause.code, message, { ...cause, cause });
}
