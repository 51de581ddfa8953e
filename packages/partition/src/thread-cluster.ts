/**
 * A cluster over threads: a bucket belongs to one thread, and every group to one bucket. Threads are never terminated:
 * they are asked to close and end by themselves. One that ends otherwise is started again.
 */
import { asPackage, encodeQuery, type Load, type QueryBytes, type UnsharedBytes } from "@brooklet/core";
import { bucketOf, type StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import type {
  Cluster,
  DeployReport,
  Erasure,
  FedOperation,
  FeedOptions,
  MassOperation,
  MassOutcome,
  OperationRequest,
  PartitionHandle,
  PartitionKey,
  QueryHandle,
  SearchRequest,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { type BucketThread, Correspondent, PATIENT_MS } from "./correspondent.ts";
import { beganMs } from "./deadline.ts";
import { completePackage, deploymentUnderWay, hasStoredValue, objectionsTo, prepareDeployment } from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { withBackups } from "./erasing.ts";
import { Expiry } from "./expiry.ts";
import { closed, failedOutcome, serviceError } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { SEARCH_BUCKETS_OF_THREAD } from "./limits.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import { ClusterQuery, type QueryPlace } from "./query/cluster-query.ts";
import type { LaneLimits } from "./query/lane.ts";
import { ThreadPlaces } from "./query/thread-places.ts";
import type { Surroundings } from "./surroundings.ts";
import type { CallRequest, Packing } from "./thread-messages.ts";

/** What a cluster over threads needs. */
export interface ThreadClusterOptions extends ModelSurroundingsOptions {
  /** How many threads; the bucket `b` belongs to thread `b mod threads`. */
  readonly threads: number;
  /** Starts a thread that runs `serveBuckets` with this application and this memory; its number. */
  readonly startThread: (
    application: StoredApplication | undefined,
    cancelled: SharedArrayBuffer,
    thread: number,
  ) => BucketThread;
  /** Makes a core for validating packages, and for searches without a group. */
  readonly makeEngine: () => DeployableEngine;
  readonly surroundings: Surroundings;
  /** The places of each thread for searches, if not the usual. */
  readonly lane?: LaneLimits;
  /** Told of the application that is served: of the stored one at the start, and of each that is deployed. */
  readonly onApplication?: (application: DeployReport) => void;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

/** All partitions, in threads. */
export class ThreadCluster implements Cluster {
  readonly #options: ThreadClusterOptions;
  readonly #engine: DeployableEngine;
  readonly #threads: readonly Correspondent[];
  readonly #expiry: Expiry;
  readonly #models: ModelSurroundings;
  #report: DeployReport | undefined;
  #deploying = false;
  #queries = 0;
  #closing: Promise<void> | undefined;

  constructor(options: ThreadClusterOptions) {
    const { storage, threads, startThread, makeEngine, onProblem, surroundings } = options;
    this.#options = options;
    this.#engine = makeEngine();
    this.#models = new ModelSurroundings(options, this.#engine, () => this.#report);
    const application = storage.readApplication();
    if (application !== undefined) {
      this.#report = this.#engine.restore(asPackage(application.bytes));
      const objections = objectionsTo(this.#report);
      if (objections !== undefined) onProblem(objections);
      options.onApplication?.(this.#report);
    }
    this.#threads = Array.from({ length: Math.min(threads, storage.buckets) }, (_, thread) => {
      const start = (cancelled: SharedArrayBuffer): BucketThread =>
        startThread(storage.readApplication(), cancelled, thread);
      return new Correspondent(start, onProblem, surroundings, options.lane);
    });
    this.#expiry = new Expiry({
      buckets: storage.buckets,
      surroundings,
      report: () => this.#report,
      applyWhere: (...asked) => this.applyWhere(...asked),
      onProblem,
    });
  }

  partition(key: PartitionKey): EmbeddingHandle {
    const thread = this.#threadOf(this.bucketOf(key));
    const partition: PartitionHandle = {
      apply: (request, timeoutMs) => {
        const packed = (by: Packing): OperationRequest => ({ ...request, body: by.copy(request.body) });
        return thread.call("apply", packed, key, timeoutMs).catch(failedOutcome);
      },
      get: (request, timeoutMs) => thread.call("get", () => request, key, timeoutMs),
    };
    return this.#models.around(partition);
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      split: (chunk) => splitChunk(this.#engine, chunk),
      load: (key, load, timeoutMs) => {
        // Made for this and held by nobody else: it is handed over as it is.
        const operations = load.operations as UnsharedBytes;
        const packed = (by: Packing): Load => ({ ...load, operations: by.give(operations) });
        return this.#threadOf(this.bucketOf(key)).call("load", packed, key, timeoutMs);
      },
      apply: (key, request, timeoutMs, caller) => this.partition(key).apply(request, timeoutMs, caller),
    };
    return feedPlace(place, input, options);
  }

  query(request: SearchRequest): QueryHandle {
    if (this.#closing !== undefined) throw closed();
    const startMs = beganMs(request);
    const bytes = encodeQuery(request, Math.floor(Date.now() / 1_000));
    return new ClusterQuery(this.#engine.query(bytes), this.#placeOf(bytes), startMs);
  }

  overload(key?: PartitionKey): string | undefined {
    if (key !== undefined) return this.#threadOf(this.bucketOf(key)).lane.refusal;
    // While one thread has room there is a search that is not refused.
    const refusals = this.#threads.map(({ lane }) => lane.refusal);
    return refusals.includes(undefined) ? undefined : refusals[0];
  }

  #placeOf(bytes: QueryBytes): QueryPlace {
    const places = new ThreadPlaces(++this.#queries, bytes);
    return {
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      models: this.#models.ofQueries(),
      searchPartition: (key, given, waiting) =>
        places.searchPartition(this.#threadOf(this.bucketOf(key)), key, given, waiting),
      searchBucket: (step, given, waiting) => places.searchBucket(this.#threadOf(step.bucket), step, given, waiting),
      bucketsAtOnce: this.#threads.length * SEARCH_BUCKETS_OF_THREAD,
      forget: () => places.forget(),
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
    return this.#threadOf(step.bucket).call("visit", () => ({ visit, step }), step.key, timeoutMs);
  }

  async applyWhere(visit: Visit, step: VisitStep, operation: MassOperation, timeoutMs: number): Promise<MassOutcome> {
    const inThread = (of: VisitStep, ms: number): Promise<MassOutcome> => {
      const packed = (by: Packing): CallRequest<"applyWhere"> => ({
        visit,
        step: of,
        operation: { ...operation, body: by.copy(operation.body) },
      });
      return this.#threadOf(of.bucket).call("applyWhere", packed, of.key, ms);
    };
    const partition = (key: PartitionKey): EmbeddingHandle => this.partition(key);
    return await applyWhereEmbedded(visit, step, operation, timeoutMs, { applyWhere: inThread, partition });
  }

  async erase(key: PartitionKey): Promise<Erasure> {
    const erasure = await this.#threadOf(this.bucketOf(key)).call("erase", () => undefined, key, PATIENT_MS);
    return withBackups(erasure, this.#options.storage);
  }

  async deploy(applicationPackage: Uint8Array): Promise<DeployReport> {
    if (this.#deploying) throw deploymentUnderWay();
    this.#deploying = true;
    try {
      const { storage, makeEngine, modelRunner, objections } = this.#options;
      const validator = makeEngine();
      const complete = await completePackage(applicationPackage, modelRunner, validator);
      const hasValue = (schema: string, field: string): Promise<boolean> => hasStoredValue(this, schema, field);
      const { application, report } = await prepareDeployment(complete, storage, validator, { hasValue, objections });
      this.#engine.restore(asPackage(application.bytes));
      this.#report = report;
      const calls = this.#threads.map((thread) => thread.call("deploy", () => application, undefined, PATIENT_MS));
      await Promise.all(calls);
      this.#report = await withMissingModels(report, this.#options.embedder);
      this.#options.onApplication?.(this.#report);
      return this.#report;
    } catch (error) {
      throw serviceError(error);
    } finally {
      this.#deploying = false;
    }
  }

  applicationPackage(): Uint8Array | undefined {
    return this.#options.storage.readApplication()?.bytes;
  }

  application(): DeployReport | undefined {
    return this.#report;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#expiry.stop();
    await Promise.all(this.#threads.map((thread) => thread.close()));
    this.#options.storage.close();
    await this.#models.close();
  }

  #threadOf(bucket: number): Correspondent {
    const thread = this.#threads[bucket % this.#threads.length];
    if (thread === undefined) throw new Error("a cluster without threads");
    return thread;
  }
}
