/** A cluster in this thread: all buckets, one core. What `open()` of the SDK and small servers use. */
import type { ApplicationReport } from "@brooklet/core";
import { bucketOf, type Storage } from "@brooklet/store";
import { BucketHost, type DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import type {
  Answer,
  Cluster,
  DeployReport,
  MassOperation,
  MassOutcome,
  PartitionHandle,
  PartitionKey,
  SearchRequest,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { prepareDeployment } from "./deployment.ts";
import { drive } from "./drive.ts";
import { type EmbeddingSetting, embeddedOperation, embedding, type TextEmbedder } from "./embedding.ts";
import { serviceError } from "./failure.ts";

/** What a cluster needs. */
export interface LocalClusterOptions {
  readonly storage: Storage;
  /** Embeds what the schemas ask to have embedded; without one such documents are refused. */
  readonly embedder?: TextEmbedder;
  /** Makes a core; one serves, and one more validates each package before it is deployed. */
  readonly makeEngine: () => DeployableEngine;
  /** Told of every failure that no caller sees, and of the cause of those they see as `INTERNAL`. */
  readonly onProblem?: (error: unknown) => void;
}

/** All partitions, in this thread. */
export class LocalCluster implements Cluster {
  readonly #options: LocalClusterOptions;
  readonly #engine: DeployableEngine;
  readonly #host: BucketHost;
  #report: ApplicationReport | undefined;

  constructor(options: LocalClusterOptions) {
    const { storage, makeEngine, onProblem } = options;
    const application = storage.readApplication();
    this.#options = options;
    this.#engine = makeEngine();
    this.#host = new BucketHost({
      engine: this.#engine,
      buckets: storage.buckets,
      openBucket: (bucket) => storage.openBucket(bucket),
      application: undefined,
      onProblem: onProblem ?? (() => undefined),
    });
    if (application !== undefined) this.#report = this.#host.deploy(application);
  }

  partition(key: PartitionKey): PartitionHandle {
    return embedding(this.#host.partition(key), this.#embedding());
  }

  #embedding(): EmbeddingSetting {
    return { engine: this.#engine, embedder: this.#options.embedder, application: this.#report };
  }

  async search(request: SearchRequest, timeoutMs: number): Promise<Answer> {
    return searchNowhere(this.#engine, request, timeoutMs);
  }

  get buckets(): number {
    return this.#options.storage.buckets;
  }

  bucketOf(key: PartitionKey): number {
    return bucketOf(key, this.buckets);
  }

  get secret(): Uint8Array {
    return this.#options.storage.secret;
  }

  async checkVisit(visit: Visit, operation?: MassOperation): Promise<void> {
    visitNowhere(this.#engine, visit, operation);
  }

  visit(visit: Visit, step: VisitStep, timeoutMs: number): Promise<VisitPage> {
    return this.#host.visit(visit, step, timeoutMs);
  }

  async applyWhere(visit: Visit, step: VisitStep, operation: MassOperation, timeoutMs: number): Promise<MassOutcome> {
    const embedded = await embeddedOperation(visit, operation, this.#embedding(), timeoutMs);
    return await this.#host.applyWhere(visit, step, embedded, timeoutMs);
  }

  async deploy(applicationPackage: Uint8Array): Promise<DeployReport> {
    const { storage, makeEngine } = this.#options;
    try {
      const { application, report } = prepareDeployment(applicationPackage, storage, makeEngine);
      this.#host.deploy(application);
      this.#report = report;
      return report;
    } catch (error) {
      throw serviceError(error);
    }
  }

  applicationPackage(): Uint8Array | undefined {
    return this.#options.storage.readApplication()?.bytes;
  }

  application(): DeployReport | undefined {
    return this.#report;
  }

  /** Settles when no maintenance is queued or running. */
  idle(): Promise<void> {
    return this.#host.idle();
  }

  async close(): Promise<void> {
    await this.#host.close();
    this.#options.storage.close();
    await this.#options.embedder?.close();
  }
}

/** A search without a partition: the core says what is wrong with it, or answers from nothing. */
export function searchNowhere(engine: DeployableEngine, request: SearchRequest, timeoutMs: number): Answer {
  const nowhere = { partition: 0, key: "", layout: 1, operation: 0 };
  const source = { manifest: () => ({ layout: 1, segments: [], operations: [] }), read: () => [] };
  try {
    return drive(engine.search(nowhere, Math.floor(Date.now() / 1_000), request), source, Deadline.in(timeoutMs));
  } catch (error) {
    throw serviceError(error);
  }
}
