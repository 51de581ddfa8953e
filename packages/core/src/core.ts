/**
 * The core as typed calls over opaque bytes. A trap costs the request that met it and the cache; the next request finds
 * a fresh instance with the last deployed package.
 */
import { TASK_KIND } from "../wasm/task-kind.js";
import { asOperation, type OperationBytes, type PackageBytes, type QueryBytes } from "./bytes.ts";
import { CoreTask } from "./core-task.ts";
import { decodeWanted, type EmbeddingWanted } from "./embedding.ts";
import { Reader, Writer } from "./frame.ts";
import { Instance, type RawInstance } from "./instance.ts";
import { decodeLoad, decodeSplit, type Load, type LoadResult, type SplitChunk } from "./load.ts";
import { type Change, decodeChange } from "./manifest.ts";
import { asStored, type DeploymentFacts, type ModelAddresses, withFacts } from "./package.ts";
import { writePlace } from "./place.ts";
import { type Live, ResidentQuery } from "./query.ts";
import type { ResultRoom } from "./result-room.ts";
import type { ServiceError } from "./service-error.ts";
import { type StoredTypes, storedIdsOf, storedTypesOf } from "./stored-ids.ts";
import type {
  Answer,
  CompactBounds,
  CompactReason,
  EncodedOperation,
  Engine,
  EvaluationRequest,
  GetRequest,
  Mutation,
  OperationRequest,
  PageBounds,
  PartitionPage,
  Place,
  Query,
  ShardBits,
  Task,
  Visit,
} from "./task.ts";

const PAGE_FORMAT = {
  json: 0,
  jsonl: 1,
  ids: 2,
  operations: 3,
  namedJson: 4,
  namedJsonl: 5,
  tail: 6,
  namedTail: 7,
} as const;
const OPERATION = { put: 1, update: 2, remove: 3 } as const;
const REASON = { fold: 1, schema: 2, settle: 3, split: 4 } as const;
/** What stands for `create` in a request, as said beside the body. */
const CREATE_UNSAID = 0;
const CREATE = 1;
const CREATE_NOT = 2;
const FLAG_IGNORED_FIELDS = 1;
const FLAG_IGNORED_OPERATION = 2;
const FLAG_WANTS_EMBEDDINGS = 4;
const NOTHING = new Uint8Array();

/** An embedder of services.xml: `prepend/query`, `transformer-model@path` and their kin, each with its value. */
export interface EmbedderConfig {
  readonly id: string;
  readonly type: string;
  readonly settings: readonly (readonly [path: string, value: string])[];
}

/** A language model of services.xml, with the settings that were given, in order. */
export interface LanguageModelConfig {
  readonly id: string;
  readonly settings: readonly (readonly [name: string, value: string])[];
}

/** A field generator of services.xml, and the id of its language model. */
export interface GeneratorConfig {
  readonly id: string;
  readonly provider: string;
}

/** A search chain of services.xml. */
export interface SearchChainConfig {
  readonly id: string;
  /** What answers instead of hits: a model that is given them, or a model alone; nothing where it searches and no more. */
  readonly searcher?: "rag" | "llm";
  readonly settings: readonly (readonly [name: string, value: string])[];
}

/** What is deployed, as the core reports it. */
export interface DeployReport {
  readonly schemas: readonly {
    readonly name: string;
    readonly cluster: string;
    readonly fields: readonly {
      readonly name: string;
      readonly type: string;
      /** Hits show a teaser of it, tokens, or the elements that matched. */
      readonly abridged?: boolean;
      /** It is searched by its words. */
      readonly words?: boolean;
      /** How far apart its vectors are. */
      readonly metric?: string;
      /** The server makes it of other fields. */
      readonly made?: boolean;
      /** What makes it a vector; empty: the only embedder there is. */
      readonly embedder?: string;
      /** What is cut into its pieces, and how: the same for fields of the same pieces. */
      readonly pieces?: string;
    }[];
    /** The documents of it that are removed by and by, and how often it is looked for them. */
    readonly garbageCollection?: { readonly selection: string; readonly intervalSeconds: number };
    readonly rankProfiles?: readonly string[];
    /** Whether putting a document of it takes embeddings. */
    readonly embeds?: boolean;
    /** The type in the ids of its stored documents, where that is not its name: it names the content cluster. */
    readonly storedType?: string;
  }[];
  readonly clusters: readonly { readonly name: string; readonly types: readonly string[] }[];
  /** The embedders of services.xml, with the settings that were given, in order. */
  readonly embedders?: readonly EmbedderConfig[];
  /** The language models of services.xml. */
  readonly languageModels?: readonly LanguageModelConfig[];
  /** The field generators of services.xml, each with the language model that it asks. */
  readonly generators?: readonly GeneratorConfig[];
  /** The search chains of services.xml. */
  readonly searchChains?: readonly SearchChainConfig[];
  readonly warnings: readonly string[];
  /** Of a package that was restored: what its deployment would be refused for now. */
  readonly objections?: readonly string[];
  /** What has to be fed again after this change of the application. */
  readonly refeed?: readonly RefeedAction[];
  /** Changes that are refused where a stored document has a value of the field: the host looks, or refuses. */
  readonly unlessStored?: readonly UnlessStored[];
  /** Partitions that were last written with an earlier deployment than this may hold documents that are gone. */
  readonly erasedFrom?: number;
  /** The schemas that segments may have: all others are of documents that are gone. */
  readonly stored?: readonly string[];
  readonly fingerprint: string;
}

/** A change after which the documents of a type have to be fed again, in the words of the deploy interface. */
export interface RefeedAction {
  readonly name: string;
  readonly documentType: string;
  readonly clusterName: string;
  readonly messages: readonly string[];
}

/** A change that is refused unless no stored document has a value of the field. */
export interface UnlessStored {
  readonly schema: string;
  readonly field: string;
  readonly refusal: string;
  readonly warning: string;
}

/** How a core is made. */
export interface CoreOptions {
  /** Makes an instance of the module. */
  readonly instantiate: () => RawInstance;
  /** Budget of the resident blocks. */
  readonly cacheBytes: number;
  /** 16 secret bytes: what continuations are sealed with. Without them anyone can make one. */
  readonly sealKey?: Uint8Array;
  /**
   * Bytes of documents in a segment, about; what folding and joining segments takes is some times that. As large as the limits let
   * segments be by default.
   */
  readonly segmentBytes?: number;
  /** Told of every trap, for the operator's log; `error.cause` is what was thrown. */
  readonly onTrap?: (error: ServiceError) => void;
}

/** A core with at most one application. */
export class Core implements Engine {
  readonly #options: CoreOptions;
  #live: Live | undefined;
  #package: PackageBytes | undefined;
  #storedTypes: StoredTypes = new Map();

  readonly #liveNow = (): Live => this.#now();

  constructor(options: CoreOptions) {
    this.#options = options;
  }

  /**
   * Validates and activates a package; the one before stays if this one is refused. With `facts` it is a deployment that is
   * going to be stored, with what `history()` then says.
   */
  deploy(applicationPackage: PackageBytes, facts?: DeploymentFacts): DeployReport {
    const { instance } = this.#now();
    const given = facts === undefined ? applicationPackage : withFacts(applicationPackage, facts);
    const report = JSON.parse(instance.call(() => instance.core.deploy(given))) as DeployReport;
    this.#package = applicationPackage.slice() as PackageBytes;
    this.#live = { instance };
    this.#storedTypes = storedTypesOf(report);
    return report;
  }

  /**
   * Activates a package that was deployed and stored before, by whichever release: what this one would refuse for its form
   * is told in `objections` of the report.
   */
  restore(applicationPackage: PackageBytes): DeployReport {
    return this.deploy(asStored(applicationPackage));
  }

  /** Notes how the deployed application was stored: an instance that takes the place of one that trapped reads that. */
  keep(stored: PackageBytes): void {
    this.#package = asStored(stored).slice() as PackageBytes;
  }

  /** Gives up what is deployed. */
  undeploy(): void {
    this.#live = undefined;
    this.#package = undefined;
    this.#storedTypes = new Map();
  }

  storedIds(id: string, cluster?: string): readonly string[] | undefined {
    return storedIdsOf(this.#storedTypes, id, cluster);
  }

  /** What has to be kept of the deployed application beside its package. */
  history(): Uint8Array {
    const { instance } = this.#now();
    return instance.call(() => instance.core.history());
  }

  /** The addresses of models that a package names; nothing is deployed. */
  models(applicationPackage: PackageBytes): ModelAddresses {
    const { instance } = this.#now();
    return JSON.parse(instance.call(() => instance.core.models(applicationPackage))) as ModelAddresses;
  }

  /** What is deployed. */
  application(): DeployReport | undefined {
    const { instance } = this.#now();
    const report = instance.call(() => instance.core.application());
    return report === "" ? undefined : (JSON.parse(report) as DeployReport);
  }

  /**
   * Whether stored bytes are what was sealed for a place in the partition of `key`: a block of a segment, its header (`HEADER`), its
   * liveness (`LIVENESS`), or an operation of the tail (segment and block `HEADER`). For who checks a whole store; what is read
   * for an answer is always checked.
   */
  isSealed(key: string, segment: number, block: number, stored: Uint8Array): boolean {
    const { instance } = this.#now();
    return instance.call(() => instance.core.isSealed(key, segment, block, stored));
  }

  /** Cache and limits, as the core reports them, and the memory of the instance. */
  statistics(): Record<string, unknown> {
    const { instance } = this.#now();
    const statistics = JSON.parse(instance.call(() => instance.core.statistics())) as Record<string, unknown>;
    return { ...statistics, memoryBytes: instance.memoryBytes };
  }

  encode(request: OperationRequest, nowMicros: number): Task<EncodedOperation> {
    return this.#open(TASK_KIND.encode, writeOperation(new Writer().u64(nowMicros), request), (result) => {
      const reader = new Reader(result);
      return { schema: reader.text(), operation: asOperation(reader.bytes()) };
    });
  }

  /** The texts that must be embedded before an operation is encoded. */
  embeddings(request: OperationRequest): Task<readonly EmbeddingWanted[]> {
    return this.#open(TASK_KIND.embeddings, writeOperation(new Writer(), request), decodeWanted);
  }

  query(bytes: QueryBytes): Query {
    return new ResidentQuery(bytes, this.#liveNow);
  }

  mutate(
    place: Place,
    nowMicros: number,
    queued: OperationBytes | undefined,
    request: OperationRequest,
  ): Task<Mutation> {
    const writer = writePlace(place)
      .u64(nowMicros)
      .bytes(queued ?? NOTHING);
    return this.#open(TASK_KIND.mutate, writeOperation(writer, request), (result) => {
      const reader = new Reader(result);
      const [flags, bytes] = [reader.u8(), reader.bytes()];
      const wants = (flags & FLAG_WANTS_EMBEDDINGS) !== 0;
      return {
        operation: wants || bytes.length === 0 ? undefined : asOperation(bytes),
        ignoredFields: (flags & FLAG_IGNORED_FIELDS) !== 0,
        ignoredOperation: (flags & FLAG_IGNORED_OPERATION) !== 0,
        wanted: wants ? bytes : undefined,
      };
    });
  }

  split(chunk: Uint8Array): Task<SplitChunk> {
    return this.#open(TASK_KIND.split, new Writer(), decodeSplit, { input: chunk });
  }

  load(place: Place, nowMicros: number, firstFreeSegment: number, load: Load, room?: ResultRoom): Task<LoadResult> {
    const writer = writePlace(place)
      .u64(nowMicros)
      .u32(firstFreeSegment)
      .varint(load.count)
      .text(load.cluster ?? "");
    return this.#open(TASK_KIND.load, writer, decodeLoad, { input: load.operations, room });
  }

  get(place: Place, request: GetRequest): Task<Answer> {
    const writer = writePlace(place).text(request.rawPath).text(request.id);
    writer.text(request.fieldSet).text(request.tensorFormat);
    return this.#open(TASK_KIND.get, writer, (result) => answerOf(result, "application/json; charset=UTF-8"));
  }

  evaluate({ base, path, parameters }: EvaluationRequest): Task<Answer> {
    const writer = new Writer().text(base).text(path).varint(parameters.length);
    for (const [name, value] of parameters) writer.text(name).text(value);
    return this.#open(TASK_KIND.evaluate, writer, (result) => answerOf(result, "application/json"));
  }

  visit(place: Place, nowSeconds: number, request: Visit, bounds: PageBounds): Task<PartitionPage> {
    const writer = writePlace(place).u64(nowSeconds).text(bounds.after).varint(request.types.length);
    for (const name of request.types) writer.text(name);
    writer.text(request.namespace).text(request.selection).text(request.fieldSet).text(request.tensorFormat);
    writer.u8(PAGE_FORMAT[request.format]).u32(bounds.documentsMax).u32(bounds.bytesMax);
    writer
      .u64(request.fromMicros ?? 0)
      .u64(request.toMicros ?? 0)
      .u8(request.includeRemoves === true ? 1 : 0);
    if (request.format === "operations") writeShard(writer, request.shard);
    return this.#open(TASK_KIND.visit, writer, (result) => {
      const reader = new Reader(result);
      const [complete, last, documents, bytesRead] = [reader.u8() === 1, reader.text(), reader.u32(), reader.u64()];
      return { complete, last, documents, bytesRead, body: reader.bytes() };
    });
  }

  compact(place: Place, reason: CompactReason, bounds: CompactBounds, room?: ResultRoom): Task<Change | undefined> {
    const writer = writePlace(place).u8(REASON[reason]).u32(bounds.firstFreeSegment).u64(bounds.forgetBeforeMicros);
    if (reason === "split") writeShard(writer, bounds.kept);
    return this.#open(TASK_KIND.compact, writer, decodeChange, { room });
  }

  #open<Output>(
    kind: number,
    request: Writer,
    decode: (result: Uint8Array) => Output,
    { input, room }: Large = {},
  ): Task<Output> {
    const { instance } = this.#now();
    // The module copies the request: nothing of it is held here.
    const raw = request.finishFor((written) => instance.call(() => instance.core.open(kind, written, input)));
    return new CoreTask(instance, raw, decode, room);
  }

  /** The live instance, or a fresh one with the package of the last deploy if a trap ended it. */
  #now(): Live {
    if (this.#live !== undefined && !this.#live.instance.dead) return this.#live;
    const { instantiate, cacheBytes, sealKey = NOTHING, segmentBytes = 0, onTrap } = this.#options;
    const instance = new Instance(instantiate(), { cacheBytes, sealKey, segmentBytes }, (error) => onTrap?.(error));
    const applicationPackage = this.#package;
    if (applicationPackage !== undefined) instance.call(() => instance.core.deploy(applicationPackage));
    this.#live = { instance };
    return this.#live;
  }
}

/** A shard as the core reads it; all of the group is the one of no bits. */
function writeShard(writer: Writer, { bits, number }: ShardBits = { bits: 0, number: 0 }): Writer {
  return writer.u8(bits).u32(number);
}

/** A status and a body. */
function answerOf(result: Uint8Array, contentType: string): Answer {
  const reader = new Reader(result);
  return { status: reader.u16(), contentType, bytesRead: 0, bytesScanned: 0, body: reader.bytes() };
}

function writeOperation(writer: Writer, request: OperationRequest): Writer {
  return writer
    .u8(OPERATION[request.kind])
    .text(request.rawPath)
    .text(request.id)
    .u8(request.create === undefined ? CREATE_UNSAID : request.create ? CREATE : CREATE_NOT)
    .text(request.condition)
    .bytes(request.body)
    .bytes(request.embeddings ?? NOTHING);
}

/** What is large of a task. */
interface Large {
  /** Goes in as it is. */
  readonly input?: Uint8Array;
  /** Where the result comes to. */
  readonly room?: ResultRoom | undefined;
}
