/**
 * A cluster over threads: a bucket belongs to one thread, and every group to one bucket. Threads are never terminated:
 * they are asked to close and end by themselves. One that ends otherwise is started again.
 */
import { type ApplicationReport, asPackage, type FloorBytes, type Load, ServiceError } from "@brooklet/core";
import { bucketOf, type StoredApplication } from "@brooklet/store";
import type { DeployableEngine } from "./bucket-host.ts";
import { visitNowhere } from "./bucket-visit.ts";
import { Cancellation } from "./cancellation.ts";
import type {
  Answer,
  Cluster,
  DeployReport,
  FedOperation,
  FeedOptions,
  MassOperation,
  MassOutcome,
  OperationRequest,
  Outcome,
  PartitionHandle,
  PartitionKey,
  SearchRequest,
  SearchScope,
  Visit,
  VisitPage,
  VisitStep,
} from "./cluster.ts";
import { completePackage, deploymentUnderWay, hasStoredValue, objectionsTo, prepareDeployment } from "./deployment.ts";
import { applyWhereEmbedded, type EmbeddingHandle } from "./embedding.ts";
import { Expiry } from "./expiry.ts";
import { closed, failedOutcome, serviceError, withCause } from "./failure.ts";
import { type FeedPlace, feedPlace, splitChunk } from "./feeding.ts";
import { SEARCH_BUCKETS_OF_THREAD } from "./limits.ts";
import { ModelSurroundings, type ModelSurroundingsOptions, withMissingModels } from "./model-surroundings.ts";
import {
  type CallName,
  type CallRequest,
  type CallResult,
  Outbox,
  type Packing,
  sharedClockMs,
  type ThreadCall,
  type ThreadPort,
  type ThreadReply,
  threadEnded,
} from "./thread-messages.ts";
import { searchWidely, type WideSearchPlace } from "./wide-search.ts";

/** A thread that serves buckets. */
export interface BucketThread extends ThreadPort<ThreadCall, ThreadReply> {
  /** Settles with the error that ended it, or with nothing. */
  readonly ended: Promise<unknown>;
}

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
  /** Told of the application that is served: of the stored one at the start, and of each that is deployed. */
  readonly onApplication?: (application: DeployReport) => void;
  /** Told of every failure that no caller sees. */
  readonly onProblem: (error: unknown) => void;
}

/** A call under way takes at most so long to be told to the thread and back: deployments and closing. */
const PATIENT_MS = 10 * 60_000;

/** All partitions, in threads. */
export class ThreadCluster implements Cluster {
  readonly #options: ThreadClusterOptions;
  readonly #engine: DeployableEngine;
  readonly #threads: readonly Correspondent[];
  readonly #expiry: Expiry;
  readonly #models: ModelSurroundings;
  #report: ApplicationReport | undefined;
  #deploying = false;
  #closing: Promise<void> | undefined;

  constructor(options: ThreadClusterOptions) {
    const { storage, threads, startThread, makeEngine, onProblem } = options;
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
      return new Correspondent(start, onProblem);
    });
    this.#expiry = new Expiry({
      buckets: storage.buckets,
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
      search: (request, timeoutMs, gone) => {
        const packed = (by: Packing): SearchRequest => ({ ...request, body: by.copy(request.body) });
        return thread.call("search", packed, key, timeoutMs, gone);
      },
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
        const operations = load.operations as Uint8Array<ArrayBuffer>;
        const packed = (by: Packing): Load => ({ ...load, operations: by.give(operations) });
        return this.#threadOf(this.bucketOf(key)).call("load", packed, key, timeoutMs);
      },
      apply: (key, request, timeoutMs, caller) => this.partition(key).apply(request, timeoutMs, caller),
    };
    return feedPlace(place, input, options);
  }

  search(
    request: SearchRequest,
    timeoutMs: number,
    allow: (scope: SearchScope) => void,
    gone?: AbortSignal,
  ): Promise<Answer> {
    const place: WideSearchPlace = {
      engine: this.#engine,
      buckets: this.buckets,
      bucketOf: (key) => this.bucketOf(key),
      searchPartition: (key, of, ofMs, ofGone) => this.partition(key).search(of, ofMs, ofGone),
      searchBucket: (of, step, ofMs, ofGone) => {
        const packed = (by: Packing): CallRequest<"searchBucket"> => ({
          request: { ...of, body: by.copy(of.body) },
          step: { ...step, floor: by.copy(step.floor) as Uint8Array as FloorBytes },
        });
        return this.#threadOf(step.bucket).call("searchBucket", packed, undefined, ofMs, ofGone);
      },
      bucketsAtOnce: this.#threads.length * SEARCH_BUCKETS_OF_THREAD,
    };
    const wide = (of: SearchRequest, ms: number): Promise<Answer> => searchWidely(place, of, ms, allow, gone);
    return this.#models.search(request, timeoutMs, wide, gone);
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

  async deploy(applicationPackage: Uint8Array): Promise<DeployReport> {
    if (this.#deploying) throw deploymentUnderWay();
    this.#deploying = true;
    try {
      const { storage, makeEngine, modelRunner } = this.#options;
      const validator = makeEngine();
      const complete = await completePackage(applicationPackage, modelRunner, validator);
      const hasValue = (schema: string, field: string): Promise<boolean> => hasStoredValue(this, schema, field);
      const { application, report } = await prepareDeployment(complete, storage, validator, hasValue);
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

const DONE: Outcome = { status: 200 };

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** The calls to one thread, which is started again by the first call after it ended. */
class Correspondent {
  readonly #start: (cancelled: SharedArrayBuffer) => BucketThread;
  readonly #onProblem: (error: unknown) => void;
  readonly #pending = new Map<number, Pending>();
  readonly #cancellation = new Cancellation();
  #thread: { readonly outbox: Outbox<ThreadCall>; readonly ended: Promise<unknown> } | undefined;
  #calls = 0;
  #closed = false;

  constructor(start: (cancelled: SharedArrayBuffer) => BucketThread, onProblem: (error: unknown) => void) {
    this.#start = start;
    this.#onProblem = onProblem;
    // At once, so that no request pays for it with its deadline.
    this.#thread = this.#begin();
  }

  /** Sends a call; `packed` is what is asked, with its bytes packed. */
  call<Name extends CallName>(
    name: Name,
    packed: (by: Packing) => CallRequest<Name>,
    key: PartitionKey | undefined,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<CallResult<Name>> {
    if (this.#closed) return Promise.reject(closed());
    this.#thread ??= this.#begin();
    const { outbox } = this.#thread;
    const number = ++this.#calls;
    const answered = new Promise<CallResult<Name>>((resolve, reject) => {
      this.#pending.set(number, { resolve, reject });
      const request = packed(outbox);
      outbox.send({ number, name, key, request, timeoutMs, sentMs: sharedClockMs() } as ThreadCall);
    });
    return gone === undefined ? answered : this.#unlessGone(answered, number, gone);
  }

  /** Tells the thread when nobody waits for a call any more. */
  async #unlessGone<Result>(answered: Promise<Result>, number: number, gone: AbortSignal): Promise<Result> {
    const cancel = (): void => this.#cancellation.cancel(number);
    if (gone.aborted) cancel();
    gone.addEventListener("abort", cancel);
    try {
      return await answered;
    } finally {
      gone.removeEventListener("abort", cancel);
    }
  }

  /** Lets the thread finish what it has, and waits for its end. */
  async close(): Promise<void> {
    const thread = this.#thread;
    const closing = thread === undefined ? undefined : this.call("close", () => undefined, undefined, PATIENT_MS);
    this.#closed = true;
    // A thread that ended on its own has nothing left to close.
    await closing?.catch(this.#onProblem);
    await thread?.ended;
  }

  #begin(): { readonly outbox: Outbox<ThreadCall>; readonly ended: Promise<unknown> } {
    const thread = this.#start(this.#cancellation.memory);
    thread.receive((replies) => {
      for (const reply of replies) this.#settle(reply);
    });
    void thread.ended.then((error) => {
      this.#thread = undefined;
      if (error !== undefined) this.#onProblem(error);
      for (const { reject } of this.#pending.values()) reject(threadEnded(error));
      this.#pending.clear();
    });
    return { outbox: new Outbox(thread, setImmediate), ended: thread.ended };
  }

  #settle(reply: ThreadReply): void {
    if (reply.kind === "problem") {
      this.#onProblem(new Error(reply.text));
    } else if (reply.kind === "done") {
      for (const number of reply.numbers) this.#take(number)?.resolve(DONE as never);
    } else if (reply.kind === "result") {
      const { result, cause } = reply;
      const told = cause === undefined ? result : withCause(result as Outcome, new Error(cause));
      this.#take(reply.number)?.resolve(told as never);
    } else {
      const { error, cause } = reply;
      const fields = cause === undefined ? error : { ...error, cause: new Error(cause) };
      this.#take(reply.number)?.reject(new ServiceError(fields));
    }
  }

  #take(number: number): Pending | undefined {
    const pending = this.#pending.get(number);
    this.#pending.delete(number);
    return pending;
  }
}
