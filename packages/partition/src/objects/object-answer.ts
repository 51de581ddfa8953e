/** What an object answers to a search: as much as it may reply, and nothing of models, which are not run in it. */
import { type Answer, ServiceError } from "@brooklet/core";
import type { SearchStage } from "../query/open-search.ts";
import { REPLY_BYTES_MAX } from "./object-calls.ts";

/** The answer of a search that is over. No models are run here; then the search is given up. */
export function answerOf(stage: SearchStage, giveUp: () => void): Answer {
  if (stage.kind === "answer") {
    checkReply(stage.answer.body);
    return stage.answer;
  }
  giveUp();
  const message = "ONNX models are not run here: the rank profile cannot be used at the edge";
  throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
}

/** Throws where an answer is longer than an object may reply. */
export function checkReply({ length }: Uint8Array): void {
  if (length <= REPLY_BYTES_MAX) return;
  const message = `The answer has ${length} bytes, more than the ${REPLY_BYTES_MAX} that a group may answer here: ask for fewer hits or fields`;
  throw new ServiceError({ code: "TOO_LARGE", status: 413, number: 17, message });
}
