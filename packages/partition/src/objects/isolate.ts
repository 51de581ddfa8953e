/** What all objects share that a platform runs in one isolate: one core, and the application that is deployed in it. */
import { asPackage, type DeployReport } from "@brooklet/core";
import type { StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "../bucket-host.ts";

/** A core with an application, as objects use it. */
export interface DeployedCore {
  /** The core; the same object for good, whatever is deployed. */
  readonly engine: DeployableEngine;
  /** Number of the application; 0: none was deployed here. */
  readonly number: number;
  /** What the core says of the application. */
  readonly report: DeployReport | undefined;
  /** Takes an application that was validated and stored, unless a newer one is here. */
  deploy(application: StoredApplication): void;
}

/** The core of an isolate whose objects all have one application. */
export class Isolate implements DeployedCore {
  readonly #makeEngine: () => DeployableEngine;
  #engine: DeployableEngine | undefined;
  #deployed: { readonly number: number; readonly report: DeployReport } | undefined;

  /** The core is made when it is first needed: platforms let nothing be done before the first request. */
  constructor(makeEngine: () => DeployableEngine) {
    this.#makeEngine = makeEngine;
  }

  get engine(): DeployableEngine {
    this.#engine ??= this.#makeEngine();
    return this.#engine;
  }

  get number(): number {
    return this.#deployed?.number ?? 0;
  }

  get report(): DeployReport | undefined {
    return this.#deployed?.report;
  }

  deploy({ number, bytes }: StoredApplication): void {
    if (number <= this.number) return;
    this.#deployed = { number, report: this.engine.restore(asPackage(bytes)) };
  }
}
