/**
 * `/document/v1` without a document id: visits, copies, updates and removals of many documents. None is supported yet;
 * their parameters are checked as Vespa does, so that a mistake is told before what is missing is.
 */
import type { Cluster } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { demandContentCluster } from "../context.ts";
import type { DocumentPath } from "../document-path.ts";
import { echo } from "../echo.ts";
import type { DocumentParameters } from "../parameters.ts";

const NAMES: Readonly<Record<string, string>> = {
  GET: "Visiting documents",
  POST: "Copying documents by selection",
  PUT: "Updating documents by selection",
  DELETE: "Removing documents by selection",
};

const MEANINGLESS = ["concurrency", "fieldSet", "route", "wantedDocumentCount"];

/** Always throws: what is wrong with the request, or that it is not supported yet. */
export function refuseDocumentSet(
  method: string,
  path: DocumentPath,
  parameters: DocumentParameters,
  cluster: Cluster,
): never {
  if (method === "GET") checkVisit(path, parameters, cluster);
  else checkMutation(method, parameters, cluster);
  throw new ServiceError("UNSUPPORTED", `${NAMES[method]} (${method} without a document id) is not supported yet`);
}

function checkVisit(path: DocumentPath, parameters: DocumentParameters, cluster: Cluster): void {
  parameters.forbid("dryRun");
  parameters.unambiguous("selection");
  const name = parameters.text("cluster");
  if (name === undefined && path.type === undefined) {
    const message =
      "Must set 'cluster' parameter to a valid content cluster id when visiting at a root /document/v1/ level";
    throw new ServiceError("BAD_REQUEST", message);
  }
  if (name !== undefined) checkType(path.type, demandContentCluster(cluster, name));
  checkSlices(parameters);
}

function checkMutation(method: string, parameters: DocumentParameters, cluster: Cluster): void {
  if (method === "POST") parameters.demand("destinationCluster");
  parameters.forbid("dryRun");
  if (method !== "PUT") parameters.forbid(...MEANINGLESS);
  if (method !== "PUT") parameters.demand("selection");
  demandContentCluster(cluster, parameters.demand("cluster"));
  if (method === "PUT") parameters.forbid(...MEANINGLESS);
  if (method === "PUT") parameters.demand("selection");
  parameters.unambiguous("selection");
  checkSlices(parameters);
}

function checkType(
  type: string | undefined,
  cluster: { readonly name: string; readonly types: readonly string[] },
): void {
  if (type === undefined || cluster.types.includes(type)) return;
  const known = cluster.types.map((name) => `'${name}'`).join(", ");
  const message = `There is no document type '${echo(type)}' in cluster '${cluster.name}', only ${known}`;
  throw new ServiceError("BAD_REQUEST", message);
}

function checkSlices(parameters: DocumentParameters): void {
  const slices = parameters.integer("slices", { min: 1, max: 2 ** 31 - 1 });
  const slice = parameters.integer("sliceId", { min: 0, max: 2 ** 31 - 1 });
  if ((slices === undefined) !== (slice === undefined)) {
    throw new ServiceError("BAD_REQUEST", "None or both of 'slices' and 'sliceId' must be set");
  }
  if (slices !== undefined && slice !== undefined && slice >= slices) {
    throw new ServiceError("BAD_REQUEST", `'sliceId' must be less than 'slices', but was ${slice}`);
  }
}
