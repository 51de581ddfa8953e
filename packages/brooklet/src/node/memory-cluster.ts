/** A cluster in this thread and in memory, and what every cluster on Node has around it: a process that stores nothing loads no more. */
import { Core, instantiate, loadModule } from "@brooklet/core";
import {
  type Cluster,
  type DeployReport,
  type GroupQuotaLimits,
  type LaneLimits,
  LocalCluster,
  type LocalClusterOptions,
  type Stages,
  tellingOnce,
  untilClosed,
} from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { memoryStorage, SECRET_BYTES } from "@brooklet/store";
import { openDatabase } from "./database.ts";
import { ApplicationEmbedders, type ModelOptions } from "./models/application-embedders.ts";
import { LaterModels } from "./models/later-models.ts";
import { type Outbound, OWN_OUTBOUND } from "./outbound.ts";
import { randomBytes } from "./random-bytes.ts";

/** How a cluster is opened. Everything has a default. */
export interface OpenClusterOptions {
  /** The data directory; without one everything is in memory and ends with the process. */
  readonly path?: string;
  /** Threads beside this one. 0: everything in this thread. By default one for each processor but one, 1 to 8. */
  readonly threads?: number;
  /** Buckets of a directory that is made now; an existing one keeps its number. */
  readonly buckets?: number;
  /** Budget of resident blocks, for all threads together. */
  readonly cacheBytes?: number;
  /** How long visits that ask for removes are told of one, seconds; two weeks by default. 0: not at all. */
  readonly keepRemovesSeconds?: number;
  /** Bytes from which on a group is split, so that several threads search it; none is, unless it is said. */
  readonly shardBytes?: number;
  /** What is kept back on the device for what gives space, bytes; nothing unless it is said, of "usual" what L-disk says. */
  readonly reserveBytes?: number | "usual";
  /** What a directory is encrypted with, which is made so; 32 bytes. */
  readonly encryptionKey?: Uint8Array;
  /** Takes note of the stages of queries. */
  readonly stages?: Stages;
  /** What each group may have; as much as there is room for, unless it is said. */
  readonly quotas?: GroupQuotaLimits;
  /** The places of each thread for searches, if not the usual. */
  readonly lane?: LaneLimits;
  /** Embedders, and where the models of the application are. */
  readonly models?: ModelOptions;
  /** How models are reached: as the program likes, unless it is said. */
  readonly outbound?: Outbound;
  /** When nobody waits for models any more. */
  readonly closed?: AbortSignal;
  /** Told of every failure that no caller sees, for the operator's log. */
  readonly onProblem?: (error: unknown) => void;
}

/** What is wrong with a number of buckets for what is no store. */
export const NO_STORE = "buckets are of a store: say which (s3() or postgres() of brooklet/object-store)";
/** What is wrong with shards of a store. */
export const NOT_SHARDED = "shardBytes is of a data directory: groups of a store are not split";
/** Memory for what was read before. */
export const CACHE_BYTES: number = 256 << 20;
/** Of what seals continuations of groupings. */
export const SEAL_KEY_BYTES = 16;

/** Opens a cluster in memory, which ends with the process. */
export function openInMemory(options: Omit<OpenClusterOptions, "path">): Cluster {
  const { cacheBytes = CACHE_BYTES, shardBytes } = options;
  const onProblem = tellingOnce(options.onProblem ?? (() => undefined));
  demandParts();
  const storage = memoryStorage(openDatabase, randomBytes(SECRET_BYTES));
  return new LocalCluster({
    storage,
    // Nothing outlives the process, so that the key need not be made of a secret.
    makeEngine: coreOf(randomBytes(SEAL_KEY_BYTES), cacheBytes, onProblem),
    ...surroundingsOf(options, onProblem),
    ...(shardBytes !== undefined && { shardBytes }),
  });
}

/** Timers, models, and who is told of what. */
type ClusterSurroundings = Omit<LocalClusterOptions, "storage" | "makeEngine" | "onProblem"> &
  Required<Pick<LocalClusterOptions, "onProblem">>;

/** What every cluster of this process has around it: timers, models, and how those are reached. */
export function surroundingsOf(
  {
    keepRemovesSeconds,
    quotas,
    stages,
    outbound = OWN_OUTBOUND,
    models = {},
    closed,
  }: Omit<OpenClusterOptions, "path">,
  onProblem: (error: unknown) => void,
): ClusterSurroundings {
  const embedder = new ApplicationEmbedders(models, outbound);
  const modelRunner = new LaterModels(models);
  // Nobody waits for it, and whoever needs the model is told why it cannot be had.
  const onApplication = (application: DeployReport): void => void embedder.warm(application).catch(() => undefined);
  const { objections } = outbound;
  const asked = { embedder: closed ? untilClosed(embedder, closed) : embedder, modelRunner, objections };
  const removes = keepRemovesSeconds === undefined ? {} : { keepRemovesSeconds };
  return {
    surroundings: nodeSurroundings,
    onProblem,
    onApplication,
    ...asked,
    ...removes,
    ...(quotas && { quotas }),
    ...(stages && { stages }),
  };
}

/** Throws if a part of the installation is not there: it would be the first write that found out. */
export function demandParts(): void {
  openDatabase().close();
  try {
    loadModule();
  } catch (cause) {
    throw new Error(`No core: its WebAssembly module cannot be loaded; ${coreRemedy()}`, { cause });
  }
}

/** What helps where the core cannot be loaded. */
export function coreRemedy(): string {
  if (!("WebAssembly" in globalThis)) return "this process has no WebAssembly: start it without --jitless";
  return "install brooklet anew, or copy core_bg.wasm of @brooklet/core into the folder of the bundle";
}

/** Makes cores that all seal with one key. */
export function coreOf(sealKey: Uint8Array, cacheBytes: number, onTrap: (error: unknown) => void): () => Core {
  return () => new Core({ instantiate, cacheBytes, sealKey, onTrap });
}
