/**
 * A unit of the core's work, as its host sees it: it says what it lacks, is given it, and finishes. `Engine` is the
 * whole of what a partition asks of the core.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import type { FloorBytes, OperationBytes, PartialBytes, QueryBytes } from "./bytes.ts";
import type { EmbeddingWanted } from "./embedding.ts";
import type { Load, LoadResult, SplitChunk } from "./load.ts";
import type { Change } from "./manifest.ts";
import type { RunsWanted } from "./model-run.ts";
import type { ResultRoom } from "./result-room.ts";

/** One block of a segment. */
export interface BlockRef {
  readonly segment: number;
  readonly block: number;
}

/** What a task lacks. A pause lacks nothing: look at the deadline, serve others, ask again. */
export type Want =
  | { readonly kind: "pause" }
  | { readonly kind: "manifest"; readonly layout: number; readonly operation: number }
  | { readonly kind: "blocks"; readonly blocks: readonly BlockRef[] }
  /** One operation of the tail. */
  | { readonly kind: "operation"; readonly number: number }
  /** Models to be run, which takes its time: `RunsWanted`. The task waits for their outputs, through turns of others. */
  | { readonly kind: "models"; readonly wanted: RunsWanted }
  /** How far a time zone is ahead of UTC at a time in seconds: `encodeZoneOffset`. */
  | { readonly kind: "zone"; readonly name: string; readonly at: number };

const I32_BYTES = 4;

/** Seconds eastward of UTC as the core takes them; `undefined`: there is no such zone. */
export function encodeZoneOffset(seconds: number | undefined): Uint8Array {
  if (seconds === undefined) return new Uint8Array(0);
  const bytes = new Uint8Array(I32_BYTES);
  new DataView(bytes.buffer).setInt32(0, seconds, true);
  return bytes;
}

/** A unit of work. Disposing it is not optional: its memory is the core's. */
export interface Task<Output> {
  /** Whether the instance that worked on it is gone: nothing can be asked of it. */
  readonly lost: boolean;
  /** What is lacking; `undefined`: finish me. */
  wants(): Want | undefined;
  /** The next answer to the open want: the manifest, an operation, or one block after the other in the order wanted. */
  give(answer: Uint8Array): void;
  /**
   * The same for a block of `length` bytes, which `write` writes where it is going to be read: all of them, without a call to the
   * core. Whether `write` says that it did; if not, nothing is given.
   */
  fill(length: number, write: (room: Uint8Array) => boolean): boolean;
  /** How long the request took so far, for answers that tell it. Called before `finish`: the core has no clock. */
  elapsed(milliseconds: number): void;
  finish(): Output;
  [Symbol.dispose](): void;
}

/** Where a task works: a partition as it is now. */
export interface Place {
  /**
   * Which opening of its store this is: a number that no other has that one core sees. What is kept in memory is of one
   * incarnation: after an erasure or a restoration the same numbers stand for other things.
   */
  readonly incarnation: number;
  /** Number of the partition; 0: it does not exist yet. */
  readonly partition: number;
  /** `g:alice` or `n:17`. */
  readonly key: string;
  readonly layout: number;
  /** Number of the last operation of the tail; 0: none. */
  readonly operation: number;
}

/** One write as it came over the wire. `id` is the whole document id; `rawPath` is echoed in answers. */
export interface OperationRequest {
  readonly kind: "put" | "update" | "remove";
  readonly rawPath: string;
  readonly id: string;
  /** The id is that of one stored document, which may name its content cluster: no other is meant. */
  readonly isStored?: true;
  /** What the request says beside its body, whose own word counts if it is `undefined`. */
  readonly create: boolean | undefined;
  readonly condition: string;
  readonly body: Uint8Array;
  /** The embeddings of the texts that were wanted for it (docs/abi.md, embeddings); nothing if none were. */
  readonly embeddings?: Uint8Array;
  /** For the host: it is decided and not written, as only what it lacks, or why it is refused, is wanted. */
  readonly trial?: boolean;
}

/** A write, checked and in the form the tail stores. */
export interface EncodedOperation {
  readonly schema: string;
  readonly operation: OperationBytes;
}

/** What a write comes to, decided on the document as it is now. */
export interface Mutation {
  /** What the tail stores; `undefined`: there is nothing to write. */
  readonly operation: OperationBytes | undefined;
  /** Undefined fields were passed over, as the application wants. */
  readonly ignoredFields: boolean;
  /** The application does not store such a document. */
  readonly ignoredOperation: boolean;
  /** Texts that have to be embedded before (`decodeWanted`); then nothing is written. */
  readonly wanted: Uint8Array | undefined;
}

/** One query: the parameters of the URL or form in their order, and the JSON body (empty: none). */
export interface SearchRequest {
  readonly properties: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** Inputs that are vectors, by the names of their parameters, beside the others: their cells, for their digits. */
  readonly vectors?: readonly (readonly [name: string, cells: Float32Array])[];
  /** The `Accept` header: which format the answer may have. None: JSON. */
  readonly accept?: string;
  /** For the host: how long the caller has waited for it by now, in queues, which counts as time it took. */
  readonly waitedMs?: number;
}

/** A read of one document. */
export interface GetRequest {
  readonly rawPath: string;
  readonly id: string;
  /** The id is that of one stored document, which may name its content cluster: no other is meant. */
  readonly isStored?: true;
  readonly fieldSet: string;
  readonly tensorFormat: string;
}

/**
 * How the documents of a page are written: JSON with commas between them, JSON lines, or only their ids (`texts`). Of a shard
 * also as operations of its tail, or as they are shown, each after its id (`text`, `bytes`). A page of the `tail` has no documents: what
 * was done to some and is not folded, as JSON with commas, the newest first; of a shard each after its place in that order.
 */
export type PageFormat = "json" | "jsonl" | "ids" | "operations" | "namedJson" | "namedJsonl" | "tail" | "namedTail";

/** Which documents of a large group a shard has: those whose ids have a hash that ends with these bits. */
export interface ShardBits {
  readonly bits: number;
  /** What they are; the number of the shard. */
  readonly number: number;
}

/** What is visited of a partition, and how it is shown. */
export interface Visit {
  /** Types of stored documents that are visited, with their content cluster where their ids name it. */
  readonly types: readonly string[];
  /** Namespace of the ids; empty: any. */
  readonly namespace: string;
  /** Selection that must hold; empty: all. */
  readonly selection: string;
  readonly fieldSet: string;
  readonly tensorFormat: string;
  readonly format: PageFormat;
  /** Documents last written from here on, µs since the epoch. */
  readonly fromMicros?: number;
  /** And before here; nothing or 0: until now. */
  readonly toMicros?: number;
  /** Whether removed documents are shown too. */
  readonly includeRemoves?: boolean;
  /** The only documents that are looked at, where they are written as operations. */
  readonly shard?: ShardBits;
}

/** Where a page begins and how long it may become. */
export interface PageBounds {
  /** The id after which to begin; empty: at the start. */
  readonly after: string;
  readonly documentsMax: number;
  /** Bytes after which the page ends. */
  readonly bytesMax: number;
}

/** Some documents of a partition, in the order of their ids. */
export interface PartitionPage {
  /** Nothing comes after it. */
  readonly complete: boolean;
  /** The id of the last document looked at: the next page begins after it. */
  readonly last: string;
  readonly documents: number;
  readonly bytesRead: number;
  readonly body: Uint8Array;
}

/** A rendered answer. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Bytes read from the store for it. */
  readonly bytesRead: number;
  /** Bytes looked at, resident ones included. */
  readonly bytesScanned: number;
}

/** Which partitions a query addresses: an answer if it is refused, else their keys; no keys mean all there are. */
export type QueryScope =
  | { readonly kind: "refused"; readonly answer: Answer }
  | { readonly kind: "keys"; readonly keys: readonly string[] }
  | { readonly kind: "all" };

/**
 * A query, open in one instance of the core: read, compiled and given what its models made once, for as many partitions as
 * it addresses. Should that instance be lost it is opened again, unseen. Disposing it is not optional: its memory is the
 * core's.
 */
export interface Query {
  /** Which partitions it addresses; what is wrong with its parameters is its answer. */
  readonly scope: QueryScope;
  /** The texts that must be embedded before it is searched. */
  readonly wanted: readonly EmbeddingWanted[];
  /** What it allows itself, milliseconds; without bound if it is refused. */
  readonly timeoutMs: number;
  /** Its answer, if it is refused whatever is stored. */
  refusal(): Answer | undefined;
  /** The value of a parameter, by any of its names; those of its query profile count. */
  parameter(name: string): string | undefined;
  /** Takes the embeddings of the texts that were wanted (`encodeEmbeddings`). */
  giveEmbeddings(embeddings: Uint8Array): void;
  /** Takes outputs of models (`encodeModelResults`), beside those it has. */
  giveOutputs(outputs: Uint8Array): void;
  /** The answer of the only partition that is addressed. */
  search(place: Place): Task<Answer>;
  /** What one of the partitions that are addressed finds that comes before the floor. */
  /** `shard`: the number of the partition among those that its group has, if it has several. */
  part(place: Place, floor: FloorBytes, shard?: number): Task<PartialBytes>;
  /** `damaged`: how many partitions more could not be searched, as what is stored of them is damaged. */
  merge(floor: FloorBytes, partials: readonly PartialBytes[], damaged?: number): Task<Merged>;
  /** The answer, once everything was found. */
  answer(partials: readonly PartialBytes[]): Task<Answer>;
  [Symbol.dispose](): void;
}

/** What some partitions found together. */
export interface Merged {
  /** Nothing more can change the answer: the query is refused, or its time is over. */
  readonly over: boolean;
  /** For the searches that follow. */
  readonly floor: FloorBytes;
  readonly partial: PartialBytes;
}

/** Why a partition is compacted. */
export type CompactReason = "fold" | "schema" | "settle" | "split";

/** What a compaction may write and forget. */
export interface CompactBounds {
  readonly firstFreeSegment: number;
  /** Removes before this are forgotten, µs since the epoch. */
  readonly forgetBeforeMicros: number;
  /** Of a split: the documents that stay. */
  readonly kept?: ShardBits;
}

/** A request below `/model-evaluation/v1`. */
export interface EvaluationRequest {
  /** The address of that, as clients have it, with a slash at the end. */
  readonly base: string;
  /** What comes after it in the path, decoded. */
  readonly path: string;
  readonly parameters: readonly (readonly [name: string, value: string])[];
}

/** What a partition asks of the core. */
export interface Engine {
  /**
   * The ids under which a document is stored whose type is, or was, in several content clusters, of all or of one; nothing: under
   * its own alone.
   */
  storedIds?(id: string, cluster?: string): readonly string[] | undefined;
  /** The texts that must be embedded before an operation is encoded. */
  embeddings(request: OperationRequest): Task<readonly EmbeddingWanted[]>;
  /** Opens a query (`encodeQuery`). */
  query(bytes: QueryBytes): Query;
  encode(request: OperationRequest, nowMicros: number): Task<EncodedOperation>;
  /** `queued`: the newest operation on the document that is not committed yet. */
  mutate(
    place: Place,
    nowMicros: number,
    queued: OperationBytes | undefined,
    request: OperationRequest,
  ): Task<Mutation>;
  /** The operations that stand whole in a chunk of a feed. */
  split(chunk: Uint8Array): Task<SplitChunk>;
  /**
   * `firstFreeSegment`: from which number on to write segments; 0: make operations for the tail. `room`: where the result
   * stands, until the next that stands there.
   */
  load(place: Place, nowMicros: number, firstFreeSegment: number, load: Load, room?: ResultRoom): Task<LoadResult>;
  get(place: Place, request: GetRequest): Task<Answer>;
  /** What `/model-evaluation/v1` answers. */
  evaluate(request: EvaluationRequest): Task<Answer>;
  visit(place: Place, nowSeconds: number, request: Visit, bounds: PageBounds): Task<PartitionPage>;
  compact(place: Place, reason: CompactReason, bounds: CompactBounds, room?: ResultRoom): Task<Change | undefined>;
}
