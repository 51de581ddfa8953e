/**
 * `GET /brooklet/v1/groups/NAME/tail`, an interface of our own: what was done to the documents of a group lately and is not folded
 * yet, the newest first, a page at a time. What is shown of an operation is the core's business.
 */
import type { Visit } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { groupOf } from "../document-path.ts";
import { type DefectListener, jsonReply, MethodRefused, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { TAIL_PARAMETERS } from "../request-shapes.ts";
import { storedTypes } from "../stored-types.ts";
import { sessionMs } from "./visit.ts";

/** Operations of an answer, unless it is said. */
const OPERATIONS_DEFAULT = 100;
const decoder = new TextDecoder();

/** Answers a request about the tail of the group that a segment names. Does not throw. */
export async function answerTail(
  call: Call,
  segment: string,
  context: GatewayContext,
  onDefect: DefectListener,
): Promise<Reply> {
  try {
    if (call.method !== "GET") throw MethodRefused.only(call.method, "GET");
    const { partition: key } = groupOf(segment);
    context.access.demand("visit");
    const { wantedOperationCount, selection = "", continuation } = ownParameters(call, context, TAIL_PARAMETERS);
    const scope = JSON.stringify(["tail", key, selection]);
    const progress = continuation === undefined ? undefined : await context.continuations.read(scope, continuation);
    const bucket = context.cluster.bucketOf(key);
    const { partition, after } = progress?.open[0] ?? { partition: 0, after: "" };
    await context.visits.enter();
    try {
      const step = {
        bucket,
        key,
        from: { partition, after },
        documentsMax: Number(wantedOperationCount ?? OPERATIONS_DEFAULT),
        bytesMax: context.limits.visitBytes,
      };
      const endMs = call.arrivedMs + sessionMs(context.limits.documentTimeoutMs);
      const leftMs = Math.max(endMs - performance.now(), 1);
      const { body, next, damage } = await context.access.visit(tailOf(selection, context), step, leftMs);
      if (damage !== undefined) throw new ServiceError("STORE_CORRUPT", damage);
      const more = next && {
        continuation: await context.continuations.write(scope, {
          open: [{ bucket, ...next }],
          nextBucket: context.cluster.buckets,
        }),
      };
      const operations: unknown = JSON.parse(`[${decoder.decode(body)}]`);
      return jsonReply(200, { group: key.slice(2), operations, ...more });
    } finally {
      context.visits.leave();
    }
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}

/** The operations on documents of all types, or of those that are granted. */
function tailOf(selection: string, { cluster, access }: GatewayContext): Visit {
  const { schemas } = access.grant ?? {};
  return {
    types: storedTypes(demandApplication(cluster), (type) => schemas?.includes(type) ?? true),
    namespace: "",
    selection,
    fieldSet: "",
    tensorFormat: "",
    format: "tail",
  };
}
