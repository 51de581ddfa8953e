import type { FedOperation } from "@brooklet/partition";
import { nodeSurroundings } from "@brooklet/partition/node";
import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import type { ObjectStoreCluster, ObjectStoreClusterOptions } from "../src/object-store-cluster.ts";
import { get, NOTE, openCluster, packageOf, put } from "./setting.ts";

const OTHER = packageOf({ note: NOTE.replace("seen type int", "seen type array<int>") });
/** Two servers over one memory, of which the first deploys. `before` is called before its application is stored, or its logs are read. */
async function pair(
  before: (call: "application" | "read") => Promise<void>,
  options: Partial<ObjectStoreClusterOptions> = {},
): Promise<readonly [ObjectStoreCluster, ObjectStoreCluster, ObjectMemory]> {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  const log: ObjectStore["log"] = {
    ...store.log,
    append: async (name, place, bytes) => {
      if (name === "application" && place > 1) await before("application");
      return await store.log.append(name, place, bytes);
    },
    read: async (name, place) => {
      if (name.startsWith("bucket/")) await before("read");
      return await store.log.read(name, place);
    },
  };
  const { cluster: one } = await openCluster({ ...store, log });
  await one.deploy(packageOf({ note: NOTE }));
  const { cluster: two } = await openCluster(memoryObjectStore(memory), options);
  for (const name of ["alice", "bob", "carol"]) await put(two, name, "1", { title: "a note" });
  return [one, two, memory];
}

test("what another server writes while a deployment is stored is decided by that", async () => {
  const late: Promise<unknown>[] = [];
  let waits!: () => void;
  const isWaiting = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const before = async (call: "application" | "read"): Promise<void> => {
    if (call !== "application") return;
    for (const [group, seen] of [
      ["alice", 5],
      ["bob", [6]],
      ["carol", 7],
    ] as const)
      late.push(put(two, group, "2", { title: "a note", seen }).catch((error: unknown) => error));
    await isWaiting;
  };
  const wait = async (): Promise<void> => {
    waits();
    await new Promise(setImmediate);
  };
  const [one, two] = await pair(before, { wait });
  const { warnings } = await one.deploy(OTHER);
  expect(warnings).toContainEqual(expect.stringMatching(/Field 'seen'.* no stored document has a value/));
  const refused = expect.objectContaining({ status: 400 });
  expect(await Promise.all(late)).toEqual([refused, 200, refused]);
  expect(await get(one, "bob", "2")).toEqual({ title: "a note", seen: [6] });
});

test("what another server writes while a deployment looks refuses it, and nothing waits for that afterwards", async () => {
  let isLooking = false;
  const [one, two] = await pair(async (call) => {
    if (call !== "read" || !isLooking) return;
    isLooking = false;
    await put(two, "alice", "2", { title: "a note", seen: 5 });
  });

  const deployed = one.deploy(OTHER);
  isLooking = true;
  await expect(deployed).rejects.toThrow(/^field-type-change: Field 'seen'/);
  expect(await get(one, "alice", "2")).toEqual({ title: "a note", seen: 5 });
  for (const [at, cluster] of [one, two].entries()) await put(cluster, "bob", `${at}`, { title: "a note", seen: at });
});

test("what a server itself writes while it seals the buckets refuses its deployment", async () => {
  const store = memoryObjectStore();
  let isSealing = false;
  const append: ObjectStore["log"]["append"] = async (name, place, bytes) => {
    if (isSealing && name === "bucket/1") {
      isSealing = false;
      await put(cluster, group, "1", { title: "a note", seen: 5 });
    }
    return await store.log.append(name, place, bytes);
  };
  const { cluster } = await openCluster({ ...store, log: { ...store.log, append } });
  const group = ["alice", "bob", "carol"].find((name) => cluster.bucketOf(`g:${name}`) === 0) as string;
  await cluster.deploy(packageOf({ note: NOTE }));
  isSealing = true;
  await expect(cluster.deploy(OTHER)).rejects.toThrow(/^field-type-change: Field 'seen'/);
  expect(await get(cluster, group, "1")).toEqual({ title: "a note", seen: 5 });
});

test("what is fed through a server is not refused by what was deployed before another server deployed", async () => {
  const [one, two] = await pair(async () => undefined);
  const fed = async (...notes: readonly (readonly [name: string, fields: object])[]) => {
    const lines = notes.map(([name, fields]) => JSON.stringify({ put: `id:test:note:g=alice:${name}`, fields }));
    const pieces = async function* () {
      yield new TextEncoder().encode(lines.join("\n"));
    };
    const told: FedOperation[] = [];
    for await (const some of two.feed(pieces(), { timeoutMs: 60_000 })) told.push(...some);
    return told.sort((left, right) => left.number - right.number).map(({ outcome }) => outcome);
  };
  await one.deploy(
    packageOf({ note: NOTE.replace("field title", "field place type string { indexing: summary } field title") }),
  );
  expect(await fed(["2", { place: "here" }], ["3", { place: "there" }])).toEqual([{ status: 200 }, { status: 200 }]);
  expect(await get(one, "alice", "3")).toEqual({ place: "there" });
  await one.deploy(
    packageOf({ note: NOTE.replace("field title", "field day type string { indexing: summary } field title") }),
  );
  // One is written: the other is for the caller to do again.
  const again = ["5", { day: "Monday" }] as const;
  const [written, late] = await fed(["4", { title: "a note" }], again);
  expect([written, late]).toEqual([{ status: 200 }, expect.objectContaining({ status: 503, outcome: "not_applied" })]);
  expect(await get(one, "alice", "5")).toBeUndefined();
  expect(await fed(again)).toEqual([{ status: 200 }]);
  expect(await fed(["6", { place: "here" }])).toEqual([expect.objectContaining({ status: 400 })]);
});

test("a deployment that is not stored in time is given up by who has to write", async () => {
  let nowMs = 0;
  let stored!: () => void;
  const isStored = new Promise<void>((resolve) => {
    stored = resolve;
  });
  let reached!: () => void;
  const isReached = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const [one, two] = await pair(
    async (call) => {
      if (call !== "application") return;
      reached();
      await isStored;
    },
    {
      surroundings: { ...nodeSurroundings, sharedMs: () => nowMs },
      wait: async (milliseconds) => {
        nowMs += milliseconds;
        await new Promise(setImmediate);
      },
    },
  );
  const deployed = one.deploy(OTHER).catch((error: unknown) => error);
  await isReached;
  expect(await put(two, "alice", "2", { title: "a note", seen: 5 })).toBe(200);
  stored();
  // It looks again, and finds what was written meanwhile.
  expect(await deployed).toMatchObject({ status: 400, message: expect.stringMatching(/^field-type-change/) });
  expect(await get(one, "alice", "2")).toEqual({ title: "a note", seen: 5 });
  await put(one, "alice", "3", { title: "a note", seen: 6 });
  expect(await get(two, "alice", "3")).toEqual({ title: "a note", seen: 6 });
});

test("who was taken over from after a deployment answers nothing that is old", async () => {
  const memory = new ObjectMemory();
  const { cluster: one } = await openCluster(memoryObjectStore(memory));
  await one.deploy(packageOf({ note: NOTE }));
  await put(one, "alice", "1", { title: "old" });
  const { cluster: two } = await openCluster(memoryObjectStore(memory));
  await two.deploy(packageOf({ note: NOTE.replace("seen type int", "seen type array<int>") }));
  await put(two, "alice", "1", { title: "new" });
  // It serves the other application, and has not written the group anew for it.
  expect(await one.applicationNumber()).toBe(2);
  expect(await get(one, "alice", "1")).toEqual({ title: "new" });
});

test("a deployment that could not be stored in time is in nobody's way when the store is back", async () => {
  const store = memoryObjectStore();
  let isAway = false;
  const append: ObjectStore["log"]["append"] = async (name, place, bytes) => {
    if (isAway && name === "application") throw new Error("away");
    return await store.log.append(name, place, bytes);
  };
  const { cluster } = await openCluster(
    { ...store, log: { ...store.log, append } },
    { wait: () => new Promise(setImmediate) },
  );
  await cluster.deploy(packageOf({ note: NOTE }));
  const base = await cluster.applicationNumber();
  isAway = true;
  await expect(cluster.deploy(OTHER, base)).rejects.toThrow("The storage failed");
  isAway = false;
  await cluster.deploy(OTHER, base);
  await put(cluster, "alice", "1", { title: "a note", seen: [5] });
  expect(await get(cluster, "alice", "1")).toEqual({ title: "a note", seen: [5] });
});

test("a field that was deployed is there at once, whichever gateway is asked to write it", async () => {
  const still = { surroundings: { ...nodeSurroundings, every: () => () => undefined } };
  const memory = new ObjectMemory();
  const { cluster: one } = await openCluster(memoryObjectStore(memory), still);
  await one.deploy(packageOf({ note: NOTE }));
  const { cluster: two, problems } = await openCluster(memoryObjectStore(memory), still);
  await put(two, "alice", "1", { title: "note", seen: 1 });
  await one.deploy(
    packageOf({ note: NOTE.replace("field seen", "field tag type int { indexing: summary } field seen") }),
  );
  expect(await put(two, "alice", "1", { title: "note", seen: 1, tag: 5 })).toBe(200);
  expect(await get(one, "alice", "1")).toMatchObject({ tag: 5 });
  // What is wrong by both is refused.
  await expect(put(two, "alice", "1", { other: 5 })).rejects.toMatchObject({ status: 400, outcome: "not_applied" });
  expect(problems).toEqual([]);
});
