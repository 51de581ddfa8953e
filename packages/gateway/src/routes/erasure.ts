/**
 * `DELETE /brooklet/v1/groups/NAME`, an interface of our own: everything that is stored of a group is erased, in one operation, of
 * whatever content cluster. The answer is a receipt.
 */
import type { Erasure, Purge } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { groupOf } from "../document-path.ts";
import { echo } from "../echo.ts";
import { type DefectListener, jsonReply, MethodRefused, outcomeOf, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { NO_PARAMETERS } from "../request-shapes.ts";
import { pathSegments, splitTarget } from "../target.ts";

/** Answers a request to `/brooklet/v1/groups/NAME`. Does not throw. */
export async function answerErasure(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "DELETE") throw MethodRefused.only(call.method, "DELETE");
    const { path } = splitTarget(call.target);
    const [, , , name, ...more] = pathSegments(path);
    if (name === undefined || more.length > 0) throw new ServiceError("NOT_FOUND", `Nothing at '${echo(path)}'`);
    const { partition: key } = groupOf(name);
    context.access.checkErasure(key);
    ownParameters(call, context, NO_PARAMETERS);
    await context.visits.enter();
    try {
      const erasure = await context.access.erase(key);
      const receipt = receiptOf(erasure, await context.access.purge(erasure));
      return jsonReply(200, { ...receipt, signature: await context.receipts.sign(receipt) });
    } finally {
      context.visits.leave();
    }
  } catch (error) {
    const failure = serviceErrorOf(error, onDefect);
    return plainFailure(failure, outcomeOf(failure));
  }
}

/** What the receipt says of an erasure: when it was, of how many documents, and what may still be known of it. */
function receiptOf({ key, documents, erasedAt, recoverableMs, backups }: Erasure, purge: Purge | undefined): object {
  const counted = documents !== undefined && { documents };
  const until = recoverableMs !== undefined && { recoverableUntil: new Date(erasedAt + recoverableMs).toISOString() };
  // Where they are is the operator's.
  const kept = backups?.map(({ id, takenAt, expiresAt }) => ({ id, takenAt, ...(expiresAt && { expiresAt }) }));
  const at = new Date(erasedAt).toISOString();
  const gone = purge?.goneAt !== undefined && { goneAt: new Date(purge.goneAt).toISOString() };
  const files = (purge?.files.length ?? 0) > 0 && { files: purge?.files };
  const destroyed = purge?.keyDestroyed === true && { keyDestroyed: true };
  return {
    group: key.slice(2),
    ...counted,
    erasedAt: at,
    ...gone,
    ...files,
    ...destroyed,
    ...until,
    ...(kept && { backups: kept }),
  };
}

/** Answers `/brooklet/v1/receipt-key`: the public key that receipts are verified with. Does not throw. */
export async function answerReceiptKey(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "GET" && call.method !== "HEAD") throw MethodRefused.only(call.method, "GET");
    ownParameters(call, context, NO_PARAMETERS);
    return jsonReply(200, await context.receipts.publicKey());
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}
