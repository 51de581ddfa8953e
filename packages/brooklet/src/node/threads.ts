/** Clusters on Node: in this thread, in threads of their own, or in memory; over better-sqlite3 and the core's module. */
import { createHmac } from "node:crypto";
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { TransferListItem } from "node:worker_threads";
import { Core, type CoreModule, instantiate, loadModule } from "@brooklet/core";
import {
  type BucketThread,
  type Cluster,
  type DeployReport,
  type LaneLimits,
  LocalCluster,
  type LocalClusterOptions,
  ThreadCluster,
  type ThreadClusterOptions,
  tellingOnce,
} from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { memoryStorage, type Storage, type StoredApplication } from "@brooklet/store";
import { DataDirectory, DiskReserve, MODELS_FOLDER, type SharedReserve } from "@brooklet/store/node";
import { ApplicationEmbedders, type ModelOptions } from "./application-embedders.ts";
import { ApplicationModels } from "./application-models.ts";
import { openDatabase } from "./database.ts";
import { type Outbound, OWN_OUTBOUND } from "./outbound.ts";

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
  /** Bytes from which on a group is split, so that several threads search it; none is, unless it is said: such buckets cannot be backed up. */
  readonly shardBytes?: number;
  /** What is kept back on the device for what gives space, bytes; nothing unless it is said, of "usual" what L-disk says. */
  readonly reserveBytes?: number | "usual";
  /** The places of each thread for searches, if not the usual. */
  readonly lane?: LaneLimits;
  /** Embedders, and where the models of the application are. */
  readonly models?: ModelOptions;
  /** How models are reached: as the program likes, unless it is said. */
  readonly outbound?: Outbound;
  /** Told of every failure that no caller sees, for the operator's log. */
  readonly onProblem?: (error: unknown) => void;
}

/** What a thread of buckets is started with. */
export interface BucketThreadData {
  readonly directory: string;
  readonly buckets: number;
  readonly cacheBytes: number;
  readonly sealKey: Uint8Array;
  /** The core's module, compiled once for all threads. */
  readonly module: CoreModule;
  readonly application: StoredApplication | undefined;
  /** Where the thread is told of calls that nobody waits for any more. */
  readonly cancelled: SharedArrayBuffer;
  /** Its number, and of how many: its buckets are those whose number leaves this remainder. */
  readonly thread: number;
  readonly threads: number;
  readonly keepRemovesSeconds?: number;
  readonly reserve?: SharedReserve;
}

/** Memory for what was read before. */
export const CACHE_BYTES: number = 256 << 20;
const VALIDATOR_CACHE_BYTES = 1 << 20;
const THREADS_MAX = 8;
const SEAL_KEY_BYTES = 16;

/** Opens a cluster. The directory is locked until it is closed. */
export function openCluster(options: OpenClusterOptions = {}): Cluster {
  const { path, cacheBytes = CACHE_BYTES, keepRemovesSeconds, shardBytes } = options;
  const onProblem = tellingOnce(options.onProblem ?? (() => undefined));
  demandParts();
  const given = { ...surroundingsOf(options, onProblem), ...(shardBytes !== undefined && { shardBytes }) };
  const removes = keepRemovesSeconds === undefined ? {} : { keepRemovesSeconds };
  if (path === undefined) {
    const storage = memoryStorage(openDatabase);
    return new LocalCluster({ storage, makeEngine: coreOf(storage, cacheBytes, onProblem), ...given });
  }
  const storage = DataDirectory.open(path, openDatabase, options.buckets);
  try {
    const usual = Math.min(Math.max(availableParallelism() - 1, 1), THREADS_MAX);
    const threads = Math.min(options.threads ?? usual, storage.buckets);
    const reserve = reserveOf(storage.path, options.reserveBytes);
    if (threads === 0)
      return new LocalCluster({ storage, makeEngine: coreOf(storage, cacheBytes, onProblem), reserve, ...given });
    const data = {
      directory: storage.path,
      buckets: storage.buckets,
      cacheBytes: Math.floor(cacheBytes / threads),
      sealKey: sealKeyOf(storage),
      module: loadModule(),
      ...(reserve && { reserve: reserve.shared }),
      ...removes,
    };
    const startThread: ThreadClusterOptions["startThread"] = (application, cancelled, thread) =>
      startBucketThread({ ...data, application, cancelled, thread, threads });
    const makeEngine = coreOf(storage, VALIDATOR_CACHE_BYTES, onProblem);
    const lane = options.lane === undefined ? {} : { lane: options.lane };
    return new ThreadCluster({ storage, threads, startThread, makeEngine, ...lane, ...given });
  } catch (error) {
    storage.close();
    throw error;
  }
}

/** Timers, models, and who is told of what. */
type ClusterSurroundings = Omit<LocalClusterOptions, "storage" | "makeEngine" | "onProblem"> &
  Required<Pick<LocalClusterOptions, "onProblem">>;

/** What every cluster of this process has around it: timers, models, and how those are reached. */
export function surroundingsOf(
  { path, keepRemovesSeconds, outbound = OWN_OUTBOUND, ...options }: OpenClusterOptions,
  onProblem: (error: unknown) => void,
): ClusterSurroundings {
  const models: ModelOptions = {
    ...(path !== undefined && { modelCache: join(path, MODELS_FOLDER) }),
    ...options.models,
  };
  const embedder = new ApplicationEmbedders(models, outbound);
  const modelRunner = new ApplicationModels(models);
  // Nobody waits for it, and whoever needs the model is told why it cannot be had.
  const onApplication = (application: DeployReport): void => void embedder.warm(application).catch(() => undefined);
  const { objections } = outbound;
  const asked = { embedder, modelRunner, objections };
  const removes = keepRemovesSeconds === undefined ? {} : { keepRemovesSeconds };
  return { surroundings: nodeSurroundings, onProblem, onApplication, ...asked, ...removes };
}

/** What is kept back in a directory. */
function reserveOf(directory: string, bytes: OpenClusterOptions["reserveBytes"]): DiskReserve | undefined {
  if (bytes === undefined || bytes === 0) return undefined;
  return bytes === "usual" ? DiskReserve.make(directory) : DiskReserve.make(directory, bytes);
}

/** Throws if a part of the installation is not there: it would be the first write that found out. */
export function demandParts(): void {
  openDatabase().close();
  try {
    loadModule();
  } catch (cause) {
    const remedy = "install brooklet anew, or build it (npm run build)";
    throw new Error(`No core: its WebAssembly module cannot be loaded; ${remedy}`, { cause });
  }
}

/** Makes cores that all seal with the key of one storage. */
export function coreOf(
  storage: Pick<Storage, "secret">,
  cacheBytes: number,
  onTrap: (error: unknown) => void,
): () => Core {
  const sealKey = sealKeyOf(storage);
  return () => new Core({ instantiate, cacheBytes, sealKey, onTrap });
}

/** A key of its own for groupings, so that what seals one thing says nothing of another. */
function sealKeyOf(storage: Pick<Storage, "secret">): Uint8Array {
  return createHmac("sha256", storage.secret).update("grouping").digest().subarray(0, SEAL_KEY_BYTES);
}

function startBucketThread(data: BucketThreadData): BucketThread {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const worker = new Worker(threadScript(), { workerData: data });
  let failure: unknown;
  worker.on("error", (error) => {
    failure = error;
  });
  return {
    post: (messages, transfer) =>
      worker.postMessage(messages, transfer as readonly TransferListItem[] as TransferListItem[]),
    receive: (handler) => {
      worker.on("message", handler);
    },
    ended: new Promise((resolve) => worker.once("exit", () => resolve(failure))),
  };
}

/**
 * The script of a thread: beside this one; in a bundle beside that, if it was put there; or in the package as it is installed.
 * No bundler is told of it: those that know worker threads do not know those of Node well enough. Turbopack
 * follows an imported `Worker` all the same, and bundles whatever its script may be.
 */
function threadScript(): string {
  const beside = join(dirname(fileURLToPath(import.meta.url)), "bucket-thread.js");
  if (existsSync(beside)) return beside;
  const { createRequire } = process.getBuiltinModule("node:module");
  try {
    return createRequire(import.meta.url).resolve("brooklet/bucket-thread");
  } catch (cause) {
    const remedy = "install brooklet beside the bundle, or bundle brooklet/bucket-thread as a file of that name";
    throw new Error(`No script for threads: ${beside} is not there; ${remedy}`, { cause });
  }
}
