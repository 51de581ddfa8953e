/**
 * Updates, removals and copies of the documents a selection selects, for as long as a time chunk; the answer says how
 * many were selected, how many of those their content cluster does not let in as they would become, and, if there may be more, where
 * to go on. The selection is looked at again when each is written.
 */
import type { MassOperation, MassOutcome, Outcome, VisitPosition } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { HeldBody } from "../bodies.ts";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import type { VisitProgress } from "../continuation.ts";
import type { DocumentPath } from "../document-path.ts";
import { DOCUMENT_JSON, endsHere, jsonReply } from "../failure.ts";
import type { DocumentParameters } from "../parameters.ts";
import { traceOf } from "../trace.ts";
import { type DocumentSet, readContinuation } from "../visit-request.ts";
import { sessionMs } from "./visit.ts";

const TIME_CHUNK_MS = 60_000;
/** Bytes of ids of one step. */
export const STEP_BYTES: number = 1 << 20;
/** No bound of its own. */
export const DOCUMENTS_MAX: number = 2 ** 31 - 1;

/** Answers an operation on many documents. */
export async function answerMassOperation(
  call: Call,
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
  { set, traceLevel }: { readonly set: DocumentSet; readonly traceLevel: number },
): Promise<Reply> {
  const { documentTimeoutMs } = context.limits;
  const timeoutMs = Math.min(parameters.timeSpanMs("timeout") ?? documentTimeoutMs, documentTimeoutMs);
  const time: WorkTime = {
    // Waiting for a place and for the body is a part of the time of the request, not of its work.
    latestMs: call.arrivedMs + sessionMs(timeoutMs),
    chunkMs: parameters.timeSpanMs("timeChunk") ?? TIME_CHUNK_MS,
  };
  const from = await readContinuation(parameters, set, context);
  if (call.method === "POST")
    return await (await import("./copy.ts")).answerCopy(path, parameters, context, {
      set,
      from,
      time,
      traceLevel,
      gone: call.gone,
    });
  const kind = call.method === "PUT" ? "update" : "remove";
  await context.visits.enter();
  const startedAtMs = performance.now();
  let held: HeldBody | undefined;
  try {
    if (kind === "update") held = await readUpdate(call, context);
    const operation: MassOperation = { kind, rawPath: path.raw, body: held?.bytes ?? NO_BYTES };
    await context.cluster.checkVisit(set.plan.visit, operation);
    const done = await applyAll(set, operation, from, { endMs: endOf(time), gone: call.gone }, context);
    const continuation =
      done.progress === undefined ? {} : { continuation: await context.continuations.write(set.scope, done.progress) };
    const message = done.failure === undefined ? {} : toldOf(done.failure, done.documents > 0);
    const trace = traceOf(traceLevel, `${kind} of what is selected ended`, startedAtMs);
    const counts = { documentCount: done.documents, ...(done.ignored > 0 && { ignoredCount: done.ignored }) };
    const answer = { pathId: path.raw, ...counts, ...trace, ...message, ...continuation };
    const status = done.failure === undefined ? 200 : done.failure.code === "TIMED_OUT" ? 504 : 500;
    return jsonReply(status, answer, DOCUMENT_JSON);
  } finally {
    held?.release();
    context.visits.leave();
  }
}

/** How long a request works: so long from when it begins, but not beyond a moment. */
export interface WorkTime {
  readonly chunkMs: number;
  readonly latestMs: number;
}

/** When work that begins now has to end. Throws if it is too late to begin. */
export function endOf({ chunkMs, latestMs }: WorkTime): number {
  const nowMs = performance.now();
  const endMs = Math.min(nowMs + chunkMs, latestMs);
  if (endMs > nowMs) return endMs;
  throw new ServiceError("TIMED_OUT", "No time left to visit any bucket", { outcome: "not_applied" });
}

async function readUpdate(call: Call, context: GatewayContext): Promise<HeldBody> {
  const kind = { name: "Document operation request", limitBytes: context.limits.bodyBytes };
  return await context.bodies.read(call, kind);
}

interface Applied {
  readonly documents: number;
  readonly ignored: number;
  readonly progress: VisitProgress | undefined;
  readonly failure: Outcome | undefined;
}

/** Why it stopped. As a whole it is not to be called undone if some of it was done, whatever the reason. */
function toldOf({ message = "The operation failed", code, outcome }: Outcome, isBegun: boolean): object {
  return { message, ...(code !== undefined && { code }), outcome: isBegun ? "unknown" : (outcome ?? "unknown") };
}

/** A step that was not done. Where others were done before, the answer has to say where to go on. */
function stoppedOutcome(error: unknown, next: VisitPosition, isBegun: boolean, hasMoved: boolean): MassOutcome {
  if (!((isBegun || endsHere(error, hasMoved)) && ServiceError.is(error))) throw error;
  const { status, code, message, outcome } = error;
  return { documents: 0, next, failure: { status, code, message, ...(outcome && { outcome }) } };
}

/** Goes through the buckets one after the other until the time is over, or nobody waits for it any more. */
async function applyAll(
  { plan }: DocumentSet,
  operation: MassOperation,
  from: VisitProgress | undefined,
  { endMs, gone }: { readonly endMs: number; readonly gone: AbortSignal | undefined },
  { access }: GatewayContext,
): Promise<Applied> {
  const { visit, key, buckets } = plan;
  const [open] = from?.open ?? [];
  let bucket = open?.bucket ?? buckets.find((one) => one >= (from?.nextBucket ?? 0));
  let position: VisitPosition = open ?? { partition: 0, after: "" };
  let [documents, ignored, steps] = [0, 0, 0];
  let failure: Outcome | undefined;
  while (bucket !== undefined && failure === undefined && performance.now() < endMs && gone?.aborted !== true) {
    const { partition, after } = position;
    const bounds = { documentsMax: DOCUMENTS_MAX, bytesMax: STEP_BYTES };
    const step = { bucket, from: { partition, after }, ...bounds, ...(key === undefined ? {} : { key }) };
    const asked = access.applyWhere(visit, step, operation, Math.max(endMs - performance.now(), 1), gone);
    const outcome = await asked.catch((error: unknown) => stoppedOutcome(error, position, documents > 0, steps > 0));
    steps += 1;
    documents += outcome.documents;
    ignored += outcome.ignored ?? 0;
    failure = outcome.failure;
    position = outcome.next ?? { partition: 0, after: "" };
    const done: number = bucket;
    if (outcome.next === undefined) bucket = buckets.find((one) => one > done);
  }
  // That its time is over ends a request as it ends a visit: what was done is done, and the next goes on from there.
  if (failure?.code === "TIMED_OUT" && documents > 0) failure = undefined;
  if (bucket === undefined) return { documents, ignored, progress: undefined, failure };
  if (failure?.code === "TOO_LARGE" && (documents > 0 || steps > 1)) failure = undefined;
  return { documents, ignored, progress: { open: [{ bucket, ...position }], nextBucket: bucket + 1 }, failure };
}
