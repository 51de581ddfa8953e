/**
 * Cores for databases of an isolate that know nothing of each other: objects of one class have the same application nearly
 * always, and share a core then. An isolate has no room for a core for each.
 */
import type { DeployReport } from "@brooklet/core";
import type { StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "../bucket-host.ts";
import { type DeployedCore, restored } from "./isolate.ts";
import { Turnstile } from "./turnstile.ts";

/** Applications whose cores are kept when none of the last databases has them. */
const KEPT = 2;

interface Shared {
  readonly bytes: Uint8Array;
  readonly engine: DeployableEngine;
  readonly report: DeployReport;
}

/** The cores of an isolate, by what is deployed in them. */
export class SharedCores {
  /** Of all cores: they share the memory of the isolate. */
  readonly turnstile: Turnstile = new Turnstile();
  readonly #makeEngine: () => DeployableEngine;
  /** Those used last stand last. */
  #shared: Shared[] = [];
  #empty: DeployableEngine | undefined;

  constructor(makeEngine: () => DeployableEngine) {
    this.#makeEngine = makeEngine;
  }

  /** A core for one database, with nothing deployed. */
  open(): DeployedCore {
    return new SharedCore(this);
  }

  /** A core in which nothing is deployed. */
  get empty(): DeployableEngine {
    this.#empty ??= this.#makeEngine();
    return this.#empty;
  }

  /** The core in which an application is deployed. */
  of(bytes: Uint8Array): Shared {
    const known = this.#shared.find((one) => equal(one.bytes, bytes));
    const shared = known ?? this.#deploy(bytes);
    this.#shared = [...this.#shared.filter((one) => one !== shared), shared].slice(-KEPT);
    return shared;
  }

  #deploy(bytes: Uint8Array): Shared {
    // One in which nothing was deployed serves as well as a new one.
    const engine = this.#empty ?? this.#makeEngine();
    this.#empty = undefined;
    return { bytes, engine, report: restored(engine, bytes) };
  }
}

/** The core of one database: whichever has its application. */
class SharedCore implements DeployedCore {
  readonly #cores: SharedCores;
  readonly engine: DeployableEngine;
  #deployed: (Shared & { readonly number: number }) | undefined;

  constructor(cores: SharedCores) {
    this.#cores = cores;
    this.engine = delegating(() => this.#deployed?.engine ?? cores.empty);
  }

  get turnstile(): Turnstile {
    return this.#cores.turnstile;
  }

  get number(): number {
    return this.#deployed?.number ?? 0;
  }

  get report(): DeployReport | undefined {
    return this.#deployed?.report;
  }

  deploy({ number, bytes }: StoredApplication): void {
    if (number > this.number) this.#deployed = { ...this.#cores.of(bytes), number };
  }
}

/** An engine that is another one at a time. */
function delegating(current: () => DeployableEngine): DeployableEngine {
  return {
    embeddings: (...asked) => current().embeddings(...asked),
    query: (...asked) => current().query(...asked),
    encode: (...asked) => current().encode(...asked),
    mutate: (...asked) => current().mutate(...asked),
    split: (...asked) => current().split(...asked),
    load: (...asked) => current().load(...asked),
    get: (...asked) => current().get(...asked),
    evaluate: (...asked) => current().evaluate(...asked),
    visit: (...asked) => current().visit(...asked),
    compact: (...asked) => current().compact(...asked),
    models: (...asked) => current().models(...asked),
    deploy: () => {
      throw new Error("a core that others share is given no application of one");
    },
    restore: () => {
      throw new Error("a core that others share is given no application of one");
    },
  };
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
