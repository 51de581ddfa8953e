/**
 * A cluster over threads: a bucket belongs to one thread, and every group to one bucket. Threads are never terminated:
 * they are asked to close and end by themselves. One that ends otherwise is started again.
 */
import { asPackage, encodeQuery, type Load, type Query, type QueryBytes } from "@brooklet/core";
import { bucketOf, type StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import type {
  Answer,
  Cluster,
  ClusterFigures,
  DeployReport,
  Erasure,
  EvaluationRequest,
  FedOperation,
  FeedOptions,
  GroupUsage,
  LoadOutcome,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  Purge,
  QueryHandle,
  SearchRequest,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { type BucketThread, Correspondent, PATIENT_MS } from "./correspondent.ts";
import { beganMs } from "./deadline.ts";
import {
  checkDeployment,
  type DeploymentSetting,
  deploymentUnderWay,
  objectionsTo,
  prepareDeployment,
} from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { withBackups } from "./erasing.ts";
import { Expiry } from "./expiry.ts";
import { closedError, failedOutcome, serviceError } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { Health } from "./health/health.ts";
import type { ModelState } from "./health/model-state.ts";
import { SEARCH_BUCKETS_OF_THREAD } from "./limits.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import { ClusterQuery, type QueryPlace } from "./query/cluster-query.ts";
import type { Lane, LaneLimits } from "./query/lane.ts";
import { evaluateModel } from "./query/model-evaluation.ts";
import type { Stages } from "./query/stages.ts";
import { SteadyQuery } from "./query/steady-query.ts";
import { ThreadPlaces } from "./query/thread-places.ts";
import { type GroupQuotaLimits, GroupQuotas } from "./quotas/group-quotas.ts";
import type { AskShard, ShardWork } from "./shards/bucket-shards.ts";
import { LargeGroups } from "./shards/large-groups.ts";
import { bucketOfName, checkKey } from "./shards/shard.ts";
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
  /** Bytes from which on a group is split into shards; none is, unless it is said. */
  readonly shardBytes?: number;
  readonly surroundings: Surroundings;
  /** Takes note of the stages of queries. */
  readonly stages?: Stages;
  /** What each group may have; as much as there is room for, unless it is said. */
  readonly quotas?: GroupQuotaLimits;
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
  readonly #large: LargeGroups;
  readonly #health: Health;
  readonly #models: ModelSurroundings;
  readonly #quotas: GroupQuotas | undefined;
  #report: DeployReport | undefined;
  #deploying = false;
  /** Another number when an application comes to this thread, and when all others have it. */
  #activations = 0;
  #activation: Promise<unknown> = Promise.resolve();
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
      return new Correspondent(thread, start, onProblem, surroundings, options.lane);
    });
    this.#large = new LargeGroups({
      ask: this.#askShard,
      threads: namesOfThreads(this.#threads.length, storage.buckets),
      bucketOf: (name) => bucketOfName(name, storage.buckets),
      shardBytes: options.shardBytes,
      surroundings,
      onProblem,
    });
    this.#quotas =
      options.quotas &&
      new GroupQuotas(
        options.quotas,
        (key) => this.usage(key),
        (id) => this.#engine.storedIds?.(id),
      );
    this.#health = new Health({
      cluster: this,
      buckets: this.#threads.map((_, thread) => thread),
      store: async (bucket, isWanted) => {
        const asked = { bucket, isWanted };
        return (await this.#threadOf(bucket).call("probe", () => asked, undefined, PATIENT_MS)).isFull;
      },
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
        const whole = (): Promise<Outcome> => thread.call("apply", packed, key, timeoutMs);
        return this.#large.apply(key, request, timeoutMs, whole).catch(failedOutcome);
      },
      get: (request, timeoutMs) =>
        this.#large.get(key, request, timeoutMs, () => thread.call("get", () => request, key, timeoutMs)),
    };
    const embedding = this.#models.around(partition);
    return this.#quotas?.around(key, embedding) ?? embedding;
  }

  usage(key: PartitionKey): Promise<GroupUsage> {
    checkKey(key);
    return this.#large.usage(key);
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      split: (chunk) => splitChunk(this.#engine, chunk),
      storedIds: (id, cluster) => this.#engine.storedIds?.(id, cluster),
      load: async (key, load, timeoutMs) => {
        const whole = (own: Load): Promise<readonly LoadOutcome[]> => {
          // Copied, as a group that has become large is asked once more.
          const packed = (by: Packing): Load => ({ ...own, operations: by.copy(own.operations) });
          return this.#threadOf(this.bucketOf(key)).call("load", packed, key, timeoutMs);
        };
        const work = (of: Load): Promise<readonly LoadOutcome[]> => this.#large.load(key, of, timeoutMs, whole);
        return (await this.#quotas?.load(key, load, this.partition(key), work)) ?? (await work(load));
      },
      apply: (key, request, timeoutMs, caller) => this.partition(key).apply(request, timeoutMs, caller),
      turn: this.#options.surroundings.turn,
    };
    return feedPlace(place, input, options);
  }

  evaluate(request: EvaluationRequest, timeoutMs: number): Promise<Answer> {
    return evaluateModel(this.#engine, this.#models.ofQueries(), request, timeoutMs);
  }

  query(request: SearchRequest): QueryHandle {
    if (this.#closing !== undefined) throw closedError();
    const deployed = { number: () => this.#activations, settled: () => this.#activation };
    return new SteadyQuery(deployed, () => this.#query(request));
  }

  #query(request: SearchRequest): QueryHandle {
    const startMs = beganMs(request);
    const bytes = encodeQuery(request, Math.floor(Date.now() / 1_000));
    const query = this.#engine.query(bytes);
    return new ClusterQuery(query, this.#placeOf(query, bytes), startMs);
  }

  overload(key?: PartitionKey): string | undefined {
    if (key !== undefined) return this.#laneOf(key).refusal;
    // While one thread has room there is a search that is not refused.
    const refusals = this.#threads.map(({ lane }) => lane.refusal);
    return refusals.includes(undefined) ? undefined : refusals[0];
  }

  countRefusal(key?: PartitionKey): void {
    if (key !== undefined) this.#laneOf(key).countRefusal();
    else for (const { lane } of this.#threads) lane.countRefusal();
  }

  /** By whatever name: that there is no such group is said by who searches it. */
  #laneOf(key: PartitionKey): Lane {
    return this.#threadOf(bucketOf(key, this.buckets)).lane;
  }

  health(): Promise<readonly string[]> {
    return this.#health.problems();
  }

  models(): Promise<readonly ModelState[]> {
    return this.#models.states();
  }

  async figures(): Promise<readonly ClusterFigures[]> {
    return await Promise.all(
      this.#threads.map(async (thread) => {
        const figures = await thread.call("figures", () => undefined, undefined, PATIENT_MS);
        return { ...figures, searchesRunning: thread.lane.running, searchesQueued: thread.lane.queued };
      }),
    );
  }

  #placeOf(query: Query, bytes: QueryBytes): QueryPlace {
    const places = new ThreadPlaces(++this.#queries, bytes);
    return {
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      models: this.#models.ofQueries(),
      stages: this.#options.stages,
      searchPartition: (key, given, waiting) =>
        places.searchPartition(this.#threadOf(this.bucketOf(key)), key, given, waiting),
      searchBucket: (step, given, waiting) =>
        this.#large.searchBucket(query, step, (of) =>
          places.searchBucket(this.#threadOf(of.bucket), of, given, waiting),
        ),
      bucketsAtOnce: this.#threads.length * SEARCH_BUCKETS_OF_THREAD,
      forget: () => places.forget(),
    };
  }

  get buckets(): number {
    return this.#options.storage.buckets;
  }

  bucketOf(key: PartitionKey): number {
    checkKey(key);
    return bucketOf(key, this.buckets);
  }

  get secret(): Uint8Array {
    return this.#options.storage.secret;
  }

  async checkVisit(visit: Visit, operation?: MassOperation): Promise<void> {
    visitNowhere(this.#engine, visit, operation);
  }

  visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: AbortSignal): Promise<VisitPage> {
    const through = (of: VisitStep, ms: number): Promise<VisitPage> =>
      this.#threadOf(of.bucket).call("visit", () => ({ visit, step: of }), of.key, ms, gone);
    return this.#large.visit(visit, step, timeoutMs, through, gone);
  }

  async applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<MassOutcome> {
    const inThread = (of: VisitStep, ms: number): Promise<MassOutcome> => {
      const packed = (by: Packing): CallRequest<"applyWhere"> => ({
        visit,
        step: of,
        operation: { ...operation, body: by.copy(operation.body) },
      });
      return this.#threadOf(of.bucket).call("applyWhere", packed, of.key, ms, gone);
    };
    const partition = (key: PartitionKey): EmbeddingHandle => this.partition(key);
    const applyWhere = (of: VisitStep, ms: number): Promise<MassOutcome> =>
      this.#large.applyWhere(visit, of, operation, ms, { through: inThread, partition }, gone);
    return await applyWhereEmbedded(visit, step, operation, timeoutMs, { applyWhere, partition }, gone);
  }

  async erase(key: PartitionKey): Promise<Erasure> {
    checkKey(key);
    const erasure = await this.#large.erase(key);
    this.#quotas?.forget(key);
    return withBackups(erasure, this.#options.storage);
  }

  purge(erasure: Erasure): Promise<Purge> {
    return this.#large.purge(erasure, this.#options.storage);
  }

  /** Gives half of the documents of a group, or of the shard of a name, to a new shard. */
  split(name: string): Promise<void> {
    return this.#large.split(name);
  }

  readonly #askShard: AskShard = async (name, task, given, gone) => {
    const thread = this.#threadOf(bucketOfName(name, this.buckets));
    const packed = (): CallRequest<"shard"> => ({ task, given });
    const { gives } = await thread.call("shard", packed, name as PartitionKey, PATIENT_MS, gone);
    return gives as ShardWork[typeof task]["gives"];
  };

  async deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport> {
    if (this.#deploying) throw deploymentUnderWay();
    this.#deploying = true;
    try {
      const written = this.#large.written();
      const { application, report } = await this.#large.without(async () => {
        try {
          const setting = { ...this.#setting(), base, written };
          const deployment = await prepareDeployment(applicationPackage, setting);
          await this.#activate(deployment.application, deployment.report);
          return deployment;
        } finally {
          // Only now is nothing decided any more by the application before.
          await written.release();
        }
      });
      this.#report = await withMissingModels(report, application.bytes, this.#options);
      this.#options.onApplication?.(this.#report);
      return this.#report;
    } catch (error) {
      throw serviceError(error);
    } finally {
      this.#deploying = false;
    }
  }

  /** Has an application be served, here and then in each thread. */
  async #activate(application: StoredApplication, report: DeployReport): Promise<void> {
    this.#engine.restore(asPackage(application.bytes));
    this.#report = report;
    this.#activations += 1;
    const calls = this.#threads.map((thread) => thread.call("deploy", () => application, undefined, PATIENT_MS));
    this.#activation = Promise.allSettled(calls).then(() => {
      this.#activations += 1;
    });
    await this.#activation;
    await Promise.all(calls);
  }

  #setting(): DeploymentSetting & ModelSurroundingsOptions {
    return { ...this.#options, validator: this.#options.makeEngine(), documents: this };
  }

  checkDeployment: Cluster["checkDeployment"] = (applicationPackage) =>
    checkDeployment(applicationPackage, this.#setting());

  applicationNumber: Cluster["applicationNumber"] = async () => this.#options.storage.readApplication()?.number ?? 0;

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
    await this.#large.stop();
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

/** A name for each thread, of a partition that would be in a bucket of it. */
function namesOfThreads(threads: number, buckets: number): readonly string[] {
  const names = new Map<number, string>();
  for (let number = 0; names.size < threads; number += 1) {
    const name = `g:${number}`;
    const thread = bucketOfName(name, buckets) % threads;
    if (!names.has(thread)) names.set(thread, name);
  }
  return [...names.values()];
}
