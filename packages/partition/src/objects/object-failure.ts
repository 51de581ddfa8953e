/** What an object replies of what failed in it, and whether that was of a group that is not there any more. */
import type { ServiceErrorFields } from "@brooklet/core";
import type { MassOutcome } from "../cluster.ts";
import { isOperators, serviceError } from "../failure.ts";
import { errorFields } from "../thread-messages.ts";

/** The reply of an object that failed, of which the operator is told what is his. `outcome`: of what may be done in part, whatever failed. */
export function failedReply(
  thrown: unknown,
  application: number,
  onProblem: (error: unknown) => void,
  outcome?: ServiceErrorFields["outcome"],
): { readonly failed: ServiceErrorFields; readonly application: number } {
  const error = serviceError(thrown);
  if (isOperators(error)) onProblem(error.cause ?? error);
  return { failed: { ...errorFields(error), ...(outcome !== undefined && { outcome }) }, application };
}

/** Whether something was asked of a database that is closed. */
export function isClosed(thrown: unknown): boolean {
  return serviceError(thrown).code === CLOSED;
}

/** What was done of an operation on many where nothing is left that it could go on with. */
export function endedOutcome(outcome: MassOutcome): MassOutcome {
  const { next: _, failure, ...done } = outcome;
  return failure?.code === CLOSED ? done : outcome;
}

const CLOSED = "UNAVAILABLE";
