/** What the routes of one gateway have in common. Made once, in `gateway.ts`. */
import type { Cluster, DeployReport } from "@brooklet/partition";
import { type Histogram, ServiceError } from "@brooklet/wire";
import type { Authority } from "./authority/authority.ts";
import type { ReceiptKey } from "./authority/receipt-key.ts";
import type { Bodies } from "./bodies.ts";
import type { Continuations } from "./continuation.ts";
import { echo } from "./echo.ts";
import type { GatewayLimits } from "./limits.ts";
import type { Admission, KeyedAdmission } from "./load/admission.ts";
import type { AskedModels } from "./load/asked-models.ts";
import type { RequestCounters } from "./load/counters.ts";
import type { SlowSearches } from "./load/slow-searches.ts";

/** What a server knows of itself. */
export interface ServerState {
  readonly isDraining: boolean;
  /** Lateness of the turns of its thread, seconds, of 99 in a hundred. */
  readonly lagSeconds?: number;
}

/** What all requests have around them. */
export interface Surroundings {
  readonly cluster: Cluster;
  readonly limits: GatewayLimits;
  /** What is told at `/limits`; `limits` without. */
  readonly shownLimits: object | undefined;
  readonly bodies: Bodies;
  readonly documents: Admission;
  readonly feeds: Admission;
  readonly visits: Admission;
  readonly continuations: Continuations;
  readonly receipts: ReceiptKey;
  readonly searches: Admission;
  readonly searchesOfPartition: KeyedAdmission;
  readonly searchesOfSeveral: Admission;
  readonly generations: Admission;
  /** A secret by the name that services.xml has for it. It goes to the model it is for, and nowhere else. */
  readonly secret: (name: string, address: string) => string | undefined;
  /** Sends what language models are asked. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The models that the gateway asks itself: what orders the passages of a retrieval, and language models of chains. */
  readonly models: AskedModels;
  readonly counters: RequestCounters;
  readonly slowSearches: SlowSearches;
  readonly stageTimes: ReadonlyMap<string, Histogram>;
  /** Whether the server is being stopped, and what else it knows of itself. */
  readonly operation: () => ServerState;
  /** The port that serves documents and queries, told to clients that ask the deploy interface for it. */
  readonly containerPort: () => number;
}

/** The surroundings of a route: those of all requests, and what the caller of this one reaches. */
export interface GatewayContext extends Surroundings {
  readonly access: Authority;
}

/** What is deployed. Throws when nothing is. */
export function demandApplication(cluster: Cluster): DeployReport {
  const application = cluster.application();
  if (application === undefined) throw new ServiceError("UNAVAILABLE", "No application is deployed yet");
  return application;
}

/** The content cluster of a name. Throws when there is none. */
export function demandContentCluster(cluster: Cluster, name: string): DeployReport["clusters"][number] {
  const { clusters } = demandApplication(cluster);
  const found = clusters.find((one) => one.name === name);
  if (found !== undefined) return found;
  // `vespa visit` asks for cluster '*' and reads the names from this very sentence.
  const known = clusters.map((one) => `'${one.name}'`).join(", ");
  const message = `Your Vespa deployment has no content cluster '${echo(name)}', only ${known}`;
  throw new ServiceError("BAD_REQUEST", message);
}
