/** Clusters over a data directory on Node: in this thread, or in threads of their own. */
import { existsSync, realpathSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TransferListItem } from "node:worker_threads";
import { type CoreModule, sharedModule } from "@brooklet/core";
import { type Cluster, LocalCluster, type LocalClusterOptions, tellingOnce } from "@brooklet/partition";
import { type BucketThread, ThreadCluster, type ThreadClusterOptions } from "@brooklet/partition/threads";
import type { StoredApplication } from "@brooklet/store";
import {
  DataDirectory,
  DiskReserve,
  demandOpenFiles,
  encryptedBuckets,
  encryptedStorage,
  MODELS_FOLDER,
  type SharedReserve,
} from "@brooklet/store/node";
import { requireOf } from "../require.ts";
import { openDatabase } from "./database.ts";
import { NOT_ENCRYPTED } from "./encryption-key.ts";
import {
  CACHE_BYTES,
  coreOf,
  demandParts,
  type OpenClusterOptions,
  openInMemory,
  surroundingsOf,
} from "./memory-cluster.ts";
import { sealKeyOf } from "./seal-key.ts";

export type { OpenClusterOptions } from "./memory-cluster.ts";

/** What a thread of buckets is started with. */
export interface BucketThreadData {
  readonly directory: string;
  /** What its lock is known by. */
  readonly lock: string | undefined;
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
  readonly reserve: SharedReserve;
  /** What the directory is encrypted with. */
  readonly encryptionKey?: Uint8Array;
}

const VALIDATOR_CACHE_BYTES = 1 << 20;
const THREADS_MAX = 8;

/** Opens a cluster. The directory is locked until it is closed. */
export function openCluster(options: OpenClusterOptions = {}): Cluster {
  const { path, cacheBytes = CACHE_BYTES, keepRemovesSeconds, shardBytes } = options;
  if (path === undefined) {
    if (options.encryptionKey !== undefined) throw new Error(NOT_ENCRYPTED);
    return openInMemory(options);
  }
  const onProblem = tellingOnce(options.onProblem ?? (() => undefined));
  demandParts();
  const models = { modelCache: join(path, MODELS_FOLDER), ...options.models };
  const given = {
    ...surroundingsOf({ ...options, models }, onProblem),
    ...(shardBytes !== undefined && { shardBytes }),
  };
  const removes = keepRemovesSeconds === undefined ? {} : { keepRemovesSeconds };
  const { encryptionKey } = options;
  const storage = DataDirectory.open(path, openDatabase, options.buckets, encryptionKey ?? "none");
  try {
    demandOpenFiles(storage);
    const usual = Math.min(Math.max(availableParallelism() - 1, 1), THREADS_MAX);
    const threads = Math.min(options.threads ?? usual, storage.buckets);
    const reserve = reserveOf(storage.path, options.reserveBytes);
    if (threads === 0)
      return new LocalCluster({
        ...inThisThread(storage, encryptionKey),
        makeEngine: coreOf(sealKeyOf(storage), cacheBytes, onProblem),
        reserve,
        ...given,
      });
    demandFolder();
    const data = {
      directory: storage.path,
      lock: storage.lock,
      buckets: storage.buckets,
      cacheBytes: Math.floor(cacheBytes / threads),
      sealKey: sealKeyOf(storage),
      module: sharedModule(),
      reserve: reserve.shared,
      ...(encryptionKey && { encryptionKey }),
      ...removes,
    };
    const startThread: ThreadClusterOptions["startThread"] = (application, cancelled, thread) =>
      startBucketThread({ ...data, application, cancelled, thread, threads });
    const makeEngine = coreOf(sealKeyOf(storage), VALIDATOR_CACHE_BYTES, onProblem);
    const lane = options.lane === undefined ? {} : { lane: options.lane };
    return new ThreadCluster({ storage, threads, startThread, makeEngine, ...lane, ...given });
  } catch (error) {
    storage.close();
    throw error;
  }
}

/** What a directory stores, with the keys of its groups where it is encrypted. */
function inThisThread(
  storage: DataDirectory,
  key: Uint8Array | undefined,
): Pick<LocalClusterOptions, "storage" | "partitions"> {
  if (key === undefined) return { storage };
  const encrypted = encryptedBuckets(storage.path, key, openDatabase, ({ bucket }) => storage.openBucket(bucket));
  return { storage: encryptedStorage(storage, encrypted), partitions: encrypted.partitions };
}

/** What is kept back in a directory: nothing, unless it is said. */
function reserveOf(directory: string, bytes: OpenClusterOptions["reserveBytes"]): DiskReserve {
  if (bytes === 0) DiskReserve.remove(directory);
  return bytes === "usual" ? DiskReserve.make(directory) : DiskReserve.make(directory, bytes ?? 0);
}

/** Node starts no thread where the folder of the process is gone, which the first write would find out. It may know its name all the same. */
function demandFolder(): void {
  try {
    realpathSync.native(".");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error;
  }
}

function startBucketThread(data: BucketThreadData): BucketThread {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  // Where the program was given as a text (--input-type), a thread would take that as said of its own file, and end.
  const execArgv = process.execArgv.some((word) => word.startsWith("--input-type")) ? [] : undefined;
  const worker = new Worker(threadScript(), { workerData: data, execArgv });
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
  // What esbuild bundles as CommonJS has no address of a module; that of webpack is where this script was then.
  const address = import.meta.url === undefined ? __filename : fileURLToPath(import.meta.url);
  const own = import.meta.filename ?? address;
  const beside = join(dirname(own), "bucket-thread.js");
  if (existsSync(beside)) return beside;
  const name = "brooklet/bucket-thread";
  try {
    return requireOf(name).resolve(name);
  } catch (cause) {
    const remedy = "install brooklet beside the bundle, or bundle brooklet/bucket-thread as a file of that name";
    throw new Error(`No script for threads: ${beside} is not there; ${remedy}`, { cause });
  }
}
