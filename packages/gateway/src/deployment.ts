/**
 * The deployments of one process: packages that were sent and not activated yet, and one activation at a time. A
 * session's number is also the generation that clients wait for.
 */
import type { Cluster, DeployReport } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

/** A deployment that was activated. */
export interface Activation {
  readonly session: number;
  readonly report: DeployReport;
}

/** Sends packages to the cluster. */
export class Deployment {
  readonly #cluster: Cluster;
  readonly #sessionsMax: number;
  readonly #pending = new Map<number, Uint8Array>();
  #lastSession: number;
  #generation: number;
  #activating = false;

  constructor(cluster: Cluster, sessionsMax: number) {
    this.#cluster = cluster;
    this.#sessionsMax = sessionsMax;
    // An application that is there from an earlier run counts as the first generation.
    this.#generation = cluster.application() === undefined ? 0 : 1;
    this.#lastSession = this.#generation;
  }

  /** The session that is active; 0 before any. */
  get generation(): number {
    return this.#generation === 0 && this.#cluster.application() !== undefined ? 1 : this.#generation;
  }

  /** Keeps a package to be activated. The oldest makes room when there are too many. */
  create(applicationPackage: Uint8Array): number {
    const session = this.#nextSession();
    const [oldest] = this.#pending.keys();
    if (oldest !== undefined && this.#pending.size >= this.#sessionsMax) this.#pending.delete(oldest);
    this.#pending.set(session, applicationPackage);
    return session;
  }

  /** Throws unless a session waits to be activated. */
  demand(session: number): Uint8Array {
    const applicationPackage = this.#pending.get(session);
    if (applicationPackage === undefined) throw new ServiceError("NOT_FOUND", `Session ${session} was not found`);
    return applicationPackage;
  }

  /** Validates and activates the package of a session. */
  async activate(session: number): Promise<Activation> {
    const activation = await this.#deploy(this.demand(session), session);
    this.#pending.delete(session);
    return activation;
  }

  /** Validates and activates a package at once. */
  deploy(applicationPackage: Uint8Array): Promise<Activation> {
    return this.#deploy(applicationPackage, this.#nextSession());
  }

  async #deploy(applicationPackage: Uint8Array, session: number): Promise<Activation> {
    if (this.#activating) throw new ServiceError("DEPLOYMENT_UNDER_WAY", "Another deployment is being activated");
    this.#activating = true;
    try {
      const report = await this.#cluster.deploy(applicationPackage);
      this.#generation = session;
      return { session, report };
    } finally {
      this.#activating = false;
    }
  }

  #nextSession(): number {
    this.#lastSession += 1;
    return this.#lastSession;
  }
}
