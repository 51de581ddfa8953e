/**
 * Document types that several content clusters have: each has documents of its own, whose ids name the cluster where they are
 * stored (docs/decisions/0166). Which cluster a request means is found out here; what names none means all of them.
 */
import type { DeployReport, GetRequest } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { DocumentPath } from "./document-path.ts";
import { echo } from "./echo.ts";

type ContentCluster = DeployReport["clusters"][number];

/** The type in the ids of the documents of a type that a content cluster stores. */
export function storedType({ schemas }: DeployReport, cluster: ContentCluster, type: string): string {
  return schemas.find((one) => one.name === type && one.cluster === cluster.name)?.storedType ?? type;
}

/** The types of everything that is stored, of those that `includes` says. */
export function storedTypes(application: DeployReport, includes: (type: string) => boolean = () => true): string[] {
  return application.clusters.flatMap((cluster) =>
    cluster.types.filter(includes).map((type) => storedType(application, cluster, type)),
  );
}

/** Whether several content clusters have a type. */
export function isShared({ clusters }: DeployReport, type: string): boolean {
  return clusters.length > 1 && clusters.filter(({ types }) => types.includes(type)).length > 1;
}

/** What names one stored document. */
export type Target = Pick<GetRequest, "id" | "isStored">;

/** The document of a path that a content cluster has. */
export function targetIn(application: DeployReport, cluster: ContentCluster, path: DocumentPath): Target {
  const { id = "", namespace = "", type = "" } = path;
  const local = id.slice(`id:${namespace}:${type}`.length);
  return { id: `id:${namespace}:${storedType(application, cluster, type)}${local}`, isStored: true };
}

/** Throws unless a content cluster has a type. */
export function demandType(cluster: ContentCluster, type: string): void {
  if (cluster.types.includes(type)) return;
  const known = cluster.types.map((name) => `'${name}'`).join(", ");
  const message = `There is no document type '${echo(type)}' in cluster '${cluster.name}', only ${known}`;
  throw new ServiceError("BAD_REQUEST", message);
}

/** How routes name a content cluster. */
const ROUTES = [
  /^\[(?:Content|Storage):cluster=([^;\]]+)/,
  /^storage\/cluster\.(.+)$/,
  /^(.+)-(?:direct|index)$/,
  /^(.+)$/,
];

/** The content cluster that a route leads to alone, of those that have a type. */
export function routedTo({ clusters }: DeployReport, type: string, route: string): ContentCluster | undefined {
  const hops = route.trim().split(/\s+/);
  const last = hops.at(-1) ?? "";
  // The way to all of them, whatever clusters are called.
  if (last === "default") return undefined;
  const names = ROUTES.flatMap((form) => form.exec(last)?.[1] ?? []);
  return clusters.find(({ name, types }) => names.includes(name) && types.includes(type));
}
