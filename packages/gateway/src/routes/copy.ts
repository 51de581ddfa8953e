/**
 * The copy of documents of one content cluster to another: what is selected is put there as it is shown, so that what is made
 * of it is made anew, and the selections of the other cluster decide what it takes.
 */
import type { OperationRequest, PartitionKey } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Reply } from "../call.ts";
import { demandApplication, demandContentCluster, type GatewayContext } from "../context.ts";
import type { VisitProgress } from "../continuation.ts";
import type { DocumentPath } from "../document-path.ts";
import { DOCUMENT_JSON, endsHere, jsonReply } from "../failure.ts";
import type { DocumentParameters } from "../parameters.ts";
import { demandType, targetIn } from "../stored-types.ts";
import { traceOf } from "../trace.ts";
import type { DocumentSet } from "../visit-request.ts";
import { VisitSession } from "../visit-session.ts";
import { DOCUMENTS_MAX, endOf, STEP_BYTES, type WorkTime } from "./mass-operations.ts";

/** What is copied, from where on, and for how long. */
export interface Chunk {
  readonly set: DocumentSet;
  readonly from: VisitProgress | undefined;
  readonly time: WorkTime;
  readonly traceLevel: number;
  /** Nobody waits for it any more: it ends, and gives its place to another. */
  readonly gone: AbortSignal | undefined;
}

/** Documents that are written at a time: at the edge each is a call of an object, of which one request may make 1,000. */
const AT_ONCE = 64;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Copies documents to a content cluster. Those that are in it already need not be copied: they are found and counted. */
export async function answerCopy(
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
  { set, from, time, traceLevel, gone }: Chunk,
): Promise<Reply> {
  const destination = demandContentCluster(context.cluster, parameters.demand("destinationCluster"));
  for (const type of set.types) demandType(destination, type);
  const isElsewhere = destination.name !== set.cluster;
  if (isElsewhere) context.access.demand("put");
  const visit = { ...set.plan.visit, ...(isElsewhere ? { format: "jsonl" as const } : { fieldSet: "[id]" }) };
  await context.cluster.checkVisit(visit);
  await context.visits.enter();
  try {
    const session = new VisitSession(context.access, { ...set.plan, visit }, from);
    const startedAtMs = performance.now();
    const endMs = endOf(time);
    let [documents, pages] = [0, 0];
    let failure: string | undefined;
    let { progress } = session;
    const leftMs = (): number => endMs - performance.now();
    while (progress !== undefined && failure === undefined && leftMs() > 0 && gone?.aborted !== true) {
      const bounds = { documentsMax: isElsewhere ? AT_ONCE : DOCUMENTS_MAX, bytesMax: STEP_BYTES };
      try {
        const page = await session.next({ ...bounds, timeoutMs: leftMs(), gone }, false);
        failure = isElsewhere ? await copyPage(page.body, path, destination, context) : undefined;
        if (failure !== undefined) break;
        documents += page.documents;
        failure = page.damage;
      } catch (error) {
        if (!endsHere(error, pages > 0)) throw error;
        break;
      }
      pages += 1;
      progress = session.progress;
    }
    const message = failure === undefined ? {} : { message: failure };
    const more = progress && { continuation: await context.continuations.write(set.scope, progress) };
    const trace = traceOf(traceLevel, "copy ended", startedAtMs);
    const answer = { pathId: path.raw, documentCount: documents, ...trace, ...message, ...more };
    return jsonReply(failure === undefined ? 200 : 500, answer, DOCUMENT_JSON);
  } finally {
    context.visits.leave();
  }
}

/** Puts the documents of a page, JSON lines, in a content cluster. Why one of them was refused, if one was. */
async function copyPage(
  page: Uint8Array,
  path: DocumentPath,
  destination: { readonly name: string; readonly types: readonly string[] },
  context: GatewayContext,
): Promise<string | undefined> {
  const application = demandApplication(context.cluster);
  const lines = decoder.decode(page).split("\n");
  const outcomes = await Promise.all(
    lines
      .filter((line) => line !== "")
      .map((line) => {
        const { id, body } = documentOf(line);
        const [, namespace = "", type = ""] = id.split(":", 3);
        const target = targetIn(application, destination, { raw: path.raw, id, namespace, type });
        const about = { kind: "put", rawPath: path.raw, create: undefined, condition: "", body } as const;
        const request: OperationRequest = { ...about, ...target };
        return context.access.partition(keyOf(id), "put").apply(request, context.limits.documentTimeoutMs);
      }),
  );
  const refused = outcomes.find(({ status }) => status !== 200);
  if (refused === undefined) return undefined;
  const { status, code, message = `A document was not copied: status ${status}` } = refused;
  if (code === "TOO_LARGE") throw new ServiceError(code, message, { outcome: "unknown" });
  return message;
}

/** A document of a line, `{"put":ID,"fields":…}`: its id, and the body of its put. The bytes of its fields stay as they are. */
function documentOf(line: string): { readonly id: string; readonly body: Uint8Array } {
  const begin = '{"put":'.length;
  let end = begin + 1;
  while (line[end] !== '"') {
    if (end >= line.length) throw new ServiceError("ERROR_IN_REPLY", "A page of documents has no ids");
    end += line[end] === "\\" ? 2 : 1;
  }
  const id = JSON.parse(line.slice(begin, end + 1)) as string;
  return { id, body: encoder.encode(`{${line.slice(end + 2)}`) };
}

/** The partition of a document. */
function keyOf(id: string): PartitionKey {
  const [, kind, name = ""] = /^id:[^:]*:[^:]*:(?:([gn])=([^:,]*))?/s.exec(id) ?? [];
  if (kind === "g") return `g:${name}`;
  return kind === "n" ? `n:${BigInt(name)}` : "d:";
}
