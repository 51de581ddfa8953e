/**
 * What keeps a deployment that changes the type of a field from hiding what is written while it looks whether a document has a value:
 * each object that it looks at, and each that begins to write later, writes nothing by the application before (docs/decisions/0033).
 * Objects that write are listed in a directory first, which tells them; whether the deployment still is under way tells the registry.
 */
import { ServiceError } from "@brooklet/core";
import { clock } from "../clock.ts";
import type { Visit, VisitPage, VisitStep, WrittenDocuments } from "../cluster.ts";
import {
  type Deployment,
  type DeploymentSetting,
  deploymentUnderWay,
  prepareDeployment,
  type StoredDocuments,
} from "../deployment.ts";
import { LEASE_RENEWAL_MS } from "../limits.ts";
import { WHOLE } from "../shards/shard.ts";
import { ShardGuard, WaitingGuard } from "../shards/shard-guard.ts";
import type { ObjectPort } from "./object-calls.ts";

/** What an object knows of it. */
export class Fence {
  readonly #port: ObjectPort;
  readonly #take: (application: number) => Promise<unknown>;
  #number = 0;
  /** How often it was told. */
  #told = 0;

  /** `take` has the object go on with at least the application of a number. */
  constructor(port: ObjectPort, take: (application: number) => Promise<unknown>) {
    [this.#port, this.#take] = [port, take];
  }

  /** Nothing is written from here on by an application before this one. */
  raise(number: number): void {
    this.#number = Math.max(this.#number, number);
    this.#told += 1;
  }

  /** The guard of the partition, which has nothing written by an application that is too old. */
  guard(own: ShardGuard | undefined, application: number): ShardGuard | undefined {
    if (application >= this.#number) return own;
    return new WaitingGuard(own ?? new ShardGuard(WHOLE), () => {
      const passing = this.#pass();
      // A load that finds that it has to wait begins anew, and waits then.
      passing.catch(() => undefined);
      return passing;
    });
  }

  async #pass(): Promise<void> {
    const [number, told] = [this.#number, this.#told];
    const { deployed, underWay } = await this.#port.registry().state();
    if (deployed >= number) await this.#take(number);
    else if (underWay >= number) throw held();
    // Another deployment may have come meanwhile, with the same number.
    else if (told === this.#told) this.#number = 0;
  }
}

function held(): ServiceError {
  const message = "An application is being deployed that changes the type of a field; write again in a moment";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome: "not_applied" });
}

/** What decides on a deployment, and what it looks through: `fence` is what each object is told that is looked at. */
export interface FencedSetting extends DeploymentSetting {
  readonly port: ObjectPort;
  readonly documents: Required<StoredDocuments> & {
    visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: AbortSignal, fence?: number): Promise<VisitPage>;
  };
}

/** Validates a package against what is deployed, and stores it with the registry unless it is that. */
export async function deployFenced(applicationPackage: Uint8Array, setting: FencedSetting): Promise<Deployment> {
  const { port, storage, documents } = setting;
  const current = storage.readApplication();
  const after = current?.number ?? 0;
  let lease: string | undefined;
  let leasedMs = 0;
  const hold = async (): Promise<void> => {
    leasedMs = clock.now();
    lease = await port.registry().lease(after, lease);
    if (lease === undefined) throw deploymentUnderWay();
  };
  const written: WrittenDocuments = {
    begin: async () => {
      await hold();
      await Promise.all(Array.from({ length: documents.buckets }, (_, at) => port.directory(at).fence(after + 1)));
    },
    // Nothing was.
    selecting: async () => undefined,
    release: async () => {
      // It is over by itself: what the deployment failed for is what is told.
      if (lease !== undefined)
        await port
          .registry()
          .release(lease)
          .catch(() => undefined);
    },
  };
  const fenced: StoredDocuments = {
    buckets: documents.buckets,
    groups: (bucket) => documents.groups(bucket),
    visit: async (visit, step, timeoutMs) => {
      if (clock.now() - leasedMs >= LEASE_RENEWAL_MS) await hold();
      return await documents.visit(visit, step, timeoutMs, undefined, after + 1);
    },
  };
  const deployment = await prepareDeployment(applicationPackage, { ...setting, written, documents: fenced });
  const { application } = deployment;
  if (application === current) return deployment;
  try {
    if (!(await port.registry().store(application.number - 1, application, lease))) throw deploymentUnderWay();
  } catch (error) {
    await written.release();
    throw error;
  }
  return deployment;
}
