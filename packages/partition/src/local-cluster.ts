/** A cluster in this thread: all buckets, one core. What `open()` of the SDK and small servers use. */
import { asPackage, encodeQuery, type PackageBytes, type Query } from "@brooklet/core";
import { bucketOf } from "@brooklet/store";
import { BucketHost, type DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import type {
  Cluster,
  DeployReport,
  Erasure,
  FedOperation,
  FeedOptions,
  MassOperation,
  MassOutcome,
  PartitionKey,
  QueryHandle,
  SearchRequest,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { beganMs } from "./deadline.ts";
import {
  completePackage,
  type Deployment,
  type DeploymentChecks,
  hasStoredValue,
  objectionsTo,
  prepareDeployment,
} from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { Expiry } from "./expiry.ts";
import { serviceError } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import { ClusterQuery, type QueryPlace } from "./query/cluster-query.ts";
import type { Surroundings } from "./surroundings.ts";

/** A core of one cluster, which may have the first application at once. */
export interface ClusterEngine extends DeployableEngine {
  /** Notes how the deployed application was stored. */
  keep(stored: PackageBytes): void;
  /** Gives up what is deployed. */
  undeploy(): void;
}

/** What a cluster needs. */
export interface LocalClusterOptions extends ModelSurroundingsOptions {
  /** Makes a core; one serves, and one more validates each package that takes the place of another. */
  readonly makeEngine: () => ClusterEngine;
  readonly surroundings: Surroundings;
  /** How long it is known that a document was removed; two weeks by default. */
  readonly keepRemovesSeconds?: number;
  /** Told of the application that is served: of the stored one at the start, and of each that is deployed. */
  readonly onApplication?: (application: DeployReport) => void;
  /** Told of every failure that no caller sees, and of the cause of those they see as `INTERNAL`. */
  readonly onProblem?: (error: unknown) => void;
}

/** All partitions, in this thread. */
export class LocalCluster implements Cluster {
  readonly #options: LocalClusterOptions;
  readonly #engine: ClusterEngine;
  readonly #host: BucketHost;
  readonly #expiry: Expiry;
  readonly #models: ModelSurroundings;
  #report: DeployReport | undefined;
  #closing: Promise<void> | undefined;
  #deploying: Promise<unknown> = Promise.resolve();

  constructor(options: LocalClusterOptions) {
    const { storage, makeEngine, keepRemovesSeconds, onProblem, surroundings } = options;
    const application = storage.readApplication();
    this.#options = options;
    this.#engine = makeEngine();
    this.#models = new ModelSurroundings(options, this.#engine, () => this.#report);
    this.#host = new BucketHost({
      engine: this.#engine,
      buckets: storage.buckets,
      openBucket: (bucket) => storage.openBucket(bucket),
      application: undefined,
      surroundings,
      ...(keepRemovesSeconds !== undefined && { keepRemovesSeconds }),
      onProblem: onProblem ?? (() => undefined),
    });
    if (application !== undefined) {
      this.#report = this.#host.deploy(application);
      const objections = objectionsTo(this.#report);
      if (objections !== undefined) onProblem?.(objections);
      options.onApplication?.(this.#report);
    }
    this.#expiry = new Expiry({
      buckets: storage.buckets,
      surroundings,
      report: () => this.#report,
      applyWhere: (...asked) => this.#host.applyWhere(...asked),
      onProblem: onProblem ?? (() => undefined),
    });
  }

  partition(key: PartitionKey): EmbeddingHandle {
    return this.#models.around(this.#host.partition(key));
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      split: (chunk) => splitChunk(this.#engine, chunk),
      load: (key, load, timeoutMs) => this.#host.partition(key).load(load, timeoutMs),
      apply: (key, request, timeoutMs, caller) => this.partition(key).apply(request, timeoutMs, caller),
    };
    return feedPlace(place, input, options);
  }

  query(request: SearchRequest): QueryHandle {
    const startMs = beganMs(request);
    const query = this.#host.query(encodeQuery(request, Math.floor(Date.now() / 1_000)));
    return new ClusterQuery(query, this.#placeOf(query), startMs);
  }

  #placeOf(query: Query): QueryPlace {
    return {
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      models: this.#models.ofQueries(),
      searchPartition: (key, _, waiting) => this.#host.partition(key).search(query, waiting),
      searchBucket: async (step, _, waiting) => {
        try {
          return await this.#host.searchBucket(query, step, waiting);
        } catch (error) {
          // Others may be searched nevertheless: nobody else may hear of it.
          this.#options.onProblem?.(error);
          throw error;
        }
      },
      bucketsAtOnce: 1,
    };
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
    return await applyWhereEmbedded(visit, step, operation, timeoutMs, {
      applyWhere: (of, ms) => this.#host.applyWhere(visit, of, operation, ms),
      partition: (key) => this.partition(key),
    });
  }

  erase(key: PartitionKey): Promise<Erasure> {
    return this.#host.erase(key);
  }

  /** One after the other: each is validated against the one before. */
  deploy(applicationPackage: Uint8Array): Promise<DeployReport> {
    const deployed = this.#deploying.then(() => this.#deploy(applicationPackage));
    this.#deploying = deployed.catch(() => undefined);
    return deployed;
  }

  async #deploy(applicationPackage: Uint8Array): Promise<DeployReport> {
    const { storage, makeEngine, modelRunner, objections } = this.#options;
    try {
      const isFirst = storage.readApplication() === undefined;
      const validator = isFirst ? this.#engine : makeEngine();
      const complete = await completePackage(applicationPackage, modelRunner, validator);
      const hasValue = (schema: string, field: string): Promise<boolean> => hasStoredValue(this, schema, field);
      const checks: DeploymentChecks = { hasValue, objections };
      const { application, report } = isFirst
        ? await this.#deployFirst(complete, checks)
        : await prepareDeployment(complete, storage, validator, checks);
      if (!isFirst) this.#host.deploy(application);
      this.#report = await withMissingModels(report, this.#options.embedder);
      this.#options.onApplication?.(this.#report);
      return this.#report;
    } catch (error) {
      throw serviceError(error);
    }
  }

  /** Deploys where nothing is: the core that serves reads the package itself, once, and no other core is made. */
  async #deployFirst(applicationPackage: PackageBytes, checks: DeploymentChecks): Promise<Deployment> {
    const engine = this.#engine;
    let isStored = false;
    const onStored = ({ application, report }: Deployment): void => {
      isStored = true;
      engine.keep(asPackage(application.bytes));
      this.#host.activate(application.number, report);
    };
    try {
      return await prepareDeployment(applicationPackage, this.#options.storage, engine, { ...checks, onStored });
    } finally {
      if (!isStored) engine.undeploy();
    }
  }

  applicationPackage(): Uint8Array | undefined {
    return this.#options.storage.readApplication()?.bytes;
  }

  application(): DeployReport | undefined {
    return this.#report;
  }

  /** Folds the tail of a partition now. */
  maintain(key: PartitionKey): Promise<void> {
    return this.#host.partition(key).maintain();
  }

  /** Settles when no maintenance is queued or running. */
  idle(): Promise<void> {
    return this.#host.idle();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#expiry.stop();
    await this.#host.close();
    this.#options.storage.close();
    await this.#models.close();
  }
}
