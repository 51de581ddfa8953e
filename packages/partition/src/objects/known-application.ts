/**
 * What a gateway of objects knows of what is deployed. Nobody is told of a deployment: objects tell of one with what they reply, and where none of
 * those that are asked heard of it, it is looked for now and then.
 */
import type { StoredApplication } from "@brooklet/store";
import { clock } from "../clock.ts";
import type { DeployReport } from "../cluster.ts";
import { APPLICATION_LOOK_MS } from "../limits.ts";
import type { DeployedCore } from "./isolate.ts";
import type { ObjectPort } from "./object-calls.ts";

/** What is deployed, as far as it was heard of. */
export class KnownApplication {
  readonly #port: ObjectPort;
  readonly #isolate: DeployedCore;
  #stored: StoredApplication | undefined;
  /** What was said of the last deployment made here; what a core says of a stored one has no warnings. */
  #report: DeployReport | undefined;
  #lookedMs = clock.now();

  constructor(port: ObjectPort, isolate: DeployedCore) {
    [this.#port, this.#isolate] = [port, isolate];
  }

  /** Nothing: none was deployed. */
  get stored(): StoredApplication | undefined {
    return this.#stored;
  }

  /** 0: none was deployed. */
  get number(): number {
    return this.#stored?.number ?? 0;
  }

  /** The number of what queries are opened by: an object of the same isolate may have heard of a newer one. */
  get numberHere(): number {
    return Math.max(this.number, this.#isolate.number);
  }

  get report(): DeployReport | undefined {
    return this.#report ?? this.#isolate.report;
  }

  /** Takes an application, unless it knows a newer one. */
  take(application: StoredApplication): void {
    if (application.number <= this.number) return;
    this.#isolate.deploy(application);
    [this.#stored, this.#report] = [application, undefined];
  }

  /** Takes note of what is said of one, unless there is a newer one by now. */
  note({ number }: StoredApplication, report: DeployReport): void {
    if (number === this.number) this.#report = report;
  }

  /** Takes the newest application there is. */
  async refresh(): Promise<void> {
    const newest = await this.#port.registry().application();
    if (newest !== undefined) this.take(newest);
  }

  /** Does so if it was not looked for a while. Nothing fails that cannot be looked for now. */
  look(): Promise<void> | undefined {
    const nowMs = clock.now();
    if (nowMs - this.#lookedMs < APPLICATION_LOOK_MS) return undefined;
    this.#lookedMs = nowMs;
    return this.#look().catch(() => undefined);
  }

  async #look(): Promise<void> {
    // A package may have megabytes, and mostly it is known.
    const { deployed } = await this.#port.registry().state();
    if (deployed > this.number) await this.refresh();
  }
}
