/** What all objects share that a platform runs in one isolate: one core, and the application that is deployed in it. */
import { asPackage, type DeployReport, isServiceError, ServiceError } from "@brooklet/core";
import type { StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "../bucket-host.ts";
import { DAMAGED } from "../failure.ts";
import { Turnstile } from "./turnstile.ts";

/** A core with an application, as objects use it. */
export interface DeployedCore {
  /**
   * Has the core made, which seals what callers bring back with a key of the secret that all isolates share: whoever is asked next
   * may be another. Nothing: that is done.
   */
  open?(secret: () => Promise<Uint8Array>): Promise<void> | undefined;
  /** The core; the same object for good, whatever is deployed. */
  readonly engine: DeployableEngine;
  /** Who of all that share the core's memory writes segments. */
  readonly turnstile: Turnstile;
  /** Number of the application; 0: none was deployed here. */
  readonly number: number;
  /** What the core says of the application. */
  readonly report: DeployReport | undefined;
  /** Takes an application that was validated and stored, unless a newer one is here. */
  deploy(application: StoredApplication): void;
}

/** How the core of an isolate is made. */
export interface IsolateOptions {
  readonly makeEngine: (sealKey: Uint8Array) => DeployableEngine;
  /** A key for the core alone, so that what it seals says nothing of the secret. */
  readonly sealKeyOf: (secret: Uint8Array) => Promise<Uint8Array>;
}

/** The core of an isolate whose objects all have one application. */
export class Isolate implements DeployedCore {
  readonly turnstile: Turnstile = new Turnstile();
  readonly #options: IsolateOptions;
  #engine: DeployableEngine | undefined;
  #deployed: { readonly number: number; readonly report: DeployReport } | undefined;

  /** The core is made when it is first needed: platforms let nothing be done before the first request. */
  constructor(options: IsolateOptions) {
    this.#options = options;
  }

  open(secret: () => Promise<Uint8Array>): Promise<void> | undefined {
    return this.#engine === undefined ? this.#open(secret) : undefined;
  }

  /** Several may ask for the secret at a time: nobody waits for what a request of another does, which may be given up. */
  async #open(secret: () => Promise<Uint8Array>): Promise<void> {
    const { makeEngine, sealKeyOf } = this.#options;
    const sealKey = await sealKeyOf(await secret());
    this.#engine ??= makeEngine(sealKey);
  }

  get engine(): DeployableEngine {
    if (this.#engine === undefined) throw new Error("an isolate was used before it was opened");
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
    this.#deployed = { number, report: restored(this.engine, bytes) };
  }
}

/** What a core says of an application that is stored. One that it cannot read was validated before it was stored, and is damaged since. */
export function restored(engine: DeployableEngine, bytes: Uint8Array): DeployReport {
  try {
    return engine.restore(asPackage(bytes));
  } catch (cause) {
    if (!isServiceError(cause) || cause.code === "INTERNAL") throw cause;
    const message = `The application package that is stored cannot be read: ${cause.message}`;
    throw new ServiceError({ code: DAMAGED, status: 500, number: 10, message, outcome: "not_applied", cause });
  }
}
