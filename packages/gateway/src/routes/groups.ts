/**
 * `GET /brooklet/v1/groups`, an interface of our own: the names of the groups that have documents, a page at a time. Buckets are
 * gone through in order, their partitions in the order of their numbers; of each the first document that there is tells
 * the group's name, so that one whose documents are all removed or expired is not listed.
 */
import type { Visit, VisitPosition } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import type { VisitProgress } from "../continuation.ts";
import { type DefectListener, endsHere, jsonReply, MethodRefused, plainFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters } from "../own-request.ts";
import { GROUPS_PARAMETERS } from "../request-shapes.ts";
import { storedTypes } from "../stored-types.ts";
import { STEP_BYTES } from "./mass-operations.ts";
import { sessionMs } from "./visit.ts";

/** Groups of an answer, unless it is said. */
const GROUPS_DEFAULT = 500;
/** What a continuation is bound to. */
const SCOPE = "groups";
const WHOLE_ID = /^id:[^:]+:[^:]+:g=([^:]*):/s;
const decoder = new TextDecoder();

/** Answers a request to `/brooklet/v1/groups`. Does not throw. */
export async function answerGroups(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "GET") throw MethodRefused.only(call.method, "GET");
    const { wantedGroupCount, continuation } = ownParameters(call, context, GROUPS_PARAMETERS);
    const from = continuation === undefined ? undefined : await context.continuations.read(SCOPE, continuation);
    await context.visits.enter();
    try {
      const endMs = call.arrivedMs + sessionMs(context.limits.documentTimeoutMs);
      const wanted = Number(wantedGroupCount ?? GROUPS_DEFAULT);
      const { groups, progress } = await listGroups(wanted, from, { endMs, gone: call.gone }, context);
      const more = progress && { continuation: await context.continuations.write(SCOPE, progress) };
      return jsonReply(200, { groups, ...more });
    } finally {
      context.visits.leave();
    }
  } catch (error) {
    return plainFailure(serviceErrorOf(error, onDefect));
  }
}

interface Listed {
  readonly groups: readonly string[];
  /** Nothing: that was all. */
  readonly progress: VisitProgress | undefined;
}

/** Looks into partition after partition until there are enough groups, or the time is over. */
async function listGroups(
  wanted: number,
  from: VisitProgress | undefined,
  { endMs, gone }: { readonly endMs: number; readonly gone: AbortSignal | undefined },
  context: GatewayContext,
): Promise<Listed> {
  const visit = visitOfAll(context);
  const { onlyKey: key } = context.access;
  if (key !== undefined) {
    const step = {
      bucket: context.cluster.bucketOf(key),
      key,
      from: { partition: 0, after: "" },
      documentsMax: 1,
      bytesMax: 1,
    };
    const page = await context.access.visit(visit, step, Math.max(endMs - performance.now(), 1));
    if (page.damage !== undefined) throw new ServiceError("STORE_CORRUPT", page.damage);
    return { groups: page.documents === 0 ? [] : [key.slice(2)], progress: undefined };
  }
  const groups: string[] = [];
  const [open] = from?.open ?? [];
  let bucket = open?.bucket ?? 0;
  let position: VisitPosition = { partition: open?.partition ?? 0, after: open?.after ?? "" };
  const here = (): Listed => ({ groups, progress: { open: [{ bucket, ...position }], nextBucket: bucket + 1 } });
  for (let steps = 0; bucket < context.cluster.buckets; steps += 1) {
    if (groups.length >= wanted || performance.now() >= endMs || gone?.aborted === true) return here();
    const bounds = { documentsMax: wanted - groups.length, bytesMax: STEP_BYTES, isFirstOnly: true };
    const step = { bucket, from: position, ...bounds };
    const asked = context.access.visit(visit, step, Math.max(endMs - performance.now(), 1), gone);
    const page = await asked.catch((error: unknown) => {
      if (!endsHere(error, steps > 0)) throw error;
    });
    if (page === undefined) return here();
    if (page.damage !== undefined) throw new ServiceError("STORE_CORRUPT", page.damage);
    groups.push(...groupsOf(page.body));
    if (page.next !== undefined) position = page.next;
    else {
      bucket += 1;
      position = { partition: 0, after: "" };
    }
  }
  return { groups, progress: undefined };
}

function visitOfAll({ cluster }: GatewayContext): Visit {
  const types = storedTypes(demandApplication(cluster));
  return { types, namespace: "", selection: "", fieldSet: "[id]", tensorFormat: "", format: "json" };
}

/** The groups of the documents that a page shows; those with a number, or without either, have none. */
function groupsOf(body: Uint8Array): readonly string[] {
  const documents = JSON.parse(`[${decoder.decode(body)}]`) as readonly { readonly id: string }[];
  return documents.flatMap(({ id }) => WHOLE_ID.exec(id)?.[1] ?? []);
}
