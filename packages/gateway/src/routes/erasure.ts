/**
 * `DELETE /brooklet/v1/groups/NAME`, an interface of our own: everything that is stored of a group is erased. Where each group has
 * a database of its own, that is emptied; elsewhere its documents are removed, of every content cluster there is. The answer is a
 * receipt.
 */
import type { PartitionKey, Visit, VisitPosition } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { groupOf } from "../document-path.ts";
import { echo } from "../echo.ts";
import { type DefectListener, jsonReply, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { NO_PARAMETERS } from "../request-shapes.ts";
import { pathSegments, splitTarget } from "../target.ts";
import { sessionMs } from "./visit.ts";

/** Bytes of ids of one step. */
const STEP_BYTES = 1 << 20;
const DOCUMENTS_MAX = 2 ** 31 - 1;

/** Answers a request to `/brooklet/v1/groups/NAME`. Does not throw. */
export async function answerErasure(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "DELETE")
      throw new ServiceError("METHOD_NOT_ALLOWED", `'${call.method}' is not supported here, only DELETE`);
    const { path } = splitTarget(call.target);
    const [, , , name, ...more] = pathSegments(path);
    if (name === undefined || more.length > 0) throw new ServiceError("NOT_FOUND", `Nothing at '${echo(path)}'`);
    const { partition: key } = groupOf(name);
    context.access.checkErasure(key);
    ownParameters(call, context, NO_PARAMETERS);
    await context.visits.enter();
    try {
      return jsonReply(200, { group: key.slice(2), ...(await erased(key, call, context)) });
    } finally {
      context.visits.leave();
    }
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}

/** What the receipt says beside the group: when it was, and what may still be known of it. */
async function erased(key: PartitionKey, call: Call, context: GatewayContext): Promise<object> {
  const erasure = await context.access.erase(key);
  if (erasure === undefined) {
    const documents = await removeAll(key, call.arrivedMs + sessionMs(context.limits.documentTimeoutMs), context);
    return { documents, erasedAt: new Date().toISOString() };
  }
  const { erasedAt, recoverableMs } = erasure;
  const until = recoverableMs !== undefined && { recoverableUntil: new Date(erasedAt + recoverableMs).toISOString() };
  return { erasedAt: new Date(erasedAt).toISOString(), ...until };
}

/** Removes every document of a group. How many there were. */
async function removeAll(key: PartitionKey, endMs: number, { access, cluster }: GatewayContext): Promise<number> {
  const types = demandApplication(cluster).clusters.flatMap((one) => one.types);
  const visit: Visit = { types, namespace: "", selection: "", fieldSet: "[id]", tensorFormat: "", format: "json" };
  const operation = { kind: "remove", rawPath: "", body: NO_BYTES } as const;
  const whole = { bucket: cluster.bucketOf(key), key, documentsMax: DOCUMENTS_MAX, bytesMax: STEP_BYTES };
  let documents = 0;
  for (let from: VisitPosition | undefined = { partition: 0, after: "" }; from !== undefined; ) {
    const leftMs = endMs - performance.now();
    if (leftMs <= 0) throw unfinished(`the time was over after ${documents} documents`);
    const outcome = await access.applyWhere(visit, { ...whole, from }, operation, leftMs);
    documents += outcome.documents;
    if (outcome.failure !== undefined) throw unfinished(outcome.failure.message ?? "a document was not removed");
    from = outcome.next;
  }
  return documents;
}

function unfinished(reason: string): ServiceError {
  const message = `The group is not erased wholly: ${reason}; ask again`;
  return new ServiceError("TIMED_OUT", message, { outcome: "unknown" });
}
