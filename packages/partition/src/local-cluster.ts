/** A cluster in this thread: all buckets, one core. What `open()` of the SDK and small servers use. */
import { asPackage, encodeQuery, type Load, type PackageBytes, type Query, ServiceError } from "@brooklet/core";
import { bucketOf, type PartitionsOf, partitionsInTables, type Reserve, type StoredApplication } from "@brooklet/store";
import { BucketHost, type DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import {
  type Answer,
  type Cluster,
  type ClusterFigures,
  type DeployReport,
  type Erasure,
  type EvaluationRequest,
  type FedOperation,
  type FeedOptions,
  type Gate,
  type GateKind,
  type GateTarget,
  type GroupUsage,
  type LoadOutcome,
  type MassOperation,
  type MassOutcome,
  OPEN_GATE,
  type OperationRequest,
  type Outcome,
  type PartitionHandle,
  type PartitionKey,
  type Purge,
  type QueryHandle,
  type SearchRequest,
  type SearchStep,
  type Visit,
  type VisitPage,
  type VisitStep,
} from "./cluster.ts";
import { beganMs } from "./deadline.ts";
import {
  checkDeployment,
  type Deployment,
  type DeploymentSetting,
  demandBase,
  objectionsTo,
  prepareDeployment,
  reportOfSame,
} from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { withBackups } from "./erasing.ts";
import { Expiry } from "./expiry.ts";
import { failedOutcome, isOperators, serviceError } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { Health } from "./health/health.ts";
import type { ModelState } from "./health/model-state.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import type { BucketFound } from "./query/bucket-search.ts";
import { type CallerWaiting, ClusterQuery, type PartitionSearch, type QueryPlace } from "./query/cluster-query.ts";
import { gatedSearch } from "./query/gated-search.ts";
import { evaluateModel } from "./query/model-evaluation.ts";
import type { Stages } from "./query/stages.ts";
import { SteadyQuery } from "./query/steady-query.ts";
import { type GroupQuotaLimits, GroupQuotas } from "./quotas/group-quotas.ts";
import { LargeGroups } from "./shards/large-groups.ts";
import { bucketOfName, checkKey } from "./shards/shard.ts";
import type { Surroundings } from "./surroundings.ts";

/** How long an erasure may wait for a bucket that is elsewhere. */
const ERASE_MS = 60_000;
/** The same of a count. */
const COUNT_MS = 10_000;

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
  /** Bytes from which on a group is split into shards; none is, unless it is said. */
  readonly shardBytes?: number;
  /** What is kept back on the device for what gives space. */
  readonly reserve?: Reserve | undefined;
  /** Takes note of the stages of queries. */
  readonly stages?: Stages;
  /** What each group may have; as much as there is room for, unless it is said. */
  readonly quotas?: GroupQuotaLimits;
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
  readonly #large: LargeGroups;
  readonly #health: Health;
  readonly #models: ModelSurroundings;
  readonly #gate: Gate;
  readonly #quotas: GroupQuotas | undefined;
  #report: DeployReport | undefined;
  /** What the core said of the stored application, as long as none was deployed. */
  #restored: DeployReport | undefined;
  #closing: Promise<void> | undefined;
  #deploying: Promise<unknown> = Promise.resolve();

  constructor(options: LocalClusterOptions) {
    const { storage, makeEngine, keepRemovesSeconds, onProblem, surroundings, gate } = options;
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
      ...(gate && { hold: (key) => gate.hold(key), isSwept: false }),
      partitions: options.partitions ?? partitionsInTables,
      reserve: options.reserve,
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
    this.#health = new Health({
      cluster: this,
      // Whoever is behind a gate looks after what is stored.
      buckets: gate === undefined ? [0] : [],
      store: async (bucket, isWanted) => this.#host.probe(bucket, isWanted),
    });
    this.#expiry = new Expiry({
      buckets: storage.buckets,
      surroundings,
      report: () => this.#report,
      applyWhere: async (visit, step, operation, timeoutMs) =>
        this.#gate.maintains(step.bucket)
          ? await this.#applyWhere(visit, step, operation, timeoutMs)
          : { documents: 0 },
      onProblem: onProblem ?? (() => undefined),
    });
    this.#large = new LargeGroups({
      ask: (...asked) => this.#host.shards.work(...asked),
      threads: [""],
      bucketOf: (name) => bucketOfName(name, storage.buckets),
      shardBytes: options.shardBytes,
      surroundings,
      onProblem: onProblem ?? (() => undefined),
    });
    this.#quotas =
      options.quotas &&
      new GroupQuotas(
        options.quotas,
        (key) => this.usage(key),
        (id) => this.#engine.storedIds?.(id),
      );
  }

  partition(key: PartitionKey): EmbeddingHandle {
    checkKey(key);
    const partition = this.#models.around(this.#gate === OPEN_GATE ? this.#shared(key) : this.#gated(key));
    return this.#quotas?.around(key, partition) ?? partition;
  }

  usage(key: PartitionKey): Promise<GroupUsage> {
    checkKey(key);
    return this.#gate.pass({ keys: [key] }, "read", COUNT_MS, () => this.#large.usage(key));
  }

  /** A partition, or the shards that it was split into. */
  #shared(key: PartitionKey): PartitionHandle {
    return {
      apply: (request, timeoutMs) => {
        const whole = (): Promise<Outcome> => this.#host.partition(key).apply(request, timeoutMs);
        return this.#large.apply(key, request, timeoutMs, whole).catch(failedOutcome);
      },
      get: (request, timeoutMs) =>
        this.#large.get(key, request, timeoutMs, () => this.#host.partition(key).get(request, timeoutMs)),
    };
  }

  /** Writes a partition in this process, whoever else could; texts were embedded where they had to be. */
  here(key: PartitionKey): {
    apply(request: OperationRequest, timeoutMs: number): Promise<Outcome>;
    load(load: Load, timeoutMs: number): Promise<readonly LoadOutcome[]>;
  } {
    const target = { keys: [key] };
    return {
      apply: (request, timeoutMs) =>
        this.#gate.pass(target, "write", timeoutMs, (leftMs) => this.#host.partition(key).apply(request, leftMs)),
      load: (load, timeoutMs) =>
        this.#gate.pass(target, "write", timeoutMs, (leftMs) => this.#host.partition(key).load(load, leftMs)),
    };
  }

  /** A partition that is looked up when it is needed: it may be another by then. */
  #gated(key: PartitionKey): PartitionHandle {
    const target = { keys: [key] };
    const apply = async (request: OperationRequest, timeoutMs: number): Promise<Outcome> =>
      (await this.#gate.elsewhere?.(key)?.apply(request, timeoutMs)) ??
      (await this.here(key).apply(request, timeoutMs));
    return {
      // As all partitions, it tells what came of a write without throwing: who is around it knows what came before.
      apply: (request, timeoutMs) => apply(request, timeoutMs).catch(failedOutcome),
      get: (request, timeoutMs) =>
        this.#gate.pass(target, kindOf(request), timeoutMs, (leftMs) => this.#host.partition(key).get(request, leftMs)),
    };
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      split: (chunk) => splitChunk(this.#engine, chunk),
      storedIds: (id, cluster) => this.#engine.storedIds?.(id, cluster),
      load: async (key, load, timeoutMs) => {
        const work = async (of: Load): Promise<readonly LoadOutcome[]> =>
          (await this.#gate.elsewhere?.(key)?.load(of, timeoutMs)) ??
          (await this.#large.load(key, of, timeoutMs, (own) => this.here(key).load(own, timeoutMs)));
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
    return new SteadyQuery({ number: () => this.#host.application }, () => this.#query(request));
  }

  #query(request: SearchRequest): QueryHandle {
    const startMs = beganMs(request);
    const query = this.#host.query(encodeQuery(request, Math.floor(Date.now() / 1_000)));
    try {
      return new ClusterQuery(query, this.#placeOf(query), startMs);
    } catch (error) {
      query[Symbol.dispose]();
      throw error;
    }
  }

  #placeOf(query: Query): QueryPlace {
    const kind = this.#gate === OPEN_GATE ? "read" : consistencyOf(query);
    return {
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      models: this.#models.ofQueries(),
      stages: this.#options.stages,
      searchPartition: (key, _, waiting) => this.#searchOf(key, query, kind, waiting),
      searchBucket: async (step, _, waiting) => {
        const { bucket, keys } = step;
        try {
          const search = (of: SearchStep): Promise<BucketFound> => this.#host.searchBucket(query, of, waiting);
          const target = keys === undefined ? { bucket } : { keys };
          return await this.#gate.pass(target, kind, waiting.timeoutMs, () =>
            this.#large.searchBucket(query, step, search),
          );
        } catch (error) {
          // Others may be searched nevertheless: nobody else may hear of it.
          if (isOperators(serviceError(error))) this.#options.onProblem?.(error);
          throw error;
        }
      },
      bucketsAtOnce: 1,
    };
  }

  #searchOf(key: PartitionKey, query: Query, kind: GateKind, waiting: CallerWaiting): PartitionSearch {
    const begin = (): PartitionSearch => this.#host.partition(key).search(query, waiting);
    return this.#gate === OPEN_GATE
      ? begin()
      : gatedSearch(this.#gate, { key, kind, timeoutMs: waiting.timeoutMs }, begin);
  }

  health(): Promise<readonly string[]> {
    return this.#health.problems();
  }

  models(): Promise<readonly ModelState[]> {
    return this.#models.states();
  }

  async figures(): Promise<readonly ClusterFigures[]> {
    return [{ ...this.#host.figures, searchesRunning: 0, searchesQueued: 0 }];
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
    return this.#gate.pass(targetOf(step), kindOf(step), timeoutMs, (leftMs) =>
      this.#large.visit(visit, step, leftMs, (of, ms) => this.#host.visit(visit, of, ms, gone), gone),
    );
  }

  readonly applyWhere: Cluster["applyWhere"] = (visit, step, operation, timeoutMs, gone) => {
    const applyWhere = (of: VisitStep, ms: number): Promise<MassOutcome> =>
      this.#applyWhere(visit, of, operation, ms, gone);
    const partition = (key: PartitionKey): EmbeddingHandle => this.partition(key);
    return applyWhereEmbedded(visit, step, operation, timeoutMs, { applyWhere, partition }, gone);
  };

  readonly #applyWhere: Cluster["applyWhere"] = (visit, step, operation, timeoutMs, gone) => {
    const partition = (key: PartitionKey): EmbeddingHandle => this.partition(key);
    const through = (of: VisitStep, ms: number): Promise<MassOutcome> =>
      this.#host.applyWhere(visit, of, operation, ms, gone);
    return this.#gate.pass(targetOf(step), "write", timeoutMs, (leftMs) =>
      this.#large.applyWhere(visit, step, operation, leftMs, { through, partition }, gone),
    );
  };

  async erase(key: PartitionKey): Promise<Erasure> {
    checkKey(key);
    return await this.#gate.pass({ keys: [key] }, "write", ERASE_MS, async () => {
      const erasure = await this.#large.erase(key);
      this.#quotas?.forget(key);
      return withBackups(erasure, this.#options.storage);
    });
  }

  purge(erasure: Erasure): Promise<Purge> {
    return this.#large.purge(erasure, this.#options.storage);
  }

  /** Gives half of the documents of a group, or of the shard of a name, to a new shard. */
  split(name: string): Promise<void> {
    return this.#large.split(name);
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
  deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport> {
    const deploy = (): Promise<DeployReport> => this.#large.without(() => this.#deploy(applicationPackage, base));
    const deployed = this.#deploying.then(deploy);
    this.#deploying = deployed.catch(() => undefined);
    return deployed;
  }

  async #deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport> {
    const { storage, makeEngine } = this.#options;
    try {
      const stored = storage.readApplication();
      demandBase(stored, base);
      const restored = this.#restored;
      this.#restored = undefined;
      const same = await reportOfSame(applicationPackage, restored, stored, this.#engine, this.#options);
      if (same !== undefined) return await this.#serve(same, applicationPackage);
      // Where several processes deploy, none serves what another may have stored something else in the place of.
      const isFirst = stored === undefined && this.#gate === OPEN_GATE;
      const written = this.#gate.written?.(this.#large.written());
      const { application, report } = isFirst
        ? await this.#deployFirst(applicationPackage)
        : await prepareDeployment(applicationPackage, { ...this.#setting(makeEngine()), written });
      if (!isFirst) this.#host.deploy(application);
      return await this.#serve(report, application.bytes);
    } catch (error) {
      throw serviceError(error);
    }
  }

  /** Tells of an application that is deployed. */
  async #serve(report: DeployReport, applicationPackage: Uint8Array): Promise<DeployReport> {
    this.#report = await withMissingModels(report, applicationPackage, this.#options);
    this.#options.onApplication?.(this.#report);
    return this.#report;
  }

  #setting(validator: DeployableEngine): DeploymentSetting & ModelSurroundingsOptions {
    return { ...this.#options, validator, documents: this };
  }

  /** Deploys where nothing is: the core that serves reads the package itself, once, and no other core is made. */
  async #deployFirst(applicationPackage: Uint8Array): Promise<Deployment> {
    const engine = this.#engine;
    let isStored = false;
    const onStored = ({ application, report }: Deployment): void => {
      isStored = true;
      engine.keep(asPackage(application.bytes));
      this.#host.activate(application.number, report);
    };
    try {
      return await prepareDeployment(applicationPackage, { ...this.#setting(engine), onStored });
    } finally {
      if (!isStored) engine.undeploy();
    }
  }

  checkDeployment: Cluster["checkDeployment"] = (applicationPackage) =>
    checkDeployment(applicationPackage, this.#setting(this.#options.makeEngine()));

  applicationNumber: Cluster["applicationNumber"] = async () => this.#options.storage.readApplication()?.number ?? 0;

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
    await this.#large.stop();
    await this.#host.close();
    this.#options.storage.close();
    await this.#models.close();
  }
}

/** How new what is read has to be. */
function kindOf({ isEventual }: { readonly isEventual?: boolean }): GateKind {
  return isEventual === true ? "eventual" : "read";
}

/** How new what a query sees has to be. Throws where its parameter says neither. */
function consistencyOf(query: Query): GateKind {
  const said = query.parameter("consistency") ?? "strict";
  if (said === "strict") return "read";
  if (said === "eventual") return "eventual";
  const message = `Parameter 'consistency' must be 'strict' or 'eventual', not '${said.slice(0, 40)}'`;
  throw new ServiceError({ code: "ILLEGAL_QUERY", status: 400, number: 3, message });
}

function targetOf({ bucket, key }: VisitStep): GateTarget {
  return key === undefined ? { bucket } : { keys: [key] };
}
