/**
 * Where distribution plugs in: the gateway knows partitions only through this.
 *
 * A `Cluster` is a process that answers itself (`LocalCluster`), worker threads (`ThreadCluster`), or objects elsewhere.
 * Everything that means something (documents, queries, answers) passes as the bytes it came in, or leaves as.
 */
import type {
  Answer,
  DeployReport,
  EvaluationRequest,
  FloorBytes,
  GetRequest,
  LaterOperation,
  Load,
  OperationRequest,
  SearchRequest,
  Visit,
} from "@brooklet/core";
import type { StoredBackup, StoredSession } from "@brooklet/store";

import type { SharedStoreFigures, ThreadFigures } from "./health/figures.ts";
import type { ModelState } from "./health/model-state.ts";

export type {
  Answer,
  DeployReport,
  EvaluationRequest,
  GetRequest,
  OperationRequest,
  SearchRequest,
  StoredSession,
  Visit,
};

/**
 * The key of a partition: the `g=` group or the `n=` number of its documents, exactly as in the id. All documents
 * without either are in one partition, `d:`, which no search of a group can name.
 */
export type PartitionKey = `g:${string}` | `n:${string}` | "d:";

/** The partitions a query addresses; no keys: all there are. */
export interface SearchScope {
  readonly keys?: readonly PartitionKey[];
}

/** A part of a query: some partitions of one bucket. */
export interface SearchStep {
  readonly bucket: number;
  /** The partitions; every one of the bucket if there are no keys. */
  readonly keys?: readonly PartitionKey[];
  /** Hits below it are not wanted. */
  readonly floor: FloorBytes;
  /** The only key is the name of a shard, of the ones that had its name that which an attempt made. No cluster is asked so. */
  readonly made?: number;
}

/** Where a visit of a bucket stands: partitions come in the order of their numbers, documents in that of their ids. */
export interface VisitPosition {
  /** Number of the partition that is visited; those before it are done. */
  readonly partition: number;
  /** The id of its document after which to go on; empty: at its start. */
  readonly after: string;
}

/** A step of a visit through one bucket. */
export interface VisitStep {
  readonly bucket: number;
  /** The only partition that is visited; every one of the bucket if there is none. */
  readonly key?: PartitionKey;
  readonly from: VisitPosition;
  readonly documentsMax: number;
  /** Bytes after which the step ends. */
  readonly bytesMax: number;
  /** Only the first document of each partition is visited: whether it has any, and whose they are. */
  readonly isFirstOnly?: boolean;
  /** What was known here a moment ago is enough, where several processes share what is stored. */
  readonly isEventual?: boolean;
  /** The key is the name of a shard, and only that is visited. No cluster is asked so. */
  readonly isShard?: boolean;
  /** The moment that selections take for now, seconds since the epoch, where it is another. No cluster is asked so. */
  readonly nowSeconds?: number;
}

/** What a step of a visit came to. */
export interface VisitPage {
  readonly documents: number;
  readonly body: Uint8Array;
  /** Where the next step begins; nothing: the bucket is done. */
  readonly next?: VisitPosition;
  /** Stored data that is damaged was passed over: what the documents are not. */
  readonly damage?: string;
  /** It ended before a group whose documents are in several shards. No cluster gives it away. */
  readonly large?: PartitionKey;
}

/** What is done to each document that a visit selects. */
export interface MassOperation {
  readonly kind: "update" | "remove";
  readonly rawPath: string;
  readonly body: Uint8Array;
}

/** What came of a step of an operation on many documents. */
export interface MassOutcome {
  /** Documents that were selected and the operation was done to, or that were gone by then. */
  readonly documents: number;
  /** How many of them the selection of their content cluster does not let in as they would become: they are as they were. */
  readonly ignored?: number;
  /** Where to go on: after the last of these, so that nothing is done twice. */
  readonly next?: VisitPosition;
  /** Documents after these, the first of which has texts to embed: nothing was done to them yet, no cluster leaves them so. */
  readonly apart?: Apart;
  /** Why it stopped before a document: neither that it was gone, nor that it was not selected any more. */
  readonly failure?: Outcome;
  /** It ended before the rest of a group whose documents are in several shards. No cluster leaves it so. */
  readonly large?: PartitionKey;
}

/** Documents of a partition that follow one another. */
export interface Apart {
  readonly key: PartitionKey;
  readonly ids: readonly string[];
  /** Where they begin. */
  readonly from: VisitPosition;
}

/** What came of a write: 200, or the status and reason of its refusal. */
export interface Outcome {
  readonly status: number;
  /** Stable code of the refusal (`INVALID_DOCUMENT`). */
  readonly code?: string;
  /** One sentence for the client. */
  readonly message?: string;
  /** Of a refusal: whether the operation certainly did not happen. */
  readonly outcome?: "not_applied" | "unknown";
  /** Undefined fields were passed over, as the application wants. */
  readonly ignoredFields?: boolean;
  /** The application does not store such documents: nothing was written. */
  readonly ignoredOperation?: boolean;
  /** With the status `WANTS_EMBEDDINGS`, which no cluster gives away: the texts, as the core wrote them. */
  readonly wanted?: Uint8Array;
}

/** What came of one operation of a load that is not simply done. */
export type LoadOutcome =
  | { readonly index: number; readonly outcome: Outcome }
  | { readonly index: number; readonly later: LaterOperation };

/** What came of one operation of a feed. */
export interface FedOperation {
  /** Which of the feed it is, from 0. */
  readonly number: number;
  /** The id of its document; empty if it names none. */
  readonly id: string;
  readonly outcome: Outcome;
}

/** How to feed. */
export interface FeedOptions {
  /** The longest that an operation may take once it was read. */
  readonly timeoutMs: number;
  /** Bytes of operations that were read and are not answered yet; no more is read meanwhile. */
  readonly heldBytes?: number;
  /** The partitions that may be written; operations on documents of others are refused. Any, unless it is said. */
  readonly keys?: ReadonlySet<PartitionKey>;
  /** The only content cluster that is written; all that have the types, unless it is said. */
  readonly cluster?: string;
  /** When it is aborted nobody waits for the outcomes: what is not begun is not done. */
  readonly gone?: AbortSignal;
}

/** Who waits for an answer. It is asked only where what is waited for takes long. */
export interface Caller {
  /** Aborted when nobody waits any more; nothing where that cannot be told. */
  readonly gone: AbortSignal | undefined;
}

/** A partition, seen across a thread or a network. Holding one is being allowed to use it. */
export interface PartitionHandle {
  /**
   * Acknowledged only after the commit is on stable storage. What nobody waits for any more while its texts are embedded is
   * not written.
   */
  apply(request: OperationRequest, timeoutMs: number, caller?: Caller): Promise<Outcome>;
  get(request: DocumentRead, timeoutMs: number): Promise<Answer>;
}

/** A read of one document. */
export interface DocumentRead extends GetRequest {
  /** What was known here a moment ago is enough, where several processes share what is stored. */
  readonly isEventual?: boolean;
}

/** A query that is open: it was read once, and can be asked about and searched. Its memory is the core's. */
export interface QueryHandle {
  /** The partitions it addresses; `undefined`: it is refused, and its answer says why. */
  readonly scope: SearchScope | undefined;
  /** What its stages took, milliseconds by name, asked when it was answered; nothing where that is not measured. */
  readonly stageMs?: Readonly<Record<string, number>> | undefined;
  /** The value of a parameter, by any of its names; those of its query profile count. */
  parameter(name: string): string | undefined;
  /**
   * Its answer, from whatever partitions it addresses. `timeoutMs` is counted from when the caller began to wait. When `gone`
   * is aborted nobody waits for the answer: it is not searched for any longer.
   */
  search(timeoutMs: number, gone?: AbortSignal): Promise<Answer>;
  [Symbol.dispose](): void;
}

/** Packages that were sent and wait to be activated, where not one process alone is told of them. */
export interface DeploySessions {
  /** Keeps a package that was sent while the application of number `base` was deployed; the number of its session. */
  add(applicationPackage: Uint8Array, base: number): Promise<number>;
  get(session: number): Promise<StoredSession | undefined>;
  /** Notes that the package of a session was found to be deployable. */
  prepare(session: number): Promise<void>;
  /** Forgets one that was activated; those of others go by age. */
  remove?(session: number): void;
}

/** A receipt: what was stored of a group is not there any more. */
export interface Erasure {
  readonly key: string;
  /** When it was erased, milliseconds since the epoch. */
  readonly erasedAt: number;
  /** How many documents there were; nothing: they were not counted. */
  readonly documents?: number;
  /** How long the platform can still bring it back, in milliseconds; nothing: it cannot. */
  readonly recoverableMs?: number;
  /** Backups that were made before, and have it until they are removed. */
  readonly backups?: readonly StoredBackup[];
  /** Its partitions, where it had several. */
  readonly partitions?: readonly string[];
}

/** What is known of what was erased when nothing of it is left. */
export interface Purge {
  /** When its bytes were gone from the files, milliseconds since the epoch; nothing: that was waited for in vain. */
  readonly goneAt?: number;
  /** The names of the files. */
  readonly files: readonly string[];
  /** The key that it was encrypted with is gone, from the log of its file, too. */
  readonly keyDestroyed: boolean;
}

/** What is stored of a group. */
export interface GroupUsage {
  /** How many there are; nothing: they cannot be counted, as something of them is damaged or a query profile hides some. */
  readonly documents?: number;
  /** Bytes of its segments and operations. */
  readonly bytes: number;
}

/** What a thread did and holds, and the searches that are with it and wait for it. */
export type ClusterFigures = ThreadFigures & { readonly searchesRunning: number; readonly searchesQueued: number };

/** All partitions of an application. */
export interface Cluster {
  /** Of a cluster with several gateways. */
  readonly sessions?: DeploySessions;
  /** The partition of a group; it need not exist. */
  partition(key: PartitionKey): PartitionHandle;
  /** Opens a query: of whatever partitions its parameters name, which the core finds. Throws if nothing is deployed. */
  query(request: SearchRequest): QueryHandle;
  /**
   * The answer to a query that seems to be of one partition alone, without opening it here: it is opened where it is searched, once.
   * Nothing: it is not of that partition alone, or asks models, and has to be opened by `query`. Where opening costs little, there
   * is none of it.
   */
  searchPlain?(key: PartitionKey, request: SearchRequest, timeoutMs: number): Promise<Answer | undefined>;
  /** The answer below `/model-evaluation/v1`, where models are evaluated by themselves. */
  evaluate?(request: EvaluationRequest, timeoutMs: number): Promise<Answer>;
  /**
   * Why a search of a partition, or of any, would be refused at present; nothing: it would not be. Asked before anything is read
   * of a request.
   */
  overload?(key?: PartitionKey): string | undefined;
  /** Hears of a search that was refused with what `overload` told of the same: while there are such, an overload has not ended. */
  countRefusal?(key?: PartitionKey): void;
  /** What is wrong with it, each in one sentence; nothing: a query was just answered and a write was stored within the last minute. */
  health?(): Promise<readonly string[]>;
  /** What is stored of a group, counted now. */
  usage?(key: PartitionKey): Promise<GroupUsage>;
  /** What each of its threads did and holds. */
  figures?(): Promise<readonly ClusterFigures[]>;
  /** What is known of the models of its application, where it has any. */
  models?(): Promise<readonly ModelState[]>;
  /** Where the buckets are in a store that several servers share: what was asked of that. */
  sharedStore?(): SharedStoreFigures;
  /** How many buckets there are. A partition is in `bucketOf` its key, for good. */
  readonly buckets: number;
  bucketOf(key: PartitionKey): number;
  /** Random bytes that stay the same as long as the data: continuations are sealed with them. */
  readonly secret: Uint8Array;
  /**
   * Does the operations of a feed: JSON objects one after the other, on a line each or not, or in one list. Tells what
   * came of each, in no order; those on one document are done in the order they stand. Iterating slowly slows the feed
   * down. Throws, after everything before it was told, where the feed is no list of objects.
   */
  feed(
    input: AsyncIterable<Uint8Array>,
    options: FeedOptions,
  ): AsyncGenerator<readonly FedOperation[], void, undefined>;
  /** Throws what is wrong with a visit, and with what is to be done to its documents, whatever there is to visit. */
  checkVisit(visit: Visit, operation?: MassOperation): Promise<void>;
  /** Documents of a bucket from a position on, until the step is full, its time is over, or nobody waits for it any more. */
  visit(visit: Visit, step: VisitStep, timeoutMs: number, gone?: AbortSignal): Promise<VisitPage>;
  /** Updates or removes the documents a visit selects, as long as somebody waits for it; the selection is looked at again when each is written. */
  applyWhere(
    visit: Visit,
    step: VisitStep,
    operation: MassOperation,
    timeoutMs: number,
    gone?: AbortSignal,
  ): Promise<MassOutcome>;
  /**
   * Erases a group whole, in one operation: what was acknowledged before is gone for everybody, what comes after it belongs to
   * the next group of that name. Erasing what is not there is no mistake.
   */
  erase(key: PartitionKey): Promise<Erasure>;
  /** Waits until what was erased is gone from the files. Nothing of it: the platform says when that is. */
  purge?(erasure: Erasure): Promise<Purge>;
  /**
   * Validates, stores and activates an application package (docs/abi.md, Package): in the place of the application of number `base`
   * and of no other, where that is said.
   */
  deploy(applicationPackage: Uint8Array, base?: number): Promise<DeployReport>;
  /** The number of the newest application there is, whoever deployed it; 0: none is. */
  applicationNumber(): Promise<number>;
  /** Says what deploying a package would say, or throws what it would throw: nothing is stored, and nothing is served otherwise. */
  checkDeployment(applicationPackage: Uint8Array): Promise<DeployReport>;
  /** The package that is deployed, as it was given. */
  applicationPackage(): Uint8Array | undefined;
  /** What is deployed, if anything is. */
  application(): DeployReport | undefined;
  /** Finishes what is under way and lets go of the files. */
  close(): Promise<void>;
}

/** What an operation is about: partitions, or all that are in a bucket. */
export type GateTarget = { readonly keys: readonly PartitionKey[] } | { readonly bucket: number };

/**
 * What stands around the operations of a cluster whose partitions are not all in this process for good: it brings what an
 * operation needs before its turn, and holds its answer back until that is known to be true.
 */
export interface Gate {
  /**
   * Does `work`, which reads or writes partitions, perhaps more than once if what it did before did not happen. What it yields
   * is given back when everybody may know it; after `timeoutMs` nobody waits any more. `work` is told what is left of that.
   */
  pass<Result>(
    target: GateTarget,
    kind: GateKind,
    timeoutMs: number,
    work: (leftMs: number) => Promise<Result>,
  ): Promise<Result>;
  /** Who is to write a partition instead of this process; nothing: this one. */
  elsewhere?(key: PartitionKey): PartitionWriter | undefined;
  /** Brings all of a partition for work that nobody waits for, and keeps it until what it gives is called. */
  hold(key: string): Promise<() => void>;
  /** Whether this process is to look after a bucket: whether documents are past their time, for one. */
  maintains(bucket: number): boolean;
  /** What is written while a deployment looks, here and by others, of what is written here alone. */
  written?(own: WrittenDocuments): WrittenDocuments;
}

/** What is written while it is looked through what is stored, by all who write. */
export interface WrittenDocuments {
  /** Begins: what is written from here on is looked at. */
  begin(): Promise<void>;
  /** Which visit selects what was written since then, or since the last call. `holds`: writes wait for another application, or `release`. */
  selecting(visits: readonly Visit[], holds: boolean): Promise<number | undefined>;
  release(): Promise<void>;
}

/**
 * What goes through a gate: a read sees all that was acknowledged before it began, unless it is `eventual`: then what was known here a
 * moment ago is enough.
 */
export type GateKind = "read" | "eventual" | "write";

/** Whoever writes a partition. Nothing: it could not be reached, and certainly did nothing. */
export interface PartitionWriter {
  apply(request: OperationRequest, timeoutMs: number): Promise<Outcome | undefined>;
  load(load: Load, timeoutMs: number): Promise<readonly LoadOutcome[] | undefined>;
}

/** A gate that is always open. */
export const OPEN_GATE: Gate = {
  pass: (_, __, timeoutMs, work) => work(timeoutMs),
  hold: async () => () => undefined,
  maintains: () => true,
  written: (own) => own,
};
