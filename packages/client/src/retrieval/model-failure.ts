/** What a language model or a reranker that could not answer is to the caller. */
import type { ChatError } from "@brooklet/answers";
import { BrookletError, type BrookletErrorCode } from "../error.ts";

const CODES: Readonly<Record<ChatError["failure"], BrookletErrorCode>> = {
  unreachable: "UNREACHABLE",
  refused: "UNEXPECTED_ANSWER",
  overloaded: "OVERLOADED",
  "timed out": "TIMED_OUT",
  malformed: "UNEXPECTED_ANSWER",
  "too long": "UNEXPECTED_ANSWER",
};

/** The failure, with the code to decide by. */
export function failureOfModel(error: ChatError): BrookletError {
  const { failure, message, status } = error;
  // Asking changes nothing, so nothing was applied whatever went wrong.
  return new BrookletError(CODES[failure], message, { status, outcome: "not_applied", cause: error });
}
