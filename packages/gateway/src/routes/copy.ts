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

/** Documents that are written at a time. */
const AT_ONCE = 64;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Why a copy ended early. */
interface CopyFailure {
  readonly message: string;
  /** Where to go on. */
  readonly at: VisitProgress | undefined;
}

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
    let failure: CopyFailure | undefined;
    const leftMs = (): number => endMs - performance.now();
    while (session.progress !== undefined && failure === undefined && leftMs() > 0 && gone?.aborted !== true) {
      const before = session.progress;
      const bounds = { documentsMax: DOCUMENTS_MAX, bytesMax: STEP_BYTES, timeoutMs: leftMs(), gone };
      const page = await session.next(bounds, false).catch((error: unknown) => {
        if (!endsHere(error, pages > 0)) throw error;
      });
      if (page === undefined) break;
      pages += 1;
      const refused = isElsewhere ? await copyPage(page.body, path, destination, context) : undefined;
      if (refused !== undefined) failure = { message: refused, at: before };
      else {
        documents += page.documents;
        if (page.damage !== undefined) failure = { message: page.damage, at: session.progress };
      }
    }
    const progress = failure === undefined ? session.progress : failure.at;
    const message = failure === undefined ? {} : { message: failure.message };
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
  for (let at = 0; at < lines.length; at += AT_ONCE) {
    const some = lines.slice(at, at + AT_ONCE).filter((line) => line !== "");
    const outcomes = await Promise.all(
      some.map((line) => {
        const { id, body } = documentOf(line);
        const [, namespace = "", type = ""] = id.split(":", 3);
        const target = targetIn(application, destination, { raw: path.raw, id, namespace, type });
        const about = { kind: "put", rawPath: path.raw, create: undefined, condition: "", body } as const;
        const request: OperationRequest = { ...about, ...target };
        return context.access.partition(keyOf(id), "put").apply(request, context.limits.documentTimeoutMs);
      }),
    );
    const refused = outcomes.find(({ status }) => status !== 200);
    if (refused !== undefined) return refused.message ?? `A document was not copied: status ${refused.status}`;
  }
  return undefined;
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
