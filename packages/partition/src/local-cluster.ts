/** A cluster in this thread: all buckets, one core. What `open()` of the SDK and small servers use. */
import { asPackage, encodeQuery, type Load, type PackageBytes, type Query } from "@brooklet/core";
import { bucketOf, type PartitionsOf, type StoredApplication } from "@brooklet/store";
import { BucketHost, type DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import {
  type Cluster,
  type DeployReport,
  type Erasure,
  type FedOperation,
  type FeedOptions,
  type Gate,
  type GateTarget,
  type LoadOutcome,
  type MassOperation,
  type MassOutcome,
  OPEN_GATE,
  type OperationRequest,
  type Outcome,
  type PartitionHandle,
  type PartitionKey,
  type QueryHandle,
  type SearchRequest,
  type Visit,
  type VisitPage,
  type VisitStep,
} from "./cluster.ts";
import { beganMs } from "./deadline.ts";
import {
  completePackage,
  type Deployment,
  type DeploymentChecks,
  demandUnobjected,
  hasStoredValue,
  isServed,
  objectionsTo,
  prepareDeployment,
} from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { withBackups } from "./erasing.ts";
import { Expiry } from "./expiry.ts";
import { serviceError } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import { type CallerWaiting, ClusterQuery, type PartitionSearch, type QueryPlace } from "./query/cluster-query.ts";
import type { Surroundings } from "./surroundings.ts";

/** How long an erasure may wait for a bucket that is elsewhere. */
const ERASE_MS = 60_000;

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
  /** Makes what keeps the partitions of an open bucket; many in tables by default. */
  readonly partitions?: PartitionsOf;
  /** What stands around all operations; nothing by default. */
  readonly gate?: Gate;
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
  readonly #gate: Gate;
  #report: DeployReport | undefined;
  /** What the core said of the stored application, as long as none was deployed. */
  #restored: DeployReport | undefined;
  #closing: Promise<void> | undefined;
  #deploying: Promise<unknown> = Promise.resolve();

  constructor(options: LocalClusterOptions) {
    const { storage, makeEngine, keepRemovesSeconds, onProblem, surroundings, partitions, gate } = options;
    this.#gate = gate ?? OPEN_GATE;
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
      // Buckets behind a gate are opened by who uses them.
      ...(gate && { hold: (key) => gate.hold(key), owns: () => false }),
      ...(partitions && { partitions }),
      ...(keepRemovesSeconds !== undefined && { keepRemovesSeconds }),
      onProblem: onProblem ?? (() => undefined),
    });
    if (application !== undefined) {
      this.#report = this.#host.deploy(application);
      this.#restored = this.#report;
      const objections = objectionsTo(this.#report);
      if (objections !== undefined) onProblem?.(objections);
      options.onApplication?.(this.#report);
    }
    this.#expiry = new Expiry({
      buckets: storage.buckets,
      surroundings,
      report: () => this.#report,
      applyWhere: async (visit, step, operation, timeoutMs) =>
        this.#gate.maintains(step.bucket)
          ? await this.#gate.pass({ bucket: step.bucket }, "write", timeoutMs, () =>
              this.#host.applyWhere(visit, step, operation, timeoutMs),
            )
          : { documents: 0 },
      onProblem: onProblem ?? (() => undefined),
    });
  }

  partition(key: PartitionKey): EmbeddingHandle {
    return this.#models.around(this.#gate === OPEN_GATE ? this.#host.partition(key) : this.#gated(key));
  }

  /** Writes a partition in this process, whoever else could; texts were embedded where they had to be. */
  here(key: PartitionKey): {
    apply(request: OperationRequest, timeoutMs: number): Promise<Outcome>;
    load(load: Load, timeoutMs: number): Promise<readonly LoadOutcome[]>;
  } {
    const target = { keys: [key] };
    return {
      apply: (request, timeoutMs) =>
        this.#gate.pass(target, "write", timeoutMs, () => this.#host.partition(key).apply(request, timeoutMs)),
      load: (load, timeoutMs) =>
        this.#gate.pass(target, "write", timeoutMs, () => this.#host.partition(key).load(load, timeoutMs)),
    };
  }

  /** A partition that is looked up when it is needed: it may be another by then. */
  #gated(key: PartitionKey): PartitionHandle {
    const target = { keys: [key] };
    return {
      apply: async (request, timeoutMs) =>
        (await this.#gate.elsewhere?.(key)?.apply(request, timeoutMs)) ??
        (await this.here(key).apply(request, timeoutMs)),
      get: (request, timeoutMs) =>
        this.#gate.pass(target, "read", timeoutMs, () => this.#host.partition(key).get(request, timeoutMs)),
    };
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      split: (chunk) => splitChunk(this.#engine, chunk),
      load: async (key, load, timeoutMs) =>
        (await this.#gate.elsewhere?.(key)?.load(load, timeoutMs)) ?? (await this.here(key).load(load, timeoutMs)),
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
      searchPartition: (key, _, waiting) => this.#searchOf(key, query, waiting),
      searchBucket: async (step, _, waiting) => {
        const { bucket, keys } = step;
        try {
          const target = keys === undefined ? { bucket } : { keys };
          return await this.#gate.pass(target, "read", waiting.timeoutMs, () =>
            this.#host.searchBucket(query, step, waiting),
          );
        } catch (error) {
          // Others may be searched nevertheless: nobody else may hear of it.
          this.#options.onProblem?.(error);
          throw error;
        }
      },
      bucketsAtOnce: 1,
    };
  }

  #searchOf(key: PartitionKey, query: Query, waiting: CallerWaiting): PartitionSearch {
    if (this.#gate === OPEN_GATE) return this.#host.partition(key).search(query, waiting);
    let search: PartitionSearch | undefined;
    return {
      goOn: (outputs) =>
        this.#gate.pass({ keys: [key] }, "read", waiting.timeoutMs, async () => {
          // What failed before, or turned out not to be true, is begun anew.
          if (outputs === undefined) {
            search?.[Symbol.dispose]();
            search = this.#host.partition(key).search(query, waiting);
          }
          if (search === undefined) throw new Error("a search went on that was not begun");
          return await search.goOn(outputs);
        }),
      [Symbol.dispose]: () => search?.[Symbol.dispose](),
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
    return this.#gate.pass(targetOf(step), "read", timeoutMs, () => this.#host.visit(visit, step, timeoutMs));
  }

  async applyWhere(visit: Visit, step: VisitStep, operation: MassOperation, timeoutMs: number): Promise<MassOutcome> {
    return await applyWhereEmbedded(visit, step, operation, timeoutMs, {
      applyWhere: (of, ms) =>
        this.#gate.pass(targetOf(of), "write", ms, () => this.#host.applyWhere(visit, of, operation, ms)),
      partition: (key) => this.partition(key),
    });
  }

  erase(key: PartitionKey): Promise<Erasure> {
    return this.#gate.pass({ keys: [key] }, "write", ERASE_MS, async () => {
      return withBackups(await this.#host.erase(key), this.#options.storage);
    });
  }

  /** Lets go of a bucket, of which nothing is true any more. */
  forget(bucket: number): void {
    this.#host.forget(bucket);
  }

  /** Serves an application that another process has stored. */
  restore(application: StoredApplication): void {
    this.#restored = undefined;
    this.#report = this.#host.deploy(application);
    this.#options.onApplication?.(this.#report);
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
      const stored = storage.readApplication();
      const restored = this.#restored;
      this.#restored = undefined;
      const isSame =
        restored !== undefined &&
        stored !== undefined &&
        (await isServed(applicationPackage, restored, stored, this.#engine, modelRunner));
      if (isSame) {
        demandUnobjected(objections?.(restored) ?? []);
        return await this.#serve(restored);
      }
      const isFirst = stored === undefined;
      const validator = isFirst ? this.#engine : makeEngine();
      const complete = await completePackage(applicationPackage, modelRunner, validator);
      const hasValue = (schema: string, field: string): Promise<boolean> => hasStoredValue(this, schema, field);
      const checks: DeploymentChecks = { hasValue, objections };
      const { application, report } = isFirst
        ? await this.#deployFirst(complete, checks)
        : await prepareDeployment(complete, storage, validator, checks);
      if (!isFirst) this.#host.deploy(application);
      return await this.#serve(report);
    } catch (error) {
      throw serviceError(error);
    }
  }

  /** Tells of an application that is deployed. */
  async #serve(report: DeployReport): Promise<DeployReport> {
    this.#report = await withMissingModels(report, this.#options.embedder);
    this.#options.onApplication?.(this.#report);
    return this.#report;
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

function targetOf({ bucket, key }: VisitStep): GateTarget {
  return key === undefined ? { bucket } : { keys: [key] };
}
