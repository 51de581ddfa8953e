/**
 * The parameters of requests about many documents: which are meant, in which cluster, slice and form. Each is checked as
 * the reference implementation does, with its words, before anything is visited.
 */
import type { DeployReport, PartitionKey, Visit } from "@brooklet/partition";
import { documentNameProblem, ServiceError } from "@brooklet/wire";
import { NO_BYTES } from "./call.ts";
import { demandApplication, demandContentCluster, type GatewayContext } from "./context.ts";
import type { VisitProgress } from "./continuation.ts";
import type { DocumentPath } from "./document-path.ts";
import { echo } from "./echo.ts";
import type { DocumentParameters } from "./parameters.ts";
import { demandType, storedType } from "./stored-types.ts";
import type { VisitPlan } from "./visit-session.ts";

type ContentCluster = DeployReport["clusters"][number];

/** What a request about many documents means. */
export interface DocumentSet {
  readonly plan: VisitPlan;
  /** The content cluster that it is in, and its document types. */
  readonly cluster: string;
  readonly types: readonly string[];
  /** What a continuation is bound to: all that decides which documents are in which bucket. */
  readonly scope: string;
}

/** Reads what is visited, from path and parameters. */
export function readDocumentSet(
  path: DocumentPath,
  parameters: DocumentParameters,
  context: GatewayContext,
  shown: Pick<Visit, "fieldSet" | "tensorFormat" | "format" | "includeRemoves"> & { readonly concurrency: number },
): DocumentSet {
  const cluster = clusterOf(path, parameters.text("cluster"), context);
  const selection = effectiveSelection(parameters.unambiguous("selection"), path);
  // A document type is in one space, which is that of all types here: a name is not looked at then, whatever it is.
  const named = parameters.text("bucketSpace") ?? "default";
  const space = path.type === undefined ? knownBucketSpace(named) : "default";
  const slice = readSlice(parameters);
  const period = readPeriod(parameters);
  const key = path.group?.partition ?? keyOf(selection, context);
  const { concurrency, ...form } = shown;
  const types = path.type === undefined ? cluster.types : [path.type];
  const application = demandApplication(context.cluster);
  const visit: Visit = {
    types: types.map((type) => storedType(application, cluster, type)),
    namespace: path.namespace ?? "",
    selection,
    ...form,
    ...period,
  };
  const buckets =
    space === "global" ? [] : bucketsOf(context, key).filter((bucket) => bucket % slice.slices === slice.sliceId);
  const scope = JSON.stringify([cluster.name, path.type, path.namespace, key, slice.slices, slice.sliceId]);
  return { plan: { visit, key, buckets, concurrency }, cluster: cluster.name, types, scope };
}

/** The cluster that is meant: named, or the only one there is. */
function clusterOf(path: DocumentPath, name: string | undefined, context: GatewayContext): ContentCluster {
  const cluster = name === undefined ? onlyCluster(path, context) : demandContentCluster(context.cluster, name);
  if (path.type !== undefined) demandType(cluster, path.type);
  return cluster;
}

function onlyCluster(path: DocumentPath, context: GatewayContext): ContentCluster {
  if (path.type === undefined) {
    const message =
      "Must set 'cluster' parameter to a valid content cluster id when visiting at a root /document/v1/ level";
    throw new ServiceError("BAD_REQUEST", message);
  }
  const { clusters } = demandApplication(context.cluster);
  const [only, ...others] = clusters;
  if (only === undefined) {
    const message = "Your Vespa deployment has no content clusters, so the document API is not enabled";
    throw new ServiceError("BAD_REQUEST", message);
  }
  if (others.length === 0) return only;
  const known = clusters.map(({ name }) => `'${name}'`).join(", ");
  const message = `Please specify one of the content clusters in your Vespa deployment: ${known}`;
  throw new ServiceError("BAD_REQUEST", message);
}

/** The selection together with what the path says, as messages quote it; empty if there is none. */
function effectiveSelection(selection: string | undefined, { type, namespace, group }: DocumentPath): string {
  if (selection === undefined) return "";
  const parts = [selection];
  if (type !== undefined) parts.push(type);
  if (namespace !== undefined) parts.push(`id.namespace=='${quote(namespace)}'`);
  const [kind, name = ""] = group?.idPart.split(/=(.*)/s) ?? [];
  if (kind === "g") parts.push(`id.group=='${quote(name)}'`);
  if (kind === "n") parts.push(`id.user==${name}`);
  return parts.map((part) => `(${part})`).join(" and ");
}

/** The only partition that a selection can select from, as the core says of it: no other has to be looked at, however many there are. */
function keyOf(selection: string, { cluster }: GatewayContext): PartitionKey | undefined {
  if (selection === "") return undefined;
  using query = cluster.query({ properties: [["streaming.selection", selection]], body: NO_BYTES });
  const [key, ...others] = query.scope?.keys ?? [];
  // A name that no document can have is asked after as everything is that selects nothing.
  const isGroup = key?.startsWith("g:") === true;
  const isKnown = !isGroup || documentNameProblem("group", key.slice(2)) === undefined;
  return others.length === 0 && isKnown ? key : undefined;
}

function quote(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
}

const SPACES = ["default", "global"];

function knownBucketSpace(space: string): string {
  if (SPACES.includes(space)) return space;
  const message = `Bucket space '${echo(space)}' is not a known bucket space; expected one of default, global`;
  throw new ServiceError("BAD_REQUEST", message);
}

function readSlice(parameters: DocumentParameters): { readonly slices: number; readonly sliceId: number } {
  const slices = parameters.integer("slices", { min: 1, max: 2 ** 31 - 1 });
  const sliceId = parameters.integer("sliceId", { min: 0, max: 2 ** 31 - 1 });
  if ((slices === undefined) !== (sliceId === undefined)) {
    throw new ServiceError("BAD_REQUEST", "None or both of 'slices' and 'sliceId' must be set");
  }
  if (slices === undefined || sliceId === undefined) return { slices: 1, sliceId: 0 };
  if (sliceId >= slices) {
    throw new ServiceError("BAD_REQUEST", `'sliceId' must be less than 'slices', but was ${sliceId}`);
  }
  return { slices, sliceId };
}

/** When the documents were last written: from a time on, and before another; 0: unbounded. */
function readPeriod(parameters: DocumentParameters): Pick<Visit, "fromMicros" | "toMicros"> {
  const from = parameters.unsigned("fromTimestamp") ?? 0n;
  const to = parameters.unsigned("toTimestamp") ?? 0n;
  if (to !== 0n && to < from) {
    throw new ServiceError("BAD_REQUEST", "toTimestamp must be greater than, or equal to, fromTimestamp");
  }
  return { ...(from !== 0n && { fromMicros: exact(from) }), ...(to !== 0n && { toMicros: exact(to) }) };
}

/** A time as a number. Those that would lose digits are centuries ahead of all that is stored. */
function exact(micros: bigint): number {
  return micros > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(micros);
}

function bucketsOf(context: GatewayContext, key: PartitionKey | undefined): number[] {
  const { cluster } = context;
  return key === undefined ? Array.from({ length: cluster.buckets }, (_, bucket) => bucket) : [cluster.bucketOf(key)];
}

/** How far the visit came before, if a continuation says so. */
export async function readContinuation(
  parameters: DocumentParameters,
  { scope }: DocumentSet,
  context: GatewayContext,
): Promise<VisitProgress | undefined> {
  const text = parameters.text("continuation");
  return text === undefined ? undefined : await context.continuations.read(scope, text);
}
