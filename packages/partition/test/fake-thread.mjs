/** A thread of buckets over the stand-in for the core. Groups named `crash` and `exit` end it. */

import { parentPort, workerData } from "node:worker_threads";
import { betterSqlite3, partitionsInTables } from "@brooklet/store";
import { openBucket } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { BucketHost } from "../dist/index.js";
import { nodeSurroundings } from "../dist/node/index.js";
import { serveBuckets } from "../dist/threads.js";
import { FakeEngine } from "./fake-engine.mjs";

const openSql = (path) => betterSqlite3(new Database(path, { timeout: 0 }));
const { directory, buckets, application, cancelled } = workerData;

serveBuckets({
  port: {
    post: (messages, transfer) => parentPort.postMessage(messages, transfer),
    receive: (handler) =>
      parentPort.on("message", (calls) => {
        if (calls.some(({ key }) => key === "g:crash")) throw new Error("crashed as asked");
        if (calls.some(({ key }) => key === "g:exit")) process.exit();
        handler(calls);
      }),
  },
  makeHost: (onProblem) => {
    const open = (bucket) => openBucket(directory, { bucket, buckets }, openSql);
    const stored = { buckets, openBucket: open, partitions: partitionsInTables, application };
    return new BucketHost({ engine: new FakeEngine(), ...stored, surroundings: nodeSurroundings, onProblem });
  },
  cancelled,
  surroundings: nodeSurroundings,
  onClosed: () => parentPort.close(),
});
