/**
 * The deployments of a gateway: packages that were sent and not activated yet, and one activation at a time. A session's number
 * is also the generation that clients wait for. Sessions are kept here, or by a cluster that has several gateways.
 */
import type { Cluster, DeployReport, DeploySessions, StoredSession } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";

/** A deployment that was activated. */
export interface Activation {
  readonly session: number;
  readonly report: DeployReport;
}

/** Sends packages to the cluster. */
export class Deployment {
  readonly #cluster: Cluster;
  readonly #sessions: DeploySessions;
  #lastSession: number;
  #generation: number;
  #activating = false;
  #checking: Promise<unknown> = Promise.resolve();

  constructor(cluster: Cluster, sessionsMax: number) {
    this.#cluster = cluster;
    this.#sessions = cluster.sessions ?? new OwnSessions(sessionsMax, () => this.#nextSession());
    // An application that is there from an earlier run counts as the first generation.
    this.#generation = cluster.application() === undefined ? 0 : 1;
    this.#lastSession = this.#generation;
  }

  /** The session that is active; 0 before any. */
  get generation(): number {
    return this.#generation === 0 && this.#cluster.application() !== undefined ? 1 : this.#generation;
  }

  /** Keeps a package to be activated. The oldest makes room when there are too many. */
  async create(applicationPackage: Uint8Array): Promise<number> {
    const session = await this.#sessions.add(applicationPackage, await this.#cluster.applicationNumber());
    this.#reach(session);
    return session;
  }

  /** Throws unless a session waits to be activated. */
  async demand(session: number): Promise<StoredSession> {
    const waiting = await this.#sessions.get(session);
    if (waiting === undefined) throw new ServiceError("NOT_FOUND", `Session ${session} was not found`);
    return waiting;
  }

  /** Validates the package of a session, which can be activated then. */
  async prepare(session: number): Promise<DeployReport> {
    const report = await this.check((await this.demand(session)).bytes);
    await this.#sessions.prepare(session);
    return report;
  }

  /** Validates a package. Nothing of it is kept. One after the other: each takes a core of its own. */
  check(applicationPackage: Uint8Array): Promise<DeployReport> {
    const checked = this.#checking.then(() => this.#cluster.checkDeployment(applicationPackage));
    this.#checking = checked.catch(() => undefined);
    return checked;
  }

  /** Validates and activates the package of a session that was prepared, unless another was activated since it was sent: that would be lost. */
  async activate(session: number): Promise<Activation> {
    const { bytes, base, isPrepared } = await this.demand(session);
    if (!isPrepared) throw new ServiceError("BAD_REQUEST", `Session ${session} is not prepared`);
    // A package that was deployed again is the same application, and yet somebody wanted that one to be active. Who shares the
    // sessions of a cluster numbers what is deployed at once in another order.
    if (this.#cluster.sessions === undefined && session < this.#generation) {
      const message = `Session ${session} cannot be activated: session ${this.#generation} is, which is newer`;
      throw new ServiceError("DEPLOYMENT_UNDER_WAY", message);
    }
    const activation = await this.#deploy(bytes, session, base);
    this.#sessions.remove?.(session);
    return activation;
  }

  /** Validates and activates a package at once. */
  deploy(applicationPackage: Uint8Array): Promise<Activation> {
    return this.#deploy(applicationPackage, this.#nextSession());
  }

  async #deploy(applicationPackage: Uint8Array, session: number, base?: number): Promise<Activation> {
    if (this.#activating) throw new ServiceError("DEPLOYMENT_UNDER_WAY", "Another deployment is being activated");
    this.#activating = true;
    this.#reach(session);
    try {
      const report = await this.#cluster.deploy(applicationPackage, base);
      // A session may be activated after one that was sent later, where others number them: who waits for a generation waits for one at least as high.
      this.#generation = Math.max(this.#generation, session);
      return { session, report };
    } finally {
      this.#activating = false;
    }
  }

  /** Notes a session: the next has a higher number, also where others number those that are kept. */
  #reach(session: number): void {
    this.#lastSession = Math.max(this.#lastSession, session);
  }

  #nextSession(): number {
    this.#lastSession += 1;
    return this.#lastSession;
  }
}

/** Sessions in the memory of this process. */
class OwnSessions implements DeploySessions {
  readonly #pending = new Map<number, StoredSession>();
  readonly #kept: number;
  readonly #next: () => number;

  constructor(kept: number, next: () => number) {
    this.#kept = kept;
    this.#next = next;
  }

  async add(bytes: Uint8Array, base: number): Promise<number> {
    const session = this.#next();
    const [oldest] = this.#pending.keys();
    if (oldest !== undefined && this.#pending.size >= this.#kept) this.#pending.delete(oldest);
    this.#pending.set(session, { bytes, base, isPrepared: false });
    return session;
  }

  async get(session: number): Promise<StoredSession | undefined> {
    return this.#pending.get(session);
  }

  async prepare(session: number): Promise<void> {
    const waiting = this.#pending.get(session);
    if (waiting !== undefined) this.#pending.set(session, { ...waiting, isPrepared: true });
  }

  remove(session: number): void {
    this.#pending.delete(session);
  }
}
