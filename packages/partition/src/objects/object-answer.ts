/** What an object replies; to a search, as much as it may, and nothing of models, which are not run in it. */
import { type Answer, ServiceError } from "@brooklet/core";
import type { Gone } from "../cancellation.ts";
import { clock } from "../clock.ts";
import type { LoadOutcome, VisitPage } from "../cluster.ts";
import { OBJECT_STEP_MS } from "../limits.ts";
import type { SearchStage } from "../query/open-search.ts";
import type { Waiting } from "../query/query-models.ts";
import { MOVED } from "../shards/moved.ts";
import type { ShardRecord } from "../shards/shard.ts";
import { type ObjectReply, type ObjectWaiting, REPLY_BYTES_MAX } from "./object-calls.ts";

/** The answer of a search that is over. No models are run here; then the search is given up. */
export function answerOf(stage: SearchStage, giveUp: () => void): Answer {
  if (stage.kind === "answer") {
    return checked(stage.answer);
  }
  giveUp();
  const message = "ONNX models are not run here: the rank profile cannot be used at the edge";
  throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
}

/** What is not longer than an object may reply. */
export function checked<Replied extends { readonly body: Uint8Array }>(replied: Replied): Replied {
  checkReply(replied.body);
  return replied;
}

/** A page of so many documents, or where that is longer than an object may reply, of one; nothing: there is one before it already. */
export async function pageOf(
  page: (documentsMax: number) => Promise<VisitPage>,
  documentsMax: number,
  isFirst: boolean,
): Promise<VisitPage | undefined> {
  try {
    return await page(documentsMax);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== "TOO_LARGE") throw error;
    return isFirst ? await page(1) : undefined;
  }
}

/** Throws where an answer is longer than an object may reply. */
export function checkReply({ length }: Uint8Array): void {
  if (length <= REPLY_BYTES_MAX) return;
  const message = `The answer has ${length} bytes, more than the ${REPLY_BYTES_MAX} that a group may answer here: ask for fewer hits or fields`;
  throw new ServiceError({ code: "TOO_LARGE", status: 413, number: 17, message });
}

/** The reply of an object that did what it was asked; `shard`: what it is, if its group was split. */
export function doneReply<Result>(
  result: Result,
  shard: ShardRecord | undefined,
  application: number,
): ObjectReply<Result> {
  return { ok: result, application, ...(shard !== undefined && shard.bits > 0 && { shard }) };
}

/** The reply of an object that has given away what it was asked for. */
export function movedReply<Result>(shard: ShardRecord | undefined, application: number): ObjectReply<Result> {
  return { moved: shard === undefined || shard.isErased === true ? null : shard, application };
}

/** One of both. */
export function replyOf<Result>(
  result: Result,
  hasMoved: boolean,
  shard: ShardRecord | undefined,
  application: number,
): ObjectReply<Result> {
  return hasMoved ? movedReply(shard, application) : doneReply(result, shard, application);
}

/** Whether a document is another shard's. */
export function isMoved({ status }: { readonly status: number }): boolean {
  return status === MOVED;
}

/** The same of one of several that are written together. */
export function hasAnyMoved(outcomes: readonly LoadOutcome[]): boolean {
  return outcomes.some((told) => "outcome" in told && isMoved(told.outcome));
}

/** How the caller of an object waits, by the clock of this one. */
export function waitingOf({ timeoutMs, waitedMs = 0 }: ObjectWaiting): Waiting {
  return { timeoutMs, startMs: clock.now() - waitedMs, gone: { aborted: false } };
}

/** Whether a step has to pause: an object does not hear that a caller goes away, who goes on if there is still anybody. */
export function stepEnd(): Gone {
  const endMs = clock.now() + OBJECT_STEP_MS;
  return {
    get aborted(): boolean {
      return clock.now() >= endMs;
    },
  };
}
