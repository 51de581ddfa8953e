/** The same walk over threads: real workers, real SQLite, the stand-in for the core. */

import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import type { BucketThread } from "../src/correspondent.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { LANE_LIMITS, type LaneLimits } from "../src/query/lane.ts";
import { ThreadCluster } from "../src/thread-cluster.ts";
import { FakeEngine } from "./fake-engine.mjs";
import { all, folder, get, openSql, packageNamed, put, remove } from "./setting.ts";

/** A cluster of two threads and four buckets; how often a thread was started, and what the operator was told. */
function threads(
  path: string = join(folder(), "data"),
  lane: LaneLimits = LANE_LIMITS,
): {
  cluster: ThreadCluster;
  started: () => number;
  problems: unknown[];
} {
  const storage = DataDirectory.open(path, openSql, 4);
  const problems: unknown[] = [];
  let started = 0;
  const startThread: ConstructorParameters<typeof ThreadCluster>[0]["startThread"] = (application, cancelled) => {
    started += 1;
    const workerData = { directory: storage.path, buckets: storage.buckets, application, cancelled };
    const worker = new Worker(new URL("fake-thread.mjs", import.meta.url), { workerData });
    let failure: unknown;
    worker.on("error", (error) => {
      failure = error;
    });
    return {
      post: (messages, transfer) => worker.postMessage(messages, [...transfer]),
      receive: (handler) => void worker.on("message", handler),
      ended: new Promise((resolve) => worker.once("exit", () => resolve(failure))),
    } satisfies BucketThread;
  };
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const made = new ThreadCluster({
    storage,
    threads: 2,
    startThread,
    makeEngine: () => new FakeEngine(),
    surroundings: nodeSurroundings,
    lane,
    onProblem,
  });
  onTestFinished(() => made.close());
  return { cluster: made, started: () => started, problems };
}

test("of a name that no group can have nobody is told how busy it is: it is only looked at", () => {
  const { cluster } = threads();
  expect(cluster.overload("g:a\u0001b")).toBeUndefined();
});

test("of a group its own thread says how busy it is, of all groups none does while one has room", async () => {
  const { cluster } = threads(undefined, { ...LANE_LIMITS, running: 1, runningMost: 1, queued: 1 });
  const keys = Array.from({ length: 20 }, (_, index): PartitionKey => `g:user-${index}`);
  for (const key of keys) await all(cluster, key);
  /** As many searches of a group as its thread has places for. Threads answer in a later turn than this. */
  const fill = async (key: PartitionKey): Promise<readonly Promise<unknown>[]> => {
    const searches = [all(cluster, key), all(cluster, key)];
    for (let steps = 0; steps < 100 && cluster.overload(key) === undefined; steps += 1) await Promise.resolve();
    return searches;
  };
  const searches = [...(await fill("g:user-0"))];
  const other = keys.find((key) => cluster.overload(key) === undefined) ?? "g:none";
  expect(keys.filter((key) => cluster.overload(key) !== undefined)).not.toEqual([]);
  expect(cluster.overload()).toBeUndefined();
  searches.push(...(await fill(other)));
  expect(keys.every((key) => cluster.overload(key) !== undefined)).toBe(true);
  expect(cluster.overload()).toContain("1 searches already enqueued");
  await Promise.all(searches);
  expect(cluster.overload()).toBeUndefined();
});

test("writes and reads of many groups over two threads", async () => {
  const { cluster, started } = threads();
  const keys = Array.from({ length: 60 }, (_, index): PartitionKey => `g:user-${index}`);
  const outcomes = await Promise.all(keys.map((key) => put(cluster.partition(key), "a", key)));
  expect(outcomes.every(({ status }) => status === 200)).toBe(true);
  for (const key of keys) expect(await all(cluster, key)).toEqual({ a: key });
  expect(await remove(cluster.partition("g:user-3"), "a")).toEqual({ status: 200 });
  expect(await get(cluster.partition("g:user-3"), "a")).toBeUndefined();
  expect(started()).toBe(2);
});

test("the caller keeps its bytes, even where they are a part of a larger buffer", async () => {
  const { cluster } = threads();
  const whole = new TextEncoder().encode('xx{"v":1}yy');
  const body = whole.subarray(2, 9);
  const request = { kind: "put", rawPath: "", id: "a", create: false, condition: "", body } as const;
  expect(await cluster.partition("g:a").apply(request, 60_000)).toEqual({ status: 200 });
  expect(new TextDecoder().decode(whole)).toBe('xx{"v":1}yy');
  expect(await all(cluster, "g:a")).toEqual({ a: { v: 1 } });
});

test.each(["a visit", "a removal of many"])("a thread hears that nobody waits for %s any more", async (what) => {
  const { cluster } = threads();
  await put(cluster.partition("g:a"), "a", 1);
  const visit = {
    types: ["note"],
    namespace: "",
    selection: "",
    fieldSet: "",
    tensorFormat: "",
    format: "ids",
  } as const;
  const bounds = { documentsMax: 5, bytesMax: 1 << 20, from: { partition: 0, after: "" } };
  const step = { bucket: cluster.bucketOf("g:a"), key: "g:a", ...bounds } as const;
  const remove = { kind: "remove", rawPath: "", body: new Uint8Array() } as const;
  const gone = AbortSignal.abort();
  const given =
    what === "a visit"
      ? cluster.visit(visit, step, 60_000, gone)
      : cluster.applyWhere(visit, step, remove, 60_000, gone);
  expect((await given).documents).toBe(0);
  expect((await cluster.visit(visit, step, 60_000)).documents).toBe(1);
});

test("refusals cross with all their fields", async () => {
  const { cluster } = threads();
  expect(await put(cluster.partition("g:a"), "", 1)).toEqual({
    status: 400,
    code: "INVALID_DOCUMENT",
    message: "no id",
    outcome: "not_applied",
  });
  await expect(cluster.deploy(packageNamed("bad"))).rejects.toMatchObject({
    code: "INVALID_APPLICATION_PACKAGE",
    status: 400,
    number: 17,
  });
});

test("what is only checked is not served, by no thread", async () => {
  const { cluster } = threads();
  await cluster.deploy(packageNamed("one"));
  const served = cluster.applicationPackage();
  await expect(cluster.checkDeployment(packageNamed("bad"))).rejects.toMatchObject({
    code: "INVALID_APPLICATION_PACKAGE",
  });
  await cluster.checkDeployment(packageNamed("two"));
  expect(cluster.applicationPackage()).toEqual(served);
});

test("a package takes the place of the application it was sent for", async () => {
  const { cluster } = threads();
  await cluster.deploy(packageNamed("one"), await cluster.applicationNumber());
  await expect(cluster.deploy(packageNamed("two"), 0)).rejects.toMatchObject({ status: 409 });
  expect(await cluster.applicationNumber()).toBe(1);
});

test("of two deployments at once one wins and the other is refused (C13)", async () => {
  const { cluster } = threads();
  const outcomes = await Promise.allSettled(["one", "two"].map((text) => cluster.deploy(packageNamed(text))));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ status: 409 });
  expect(cluster.application()?.fingerprint).toBe("one");
});

test("a thread that ends is started again, and only its calls fail", async () => {
  const { cluster, started, problems } = threads();
  await put(cluster.partition("g:a"), "a", 1);
  const outcome = await put(cluster.partition("g:crash"), "a", 1);
  expect(outcome).toMatchObject({ status: 503, code: "UNAVAILABLE", outcome: "unknown" });
  expect(problems).toMatchObject([
    {
      message: expect.stringMatching(/^Thread [01] ended; [1-9]\d* calls that it had are answered with 503, and/),
      cause: { message: "crashed as asked" },
    },
  ]);
  const before = started();
  for (const key of ["g:a", "g:b", "g:c", "g:d"] as const)
    expect(await put(cluster.partition(key), "b", 2)).toEqual({ status: 200 });
  expect(started()).toBeGreaterThan(before);
  expect(await get(cluster.partition("g:a"), "a")).toBe(1);
});

test("a thread that ends without an error is told too, and one that was asked to close is not", async () => {
  const { cluster, problems } = threads();
  expect(await put(cluster.partition("g:exit"), "a", 1)).toMatchObject({ status: 503 });
  expect(problems).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^Thread [01] ended; [1-9]\d* calls/) }),
  ]);
  expect(await put(cluster.partition("g:a"), "a", 1)).toEqual({ status: 200 });
  await cluster.close();
  expect(problems).toHaveLength(1);
});

test("closing finishes what was accepted, and everything is there afterwards", async () => {
  const path = join(folder(), "data");
  const first = threads(path).cluster;
  const written = Array.from({ length: 200 }, (_, index) =>
    put(first.partition(`g:${index % 20}`), `d${index}`, index),
  );
  await first.close();
  expect((await Promise.all(written)).every(({ status }) => status === 200)).toBe(true);
  const second = threads(path).cluster;
  expect(await get(second.partition("g:7"), "d187")).toBe(187);
});

test("a group is erased in its thread, after what was sent before and before what is sent later", async () => {
  const { cluster, problems } = threads();
  const [alice, bob] = [cluster.partition("g:alice"), cluster.partition("g:bob")];
  await Promise.all(Array.from({ length: 300 }, (_, at) => put(alice, `d${at}`, at)));
  await put(bob, "b", 1);
  const before = put(alice, "before", 1);
  const erased = cluster.erase("g:alice");
  const after = put(alice, "after", 2);
  expect([await before, await after]).toEqual([{ status: 200 }, { status: 200 }]);
  const { key, erasedAt } = await erased;
  expect([key, Math.abs(erasedAt - Date.now()) < 60_000]).toEqual(["g:alice", true]);
  expect(await all(cluster, "g:alice")).toEqual({ after: 2 });
  expect(await all(cluster, "g:bob")).toEqual({ b: 1 });
  expect(await cluster.erase("g:nobody")).toMatchObject({ key: "g:nobody", documents: 0 });
  expect(problems).toEqual([]);
  await cluster.close();
  await expect(cluster.erase("g:bob")).rejects.toMatchObject({ status: 503, outcome: "not_applied" });
});
