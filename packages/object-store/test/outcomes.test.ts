/** What is told of a write or a deployment stays true, whatever comes later. */
import { asPackage, type Embedding } from "@brooklet/core";
import type { TextEmbedder } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { type StoredApplication, StoreError } from "@brooklet/store";
import { expect, onTestFinished, test, vi } from "vitest";
import { Fenced } from "../src/log-batch.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { begunInTime, meaningOf } from "../src/outcomes.ts";
import { againWith, putApplication } from "../src/store-records.ts";
import { get, NOTE, openCluster, openMemory, packageOf, put } from "./setting.ts";

const EMBEDDED = `schema note { document note {
  field title type string { indexing: index | summary }
  field seen type int { indexing: attribute | summary }
}
field near type tensor<float>(x[1]) { indexing: input title | embed any | attribute } }`;

/** A store that can be kept from answering, and tells when it is asked next. */
function stalling(memory: ObjectMemory) {
  let answers = Promise.resolve();
  let tellAsked = (): void => undefined;
  const asked = (): Promise<void> =>
    new Promise((resolve) => {
      tellAsked = resolve;
    });
  const store: ObjectStore = memoryObjectStore(memory, async (work) => {
    tellAsked();
    await answers;
    return work();
  });
  const stall = (): (() => void) => {
    let goOn = (): void => undefined;
    answers = new Promise((resolve) => {
      goOn = resolve;
    });
    onTestFinished(() => goOn());
    return goOn;
  };
  return { store, stall, asked };
}

test("a write whose time was over before it was begun is told that it was not done, and is not done when the store answers", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const { cluster: other } = await openCluster(memoryObjectStore(memory));
  await other.deploy(packageOf({ note: NOTE }));
  await put(other, "alice", "1", { title: "first", seen: 1 });
  const { cluster } = await openCluster(store);
  const goOn = stall();
  const late = put(cluster, "alice", "1", { title: "late", seen: 2 }, "", 20);
  await expect(late).rejects.toMatchObject({ code: "TIMED_OUT", outcome: "not_applied" });
  goOn();
  // Behind everything that was asked before.
  await put(cluster, "alice", "2", { title: "second", seen: 3 });
  expect(await get(cluster, "alice", "1")).toEqual({ title: "first", seen: 1 });
  expect(await get(other, "alice", "1")).toEqual({ title: "first", seen: 1 });
});

test("a write that was begun and may be stored is told to be so, also where texts are embedded before", async () => {
  const memory = new ObjectMemory();
  const { store, stall, asked } = stalling(memory);
  const embedder: TextEmbedder = {
    embed: async (wanted) => wanted.map((): Embedding => ({ shape: "vector", values: Float32Array.of(1) })),
    close: async () => undefined,
  };
  // Nobody but the write asks the store.
  const surroundings = { ...nodeSurroundings, every: () => () => undefined };
  const { cluster } = await openCluster(store, { embedder, surroundings });
  await cluster.deploy(packageOf({ note: EMBEDDED }));
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  const goOn = stall();
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const isAsked = asked();
  const late = put(cluster, "alice", "1", { title: "late", seen: 2 }, "", 20);
  const told = expect(late).rejects.toMatchObject({ code: "TIMED_OUT", outcome: "unknown" });
  await isAsked;
  await vi.advanceTimersByTimeAsync(100);
  await told;
  vi.useRealTimers();
  goOn();
  await put(cluster, "alice", "2", { title: "second", seen: 3 });
  expect(await get(cluster, "alice", "1")).toMatchObject({ title: "late", seen: 2 });
});

test("work that waited for its bucket has the rest of its time", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const left: number[] = [];
  const work = async (leftMs: number): Promise<void> => void left.push(leftMs);
  const pass = async (begin: () => Promise<void>): Promise<void> => {
    await vi.advanceTimersByTimeAsync(400);
    await begin();
    await vi.advanceTimersByTimeAsync(500);
    await begin();
  };
  await begunInTime("write", 1_000, pass, work);
  await begunInTime("write", Number.POSITIVE_INFINITY, pass, work);
  expect(left).toEqual([600, 100, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
});

test("servers that begin together over an empty store deploy the same application once; another is refused", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const clusters = await Promise.all([1, 2, 3, 4].map(async () => (await openCluster(store)).cluster));
  const others = `${NOTE.slice(0, NOTE.lastIndexOf("}"))} rank-profile other { first-phase { expression: 1 } } }`;
  const [same, another] = [packageOf({ note: NOTE }), packageOf({ note: others })];
  const goOn = stall();
  const deployed = clusters.map((cluster, index) => cluster.deploy(index < 3 ? same : another));
  const outcomes = Promise.allSettled(deployed);
  goOn();
  const fulfilled = (await outcomes).map(({ status }) => status);
  const isSame = fulfilled[3] === "rejected";
  expect(fulfilled).toEqual(
    isSame ? ["fulfilled", "fulfilled", "fulfilled", "rejected"] : ["rejected", "rejected", "rejected", "fulfilled"],
  );
  const refused = (await outcomes).find((outcome) => outcome.status === "rejected");
  expect(refused).toMatchObject({ reason: { code: "DEPLOYMENT_UNDER_WAY", status: 409 } });
  // What a server has that begins later is what those have that were not refused.
  const { cluster: later } = await openCluster(store);
  const served = clusters.filter((_, index) => fulfilled[index] === "fulfilled");
  for (const cluster of served) expect(cluster.application()).toEqual(later.application());
});

test("a deployment, a check and whoever asks for the application are told in time that the store does not answer", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  const { cluster } = await openCluster(store);
  await cluster.deploy(packageOf({ note: NOTE }));
  await put(cluster, "alice", "1", { title: "a note" });
  const goOn = stall();
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const other = packageOf({ note: NOTE.replace("seen", "read") });
  const asked = [cluster.deploy(other), cluster.checkDeployment(other), cluster.applicationNumber()];
  const told = Promise.all(asked.map((one) => one.catch((error: unknown) => error)));
  for (let step = 0; step < asked.length; step += 1) await vi.advanceTimersByTimeAsync(31_000);
  const late = expect.objectContaining({ code: "TIMED_OUT", status: 504, outcome: "not_applied" });
  expect(await told).toEqual([late, late, late]);
  vi.useRealTimers();
  goOn();
  expect(await cluster.applicationNumber()).toBe(1);
});

test.each(["read", "append"] as const)(
  "a deployment that changes a type ends in time though the store does not answer a request to %s",
  async (request) => {
    const memory = new ObjectMemory();
    const { store, stall } = stalling(memory);
    let isSilent = false;
    let reached = (): void => undefined;
    const isReached = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const asked = (call: string): void => {
      if (!isSilent || call !== request) return;
      stall();
      reached();
    };
    const log: ObjectStore["log"] = {
      ...store.log,
      read: (name, place) => {
        if (name.startsWith("bucket/")) asked("read");
        return store.log.read(name, place);
      },
      append: (name, place, bytes) => {
        asked("append");
        return store.log.append(name, place, bytes);
      },
    };
    const { cluster } = await openCluster({ ...store, log }, { closeMs: 1 });
    await cluster.deploy(packageOf({ note: NOTE }));
    isSilent = true;
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const deployed = cluster
      .deploy(packageOf({ note: NOTE.replace("seen type int", "seen type array<int>") }))
      .catch((error: unknown) => error);
    await isReached;
    await vi.advanceTimersByTimeAsync(31_000);
    await vi.advanceTimersByTimeAsync(61_000);
    expect(await deployed).toMatchObject({ code: "TIMED_OUT", status: 504 });
  },
);

test("a deployment that changes a type goes on when what is stored was brought, however long that took", async () => {
  const { store, stall } = stalling(new ObjectMemory());
  let [reads, goOn] = [0, (): void => undefined];
  let reached = (): void => undefined;
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const read: ObjectStore["log"]["read"] = (name, place) => {
    if (name.startsWith("bucket/")) reads += 1;
    // Both logs are followed once before it is looked.
    if (reads === 3) {
      goOn = stall();
      reached();
    }
    return store.log.read(name, place);
  };
  const { cluster } = await openCluster({ ...store, log: { ...store.log, read } });
  await cluster.deploy(packageOf({ note: NOTE }));
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const deployed = cluster.deploy(packageOf({ note: NOTE.replace("seen type int", "seen type array<int>") }));
  deployed.catch(() => undefined);
  await isReached;
  await vi.advanceTimersByTimeAsync(1_100);
  vi.useRealTimers();
  goOn();
  await deployed;
  expect(await cluster.applicationNumber()).toBe(2);
});

test("a store that does not answer is asked once for what is looked for again and again", async () => {
  const memory = new ObjectMemory();
  const { store, stall } = stalling(memory);
  let [listed, isStalled] = [0, false];
  const after: ObjectStore["log"]["after"] = (name, place) => {
    if (isStalled) listed += 1;
    return store.log.after(name, place);
  };
  const rounds: (() => void)[] = [];
  const surroundings: typeof nodeSurroundings = {
    ...nodeSurroundings,
    every: (_, work) => {
      rounds.push(work);
      return () => undefined;
    },
  };
  const { cluster } = await openCluster({ ...store, log: { ...store.log, after } }, { surroundings });
  const goOn = stall();
  isStalled = true;
  for (let second = 0; second < 100; second += 1) for (const round of rounds) round();
  goOn();
  await cluster.applicationNumber();
  expect(listed).toBe(2);
});

test("a request is made again for some minute, however long the store says nothing to each", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  let asked = 0;
  const silent = async (): Promise<never> => {
    asked += 1;
    vi.advanceTimersByTime(10_000);
    throw new Error("no answer");
  };
  await expect(againWith(async () => undefined)(silent)).rejects.toMatchObject({ kind: "io" });
  expect(asked).toBe(7);
});

test("an application that the same server stored before in its place, and was not told so, is another", async () => {
  const store = memoryObjectStore();
  const again = async <Result>(ask: () => Promise<Result>): Promise<Result> => await ask();
  const [one, other] = [NOTE, NOTE.replace("seen", "read")].map((note) => ({
    number: 1,
    bytes: asPackage(packageOf({ note })),
  }));
  const stored: boolean[] = [];
  for (const application of [one, other, one] as StoredApplication[])
    stored.push(await putApplication(store, application, "the same", again));
  expect(stored).toEqual([true, false, true]);
});

test("a check is made against what another gateway has deployed, and deploys nothing", async () => {
  const memory = new ObjectMemory();
  const [{ cluster }, { cluster: other }] = [
    await openCluster(memoryObjectStore(memory)),
    await openCluster(memoryObjectStore(memory)),
  ];
  await other.deploy(packageOf({ note: NOTE }));
  await expect(cluster.checkDeployment(packageOf({ letter: NOTE.replaceAll("note", "letter") }))).rejects.toThrow(
    /schema-removal/,
  );
  const base = await cluster.applicationNumber();
  await other.deploy(packageOf({ note: NOTE.replace("seen", "read") }), base);
  await expect(cluster.deploy(packageOf({ note: NOTE }), base)).rejects.toMatchObject({ status: 409 });
  const served = other.applicationPackage();
  await cluster.checkDeployment(packageOf({ note: EMBEDDED }));
  expect([cluster.applicationPackage(), other.applicationPackage()]).toEqual([served, served]);
});

test("a copy of a bucket that has no room is not said to be taken over by another, and is read anew", async () => {
  let isFull = false;
  const openCache = (): ReturnType<typeof openMemory> => {
    const sql = openMemory();
    const run: typeof sql.run = (statement, ...bindings) => {
      if (isFull && statement.startsWith("INSERT INTO operation")) throw new StoreError("full", "SQLITE_FULL");
      sql.run(statement, ...bindings);
    };
    return { ...sql, run };
  };
  const { store, stall, asked } = stalling(new ObjectMemory());
  const { cluster, problems } = await openCluster(store, { openCache });
  await cluster.deploy(packageOf({ note: NOTE }));
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  const goOn = stall();
  const sent = asked();
  const under = put(cluster, "alice", "2", { title: "under way", seen: 2 });
  await sent;
  const waiting = put(cluster, "alice", "3", { title: "waiting", seen: 3 });
  await new Promise(setImmediate);
  isFull = true;
  const refused = put(cluster, "alice", "4", { title: "without room", seen: 4 });
  const told = Promise.allSettled([waiting, refused]);
  await new Promise(setImmediate);
  isFull = false;
  goOn();
  const message = "What this gateway had of the bucket is lost, and is read anew; try again";
  const reason = expect.objectContaining({ code: "UNAVAILABLE", message });
  expect(await told).toEqual([
    { status: "rejected", reason },
    { status: "rejected", reason },
  ]);
  expect(await under).toBe(200);
  expect(problems.map((problem) => (problem as Error).message)).toEqual(["SQLITE_FULL"]);
  const titles = ["1", "2", "3", "4"].map((name) => get(cluster, "alice", name));
  expect(await Promise.all(titles)).toMatchObject([{ seen: 1 }, { seen: 2 }, undefined, undefined]);
  await put(cluster, "alice", "3", { title: "again", seen: 3 });
  expect(await get(cluster, "alice", "3")).toMatchObject({ seen: 3 });
});

test("what is lost here is not said to be taken over by another", () => {
  expect(meaningOf(new Fenced("unknown"))).toMatchObject({ message: expect.stringContaining("Another gateway") });
  const cause = new StoreError("full", "SQLITE_FULL");
  expect(meaningOf(new Fenced("unknown", cause))).toMatchObject({
    code: "UNAVAILABLE",
    outcome: "unknown",
    message: "What this gateway had of the bucket is lost, and is read anew; try again",
  });
});
