/** The script of a thread that serves buckets. It is never terminated: it ends when its port is closed. */
import { parentPort, type TransferListItem, workerData } from "node:worker_threads";
import { Core, instantiate } from "@brooklet/core";
import { BucketHost, serveBuckets } from "@brooklet/partition";
import { openBucket } from "@brooklet/store/node";
import { openDatabase } from "./database.ts";
import type { BucketThreadData } from "./threads.ts";

const port = parentPort;
if (port === null) throw new Error("bucket-thread.js is the script of a worker thread");
const { directory, buckets, cacheBytes, sealKey, application, cancelled, thread, threads, keepRemovesSeconds } =
  workerData as BucketThreadData;

serveBuckets({
  port: {
    post: (messages, transfer) =>
      port.postMessage(messages, transfer as readonly TransferListItem[] as TransferListItem[]),
    receive: (handler) => {
      port.on("message", handler);
    },
  },
  makeHost: (onProblem) =>
    new BucketHost({
      engine: new Core({ instantiate, cacheBytes, sealKey, onTrap: onProblem }),
      buckets,
      owns: (bucket) => bucket % threads === thread,
      openBucket: (bucket) => openBucket(directory, { bucket, buckets }, openDatabase),
      application,
      ...(keepRemovesSeconds !== undefined && { keepRemovesSeconds }),
      onProblem,
    }),
  cancelled,
  onClosed: () => port.close(),
});
