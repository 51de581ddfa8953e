/** The script of a thread that serves buckets. It is never terminated: it ends when it listens no more. */
import { parentPort, type TransferListItem, workerData } from "node:worker_threads";
import { Core, instantiate, setModule } from "@brooklet/core";
import { BucketHost } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { serveBuckets, type ThreadCall } from "@brooklet/partition/threads";
import { type BucketIdentity, partitionsInTables, type SqlConnection } from "@brooklet/store";
import { DiskReserve, encryptedBuckets, openBucket } from "@brooklet/store/node";
import { openDatabase } from "./database.ts";
import type { BucketThreadData } from "./threads.ts";

const port = parentPort;
if (port === null) throw new Error("bucket-thread.js is the script of a worker thread");
const {
  directory,
  lock,
  buckets,
  cacheBytes,
  sealKey,
  module,
  application,
  cancelled,
  thread,
  threads,
  keepRemovesSeconds,
  reserve,
  encryptionKey,
} = workerData as BucketThreadData;
setModule(module);
const open = (identity: BucketIdentity): SqlConnection => openBucket(directory, identity, openDatabase, lock);
const encrypted = encryptionKey && encryptedBuckets(directory, encryptionKey, openDatabase, open);

let listener: ((calls: readonly ThreadCall[]) => void) | undefined;

serveBuckets({
  port: {
    post: (messages, transfer) =>
      port.postMessage(messages, transfer as readonly TransferListItem[] as TransferListItem[]),
    receive: (handler) => {
      listener = handler;
      port.on("message", listener);
    },
  },
  makeHost: (onProblem) =>
    new BucketHost({
      engine: new Core({ instantiate, cacheBytes, sealKey, onTrap: onProblem }),
      buckets,
      owns: (bucket) => bucket % threads === thread,
      openBucket: (bucket) => (encrypted?.openBucket ?? open)({ bucket, buckets }),
      partitions: encrypted?.partitions ?? partitionsInTables,
      application,
      surroundings: nodeSurroundings,
      reserve: DiskReserve.of(reserve),
      ...(keepRemovesSeconds !== undefined && { keepRemovesSeconds }),
      onProblem,
    }),
  cancelled,
  surroundings: nodeSurroundings,
  // Not every runtime can close the port.
  onClosed: () => {
    if (listener !== undefined) port.off("message", listener);
  },
});
