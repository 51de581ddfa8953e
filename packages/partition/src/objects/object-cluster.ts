/**
 * A cluster of objects: each group is one, with a database of its own, moved and kept by a platform. Its buckets are the
 * directories of the groups there are; a group is found by its key without them.
 */
import { encodeQuery, type Merged, type Query, type QueryBytes, ServiceError } from "@brooklet/core";
import type { Storage } from "@brooklet/store";
import type { DeployableEngine } from "../bucket-host.ts";
import { joinedBodies, MassCount, visitNowhere } from "../bucket-visit.ts";
import { clock } from "../clock.ts";
import type {
  Answer,
  Cluster,
  DeployReport,
  DeploySessions,
  Erasure,
  FedOperation,
  FeedOptions,
  MassOperation,
  MassOutcome,
  PartitionHandle,
  PartitionKey,
  QueryHandle,
  SearchRequest,
  SearchStep,
  Visit,
  VisitPage,
  VisitStep,
} from "../cluster.ts";
import { beganMs, Deadline } from "../deadline.ts";
import { checkDeployment } from "../deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle, type TextEmbedder } from "../embedding.ts";
import { failedOutcome, serviceError } from "../failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "../feeding.ts";
import { OBJECT_LOAD_BYTES, OBJECTS_LOOK_MS } from "../limits.ts";
import { ModelSurroundings, withMissingModels } from "../model-surroundings.ts";
import { type CallerWaiting, ClusterQuery, type Given, type QueryPlace } from "../query/cluster-query.ts";
import { FoundParts } from "../query/found-parts.ts";
import type { SentQuery } from "../query/open-queries.ts";
import { SteadyQuery } from "../query/steady-query.ts";
import { gather, type ShardAnswer } from "../shards/gather.ts";
import { learn, type Moved, route } from "../shards/route.ts";
import { objectName, type ShardName, type ShardRecord, WHOLE } from "../shards/shard.ts";
import { loadShards, own, toSend } from "../shards/shard-load.ts";
import { ShardMaps } from "../shards/shard-map.ts";
import { applyToShards, visitShards } from "../shards/shard-visit.ts";
import { deployFenced, type FencedSetting } from "./fence.ts";
import { listedGroups, portions, walkGroups } from "./group-walk.ts";
import type { DeployedCore } from "./isolate.ts";
import { KnownApplication } from "./known-application.ts";
import { pageOf } from "./object-answer.ts";
import {
  directoryOf,
  type GroupCalls,
  MESSAGES,
  type ObjectPort,
  type ObjectReply,
  type ObjectStep,
  type ObjectWaiting,
} from "./object-calls.ts";
import { askGroup, steadyPort } from "./platform-failure.ts";

/** Packages that wait to be activated. */
const SESSIONS_KEPT = 4;

/** What a cluster of objects needs. */
export interface ObjectClusterOptions {
  readonly port: ObjectPort;
  readonly isolate: DeployedCore;
  /** How many directories there are; it never changes. */
  readonly directories: number;
  /** Makes a core for validating a package. */
  readonly makeEngine: () => DeployableEngine;
  readonly embedder?: TextEmbedder;
  /** What is to be said against an application; one against which there is anything is not deployed. */
  readonly objections?: (report: DeployReport) => readonly string[];
  /** How long the platform can bring back what was erased, in milliseconds; nothing: it cannot. */
  readonly recoverableMs?: number;
  /** Told of every failure that no caller sees. */
  readonly onProblem?: (error: unknown) => void;
}

/** All groups, each an object. */
export class ObjectCluster implements Cluster {
  readonly #options: ObjectClusterOptions;
  readonly #models: ModelSurroundings;
  readonly #maps = new ShardMaps();
  readonly secret: Uint8Array;
  readonly sessions: DeploySessions;
  readonly #known: KnownApplication;

  private constructor(options: ObjectClusterOptions, secret: Uint8Array) {
    this.#options = options;
    this.secret = secret;
    const { port } = options;
    this.#known = new KnownApplication(port, options.isolate);
    this.sessions = {
      add: (bytes, base) => port.registry().addSession(bytes, SESSIONS_KEPT, base),
      get: (session) => port.registry().session(session),
      prepare: (session) => port.registry().prepareSession(session),
    };
    const storage = this.#storage();
    const { embedder } = options;
    this.#models = new ModelSurroundings({ storage, ...(embedder && { embedder }) }, options.isolate.engine, () =>
      this.application(),
    );
  }

  /** Reads what is deployed. */
  static async open(options: ObjectClusterOptions): Promise<ObjectCluster> {
    const port = steadyPort(options.port);
    const secret = await port.registry().secret();
    await options.isolate.open?.(async () => secret);
    const cluster = new ObjectCluster({ ...options, port }, secret);
    await cluster.refresh();
    return cluster;
  }

  /** Takes the newest application there is. */
  refresh(): Promise<void> {
    return this.#known.refresh();
  }

  partition(key: PartitionKey): EmbeddingHandle {
    const partition: PartitionHandle = {
      apply: async (request, timeoutMs) => {
        try {
          const sent = { ...request, body: own(request.body) };
          return await this.#routed(key, request.id, true, (group, of) =>
            group.apply(sent, this.#waiting(timeoutMs, of)),
          );
        } catch (error) {
          return failedOutcome(error);
        }
      },
      get: (request, timeoutMs) =>
        this.#routed(key, request.id, false, (group, of) => group.get(request, this.#waiting(timeoutMs, of))),
    };
    return this.#models.around(partition);
  }

  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined> {
    const place: FeedPlace = {
      loadBytes: OBJECT_LOAD_BYTES,
      split: (chunk) => splitChunk(this.#engine, chunk),
      storedIds: (id, cluster) => this.#engine.storedIds?.(id, cluster),
      load: (key, load, timeoutMs) =>
        loadShards(this.#maps, key, load, (shard, sent) =>
          this.#asked(
            key,
            shard,
            true,
            (group) => group.load(toSend(sent), this.#waiting(timeoutMs, shard)),
            undefined,
          ),
        ),
      apply: (key, request, timeoutMs, caller) => this.partition(key).apply(request, timeoutMs, caller),
    };
    return feedPlace(place, input, options);
  }

  async searchPlain(key: PartitionKey, request: SearchRequest, timeoutMs: number): Promise<Answer | undefined> {
    if (this.#maps.of(key) !== undefined) return undefined;
    const sent: SentQuery = { number: 0, bytes: encodeNow(request), outputs: [] };
    const waiting = { timeoutMs, startMs: beganMs(request), gone: undefined };
    try {
      const reply = await this.#asked(key, WHOLE, false, searchPlain, { sent, waiting: this.#searching(waiting) });
      if ("result" in reply) return reply.result ?? undefined;
      learn(this.#maps, key, reply);
      return undefined;
    } catch (error) {
      throw serviceError(error);
    }
  }

  query(request: SearchRequest): QueryHandle {
    const known = this.#known;
    return new SteadyQuery({ number: () => known.numberHere, look: () => known.look() }, () => this.#query(request));
  }

  #query(request: SearchRequest): QueryHandle {
    const bytes = encodeNow(request);
    const query = this.#engine.query(bytes);
    return new ClusterQuery(query, this.#placeOf(query, bytes), beganMs(request));
  }

  #placeOf(query: Query, bytes: QueryBytes): QueryPlace {
    const sent = ({ embeddings, outputs }: Given): SentQuery => ({
      number: 0,
      bytes,
      ...(embeddings && { embeddings }),
      outputs,
    });
    return {
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      models: this.#models.ofQueries(),
      searchPartition: (key, given, waiting) => ({
        goOn: async () => {
          if (this.#maps.of(key) !== undefined) return { kind: "shards" };
          const search = (group: GroupCalls): Promise<ObjectReply<Answer>> =>
            group.search(sent(given), this.#searching(waiting));
          const reply = await this.#asked(key, WHOLE, false, search, undefined);
          if ("result" in reply) return { kind: "answer", answer: reply.result };
          learn(this.#maps, key, reply);
          return { kind: "shards" };
        },
        [Symbol.dispose]: () => undefined,
      }),
      searchBucket: (step, given, waiting) => this.#searchDirectory(query, sent(given), step, waiting),
      bucketsAtOnce: 1,
    };
  }

  /** What the groups of a directory find, some of them at a time. */
  async #searchDirectory(query: Query, sent: SentQuery, step: SearchStep, waiting: CallerWaiting): Promise<Merged> {
    const found = new FoundParts(query, step.floor);
    const deadline = Deadline.in(waiting.timeoutMs, waiting.startMs, waiting.gone);
    const pass = (error: unknown): void => {
      found.passDamage(error, 1);
      this.#options.onProblem?.(error);
    };
    const search = async (key: PartitionKey): Promise<void> => {
      const part = (shard: ShardName): Promise<ShardAnswer<Merged>> =>
        this.#answered(key, shard, (group) => group.searchPart(sent, found.floor, this.#searching(waiting, shard)));
      try {
        for (const { partial } of await gather(this.#maps, key, part)) found.add(partial);
      } catch (error) {
        pass(error);
      }
    };
    try {
      for await (const some of step.keys === undefined ? this.groups(step.bucket) : portions(step.keys)) {
        if (found.over || deadline.passed) return found.merged();
        await Promise.all(some.map(search));
      }
    } catch (error) {
      pass(error);
    }
    return found.merged();
  }

  /** The groups of a directory, as many at a time as are asked together. */
  groups(directory: number): AsyncGenerator<readonly PartitionKey[]> {
    return listedGroups(this.#options.port, directory);
  }

  get buckets(): number {
    return this.#options.directories;
  }

  bucketOf(key: PartitionKey): number {
    return directoryOf(key, this.buckets);
  }

  async checkVisit(visit: Visit, operation?: MassOperation): Promise<void> {
    await this.#known.look();
    visitNowhere(this.#engine, visit, operation);
  }

  async visit(
    visit: Visit,
    step: VisitStep,
    timeoutMs: number,
    gone?: AbortSignal,
    fence?: number,
  ): Promise<VisitPage> {
    const deadline = Deadline.in(timeoutMs, clock.now(), gone);
    const pages: VisitPage[] = [];
    let [documents, bytes] = [0, 0];
    let damage: string | undefined;
    const { isFirstOnly = false } = step;
    const damaged = (error: ServiceError): void => {
      damage = error.message;
      this.#options.onProblem?.(error.cause ?? error);
    };
    const walk = { port: this.#options.port, step, deadline, damaged };
    const next = await walkGroups(walk, async (key, from) => {
      const most = isFirstOnly ? 1 : step.documentsMax - documents;
      const bounds = { from, bytesMax: step.bytesMax - bytes };
      const asked = (documentsMax: number): Promise<VisitPage> =>
        visitShards(this.#maps, key, visit, { ...bounds, documentsMax }, (shard, of) =>
          this.#answered(key, shard, (group) =>
            group.visit(
              of,
              { ...bounds, documentsMax },
              { ...this.#waiting(deadline.remainingMs, shard), ...(fence && { fence }) },
            ),
          ),
        );
      const page = await pageOf(asked, most, documents === 0);
      if (page === undefined) return { next: from, isFull: true };
      pages.push(page);
      documents += page.documents;
      bytes += page.body.length;
      damage ??= page.damage;
      const isLeft = isFirstOnly && page.documents > 0;
      const isFull = documents >= step.documentsMax || bytes >= step.bytesMax;
      return { next: isLeft ? undefined : page.next, isFull };
    });
    const bodies = pages.map(({ body }) => body).filter(({ length }) => length > 0);
    const body = joinedBodies(bodies, visit.format);
    return { documents, body, ...(next && { next }), ...(damage !== undefined && { damage }) };
  }

  async applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<MassOutcome> {
    const applyWhere = (of: VisitStep, ms: number): Promise<MassOutcome> =>
      this.#applyWhere(visit, of, operation, Deadline.in(ms, undefined, gone));
    const partition = (key: PartitionKey): EmbeddingHandle => this.partition(key);
    return await applyWhereEmbedded(visit, step, operation, timeoutMs, { applyWhere, partition }, gone);
  }

  async #applyWhere(visit: Visit, step: VisitStep, operation: MassOperation, deadline: Deadline): Promise<MassOutcome> {
    const done = new MassCount();
    let told: Pick<MassOutcome, "apart" | "failure"> = {};
    const sent = { ...operation, body: own(operation.body) };
    const damaged = (error: ServiceError): void => {
      told = { failure: failedOutcome(error) };
      this.#options.onProblem?.(error.cause ?? error);
    };
    const walk = { port: this.#options.port, step, deadline, damaged };
    const next = await walkGroups(walk, async (key, from, number) => {
      const bounds = { from, documentsMax: step.documentsMax - done.documents, bytesMax: step.bytesMax };
      const apply = (group: GroupCalls): Promise<ObjectReply<MassOutcome>> =>
        group.applyWhere(visit, bounds, sent, this.#waiting(deadline.remainingMs));
      const outcome = await this.#appliedWhere(key, visit, bounds, sent, deadline, apply);
      done.addAll(outcome);
      const { apart, failure } = outcome;
      // Positions within an object have its own number of the partition.
      if (apart !== undefined) told = { apart: { ...apart, from: { ...apart.from, partition: number } } };
      if (failure !== undefined) told = { ...told, failure };
      const isOver = apart !== undefined || failure !== undefined;
      return { next: outcome.next, isFull: isOver || done.documents >= step.documentsMax };
    });
    return { ...done.told, ...(next && { next }), ...told };
  }

  /** An operation on documents of a group: by the group itself, or where it has shards document by document. */
  async #appliedWhere(
    key: PartitionKey,
    visit: Visit,
    bounds: ObjectStep,
    operation: MassOperation,
    deadline: Deadline,
    apply: (group: GroupCalls) => Promise<ObjectReply<MassOutcome>>,
  ): Promise<MassOutcome> {
    if (this.#maps.of(key) === undefined) {
      const reply = await this.#asked(key, WHOLE, true, apply, undefined);
      if ("result" in reply) return reply.result;
      learn(this.#maps, key, reply);
    }
    const ids = (of: Visit, within: ObjectStep): Promise<VisitPage> =>
      visitShards(this.#maps, key, of, within, (shard, shown) =>
        this.#answered(key, shard, (group) => group.visit(shown, within, this.#waiting(deadline.remainingMs, shard))),
      );
    return await applyToShards(visit, bounds, operation, deadline, { ids, partition: this.partition(key) });
  }

  async deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport> {
    try {
      await this.refresh();
      const { application, report } = await deployFenced(applicationPackage, { ...this.#setting(), base });
      this.#known.take(application);
      const told = await withMissingModels(report, application.bytes, this.#options);
      this.#known.note(application, told);
      return told;
    } catch (error) {
      throw serviceError(error);
    }
  }

  async checkDeployment(applicationPackage: Uint8Array): Promise<DeployReport> {
    await this.refresh();
    return await checkDeployment(applicationPackage, this.#setting());
  }

  #setting(): FencedSetting & ObjectClusterOptions {
    const validator = this.#options.makeEngine();
    return { ...this.#options, storage: this.#storage(), validator, documents: this, lookMs: OBJECTS_LOOK_MS };
  }

  applicationNumber: Cluster["applicationNumber"] = () => this.refresh().then(() => this.#known.number);

  applicationPackage(): Uint8Array | undefined {
    return this.#known.stored?.bytes;
  }

  application(): DeployReport | undefined {
    return this.#known.report;
  }

  readonly models: NonNullable<Cluster["models"]> = () => this.#models.states();

  /** Erases a group: its object is empty afterwards, and in no directory. */
  async erase(key: PartitionKey): Promise<Erasure> {
    const { port, recoverableMs } = this.#options;
    this.#maps.forget(key);
    const erasing = { writes: true, mayRepeat: true };
    const reply = await askGroup(port, objectName(key, 0), erasing, (group) => group.erase(), undefined);
    if ("failed" in reply) throw new ServiceError(reply.failed);
    const { ok: erasure } = reply as Extract<typeof reply, { readonly ok: unknown }>;
    return recoverableMs === undefined ? erasure : { ...erasure, recoverableMs };
  }

  async close(): Promise<void> {
    await this.#models.close();
  }

  get #engine(): DeployableEngine {
    return this.#options.isolate.engine;
  }

  /** The registry is what stores. */
  #storage(): Storage {
    return {
      buckets: this.#options.directories,
      secret: this.secret,
      openBucket: () => {
        throw new Error("a cluster of objects has no buckets of its own");
      },
      readApplication: () => this.#known.stored,
      storeApplication: () => undefined,
      close: () => undefined,
    };
  }

  #waiting(timeoutMs: number, { made }: Pick<ShardName, "made"> = WHOLE): ObjectWaiting {
    return { messages: MESSAGES, application: this.#known.numberHere, timeoutMs, ...(made !== 0 && { made }) };
  }

  #searching({ timeoutMs, startMs }: CallerWaiting, shard: ShardName = WHOLE): ObjectWaiting {
    return { ...this.#waiting(timeoutMs, shard), waitedMs: clock.now() - startMs };
  }

  /** What the object says that has a document. */
  #routed<Result>(
    key: PartitionKey,
    id: string,
    writes: boolean,
    call: (group: GroupCalls, shard: ShardName) => Promise<ObjectReply<Result>>,
  ): Promise<Result> {
    return route(this.#maps, key, id, (shard) =>
      this.#asked(key, shard, writes, (group) => call(group, shard), undefined),
    );
  }

  /** What a shard answers for its documents. */
  async #answered<Result>(
    key: PartitionKey,
    shard: ShardName,
    call: (group: GroupCalls) => Promise<ObjectReply<Result>>,
  ): Promise<ShardAnswer<Result>> {
    const reply = await this.#asked(key, shard, false, call, undefined);
    return "result" in reply ? { result: reply.result, shard: reply.shard ?? WHOLE } : undefined;
  }

  /** What an object answers. What a newer application was deployed for is answered by that, which is taken here too. */
  async #asked<Result, Given = undefined>(
    key: PartitionKey,
    shard: ShardName,
    writes: boolean,
    call: (group: GroupCalls, given: Given) => Promise<ObjectReply<Result>>,
    given: Given,
  ): Promise<{ readonly result: Result; readonly shard?: ShardRecord } | Moved> {
    const looking = this.#known.look();
    if (looking !== undefined) await looking;
    const name = objectName(key, shard.number);
    const reply = await askGroup(this.#options.port, name, { writes, mayRepeat: !writes }, call, given);
    if (reply.application > this.#known.number) await this.refresh();
    if ("failed" in reply) throw new ServiceError(reply.failed);
    if ("moved" in reply) return { moved: reply.moved ?? undefined };
    return { result: reply.ok, ...(reply.shard && { shard: reply.shard }) };
  }
}

interface PlainSearch {
  readonly sent: SentQuery;
  readonly waiting: ObjectWaiting;
}

/** Stands here, and is no closure of each search: the code of those does not stay (docs/decisions/0187). */
function searchPlain(group: GroupCalls, { sent, waiting }: PlainSearch): Promise<ObjectReply<Answer | null>> {
  return group.searchPlain(sent, waiting);
}

/** A query of this moment. */
function encodeNow(request: SearchRequest): QueryBytes {
  return encodeQuery(request, Math.floor(Date.now() / 1_000));
}
