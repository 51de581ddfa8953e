/**
 * `/document/v1` without a document id: visits, and updates, removals and copies of the documents a selection selects.
 * Parameters are checked in the order of the reference implementation, so that of several mistakes the same is told.
 */

import type { Call, Reply } from "../call.ts";
import { demandContentCluster, type GatewayContext } from "../context.ts";
import type { DocumentPath } from "../document-path.ts";
import type { DocumentParameters } from "../parameters.ts";
import { readContinuation, readDocumentSet } from "../visit-request.ts";
import { VisitSession } from "../visit-session.ts";
import { prefersJsonLines } from "./accept.ts";
import { answerMassOperation } from "./mass-operations.ts";
import { streamVisit, visitOnce } from "./visit.ts";

const CONCURRENCY_MAX = 100;
const ALL = 2 ** 31 - 1;

/** Answers a request about many documents. Throws what is wrong with it before anything is visited. */
export async function answerDocumentSet(
  call: Call,
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
): Promise<Reply> {
  context.access.demand("visit");
  if (call.method === "GET") return await answerVisit(call, path, parameters, context);
  if (call.method !== "POST") context.access.demand(call.method === "PUT" ? "update" : "remove");
  const traceLevel = checkMassParameters(call.method, parameters, context);
  const shown = { fieldSet: "", tensorFormat: "", format: "json" as const, concurrency: 1 };
  const set = readDocumentSet(path, parameters, context, shown);
  return await answerMassOperation(call, path, parameters, context, { set, traceLevel });
}

async function answerVisit(
  call: Call,
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
): Promise<Reply> {
  const { limits, access } = context;
  parameters.forbid("dryRun");
  const isStream = parameters.flag("stream");
  const wanted = parameters.positive("wantedDocumentCount", ALL) ?? (isStream ? ALL : 1);
  const concurrency = Math.min(parameters.positive("concurrency", CONCURRENCY_MAX) ?? 1, limits.visitBuckets);
  const traceLevel = parameters.integer("tracelevel", { min: 0, max: 9 }) ?? 0;
  const timeoutMs = Math.min(parameters.timeSpanMs("timeout") ?? limits.documentTimeoutMs, limits.documentTimeoutMs);
  const format = isStream && prefersJsonLines(call.header("accept")) ? "jsonl" : "json";
  const asked = parameters.only("format.tensors");
  // Only JSON lines have tensors as hexadecimal digits, as in the reference implementation.
  const tensorFormat = format === "jsonl" ? asked : asked.replace(/^hex/, "short");
  const fieldSet = parameters.text("fieldSet") ?? "";
  const includeRemoves = parameters.flag("includeRemoves");
  const isEventual = parameters.isEventual();
  const shown = { fieldSet, tensorFormat, format, concurrency, includeRemoves } as const;
  const set = readDocumentSet(path, parameters, context, shown);
  const from = await readContinuation(parameters, set, context);
  await context.cluster.checkVisit(set.plan.visit);
  const session = new VisitSession(access, { ...set.plan, isEventual }, from);
  const { arrivedMs, gone } = call;
  // The `vespa` command takes lines that end before the last document for an answer that was cut off.
  const enough = format === "jsonl" ? ALL : wanted;
  const request = { pathId: path.raw, set, session, wanted: enough, timeoutMs, traceLevel, arrivedMs, gone };
  return isStream ? await streamVisit(request, context) : await visitOnce(request, context);
}

const MEANINGLESS = ["concurrency", "fieldSet", "route", "wantedDocumentCount"];

/** Returns the trace level. */
function checkMassParameters(method: string, parameters: DocumentParameters, context: GatewayContext): number {
  parameters.forbid("dryRun");
  if (method === "POST") parameters.demand("destinationCluster");
  const [first, then]: [() => void, () => void] = [
    () => {
      parameters.forbid(...MEANINGLESS);
      parameters.demand("selection");
    },
    () => demandContentCluster(context.cluster, parameters.demand("cluster")),
  ];
  if (method === "PUT") then();
  first();
  if (method !== "PUT") then();
  return parameters.integer("tracelevel", { min: 0, max: 9 }) ?? 0;
}
