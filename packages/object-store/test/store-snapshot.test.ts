/** Snapshots of a store, and forks of them: what they have, what they keep from being removed, and what is gone with them. */
import { join } from "node:path";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { forkStore } from "../src/fork.ts";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import { postgresObjectStore } from "../src/postgres.ts";
import { s3ObjectStore } from "../src/s3.ts";
import { listSnapshots, removeSnapshot, takeSnapshot } from "../src/store-snapshot.ts";
import { postgresFolder, REQUIRED, startPostgres, startS3, versitygw } from "./servers.ts";
import { get, NOTE, openCluster, packageOf, put, search, visitAll } from "./setting.ts";

const GROUPS = 5;
const EACH = 30;

async function fill(cluster: ObjectStoreCluster, word: string, isFolded = true): Promise<void> {
  for (let number = 0; number < GROUPS * EACH; number += 1)
    await put(cluster, `g${number % GROUPS}`, String(number), { title: `${word} ${number}`, seen: number });
  if (isFolded) for (let group = 0; group < GROUPS; group += 1) await cluster.maintain(`g:g${group}`);
}

/** Everything that a store answers. */
async function answersOf(cluster: ObjectStoreCluster, words: readonly string[]): Promise<unknown> {
  const found: unknown[] = [await visitAll(cluster)];
  for (let group = 0; group < GROUPS; group += 1) {
    for (const word of words) found.push(await search(cluster, word, [["streaming.groupname", `g${group}`]]));
    found.push(await get(cluster, `g${group}`, String(group)));
  }
  return found;
}

async function answersIn(store: ObjectStore, words: readonly string[]): Promise<unknown> {
  const { cluster, problems } = await openCluster(store);
  const answers = await answersOf(cluster, words);
  await cluster.close();
  expect(problems).toEqual([]);
  return answers;
}

async function filled(): Promise<{ readonly memory: ObjectMemory; readonly cluster: ObjectStoreCluster }> {
  const memory = new ObjectMemory();
  const { cluster } = await openCluster(memoryObjectStore(memory));
  await cluster.deploy(packageOf({ note: NOTE }));
  await fill(cluster, "river");
  return { memory, cluster };
}

const segmentsIn = ({ files }: ObjectMemory): readonly string[] =>
  [...files.keys()].filter((name) => name.startsWith("file/")).sort();

/** Replaces every document, and has all segments and pages of before collected. */
async function replaceAll(cluster: ObjectStoreCluster): Promise<void> {
  await fill(cluster, "stone");
  for (let group = 0; group < GROUPS; group += 1) {
    await cluster.erase(`g:erased${group}`);
    await cluster.maintain(`g:g${group}`);
  }
  await cluster.removeStrayFiles();
}

test("a fork of a snapshot is what the store was then, whatever became of it", async () => {
  const { memory, cluster } = await filled();
  // Some of it is in segments, some in the log alone.
  for (let group = 0; group < GROUPS; group += 1)
    await put(cluster, `g${group}`, "late", { title: "river late", seen: 1 });
  const before = await answersOf(cluster, ["river", "stone"]);
  const { id, isWhole } = await takeSnapshot(memoryObjectStore(memory));
  expect(isWhole).toBe(true);
  const kept = segmentsIn(memory);
  await replaceAll(cluster);
  await cluster.erase("g:g0");
  const after = await answersOf(cluster, ["river", "stone"]);
  expect(after).not.toEqual(before);
  expect(segmentsIn(memory)).toEqual(expect.arrayContaining([...kept]));
  const target = new ObjectMemory();
  const report = await forkStore(memoryObjectStore(memory), memoryObjectStore(target), { snapshot: id });
  expect(report.segments).toBeGreaterThan(0);
  expect(await answersIn(memoryObjectStore(target), ["river", "stone"])).toEqual(before);
  expect(await answersOf(cluster, ["river", "stone"])).toEqual(after);
});

test("a fork is written on its own", async () => {
  const { memory, cluster } = await filled();
  const target = new ObjectMemory();
  await forkStore(memoryObjectStore(memory), memoryObjectStore(target));
  const { cluster: fork } = await openCluster(memoryObjectStore(target));
  const before = await answersOf(cluster, ["river", "stone"]);
  await replaceAll(fork);
  await put(fork, "new", "1", { title: "stone", seen: 1 });
  expect(await answersOf(cluster, ["river", "stone"])).toEqual(before);
  expect((await search(fork, "stone", [["streaming.groupname", "g1"]])).count).toBe(EACH);
  expect((await search(fork, "river", [["streaming.groupname", "g1"]])).count).toBe(0);
  // The two do not know each other's secrets, and nothing is left of what the fork was made of.
  expect(fork.secret).not.toEqual(cluster.secret);
  expect(await listSnapshots(memoryObjectStore(memory))).toEqual([]);
  await expect(listSnapshots(memoryObjectStore(new ObjectMemory()))).rejects.toThrow("there is no store here");
  expect([...memory.files.keys()].filter((name) => !name.startsWith("file/"))).toEqual([]);
});

test("what a snapshot alone names goes with it, and no other file does", async () => {
  const { memory, cluster } = await filled();
  const store = memoryObjectStore(memory);
  const one = await takeSnapshot(store);
  const two = await takeSnapshot(store, { keepDays: 1 });
  expect((await listSnapshots(store)).map(({ id, expiresAt }) => [id, expiresAt])).toEqual(
    [one, two].map(({ id, expiresAt }) => [id, expiresAt]).sort(),
  );
  const kept = segmentsIn(memory);
  await replaceAll(cluster);
  const answers = await answersOf(cluster, ["river", "stone"]);
  expect(await removeSnapshot(store, one.id)).toBe(true);
  expect(await removeSnapshot(store, one.id)).toBe(false);
  // The other names the same.
  expect(segmentsIn(memory)).toEqual(expect.arrayContaining([...kept]));
  expect(await removeSnapshot(store, two.id)).toBe(true);
  expect(segmentsIn(memory).filter((name) => kept.includes(name))).toEqual([]);
  // Nothing of it is left, and nothing is too much: all that is there is named.
  expect([...memory.files.keys()].filter((name) => !name.startsWith("file/"))).toEqual([]);
  expect(await cluster.removeStrayFiles()).toBe(0);
  expect(await answersOf(cluster, ["river", "stone"])).toEqual(answers);
  await cluster.close();
  expect(await answersIn(store, ["river", "stone"])).toEqual(answers);
});

test("one whose time is over is removed by the next, or by whoever looks for what is left", async () => {
  const { memory, cluster } = await filled();
  const store = memoryObjectStore(memory);
  const over = async (): Promise<void> => {
    await takeSnapshot(store, { keepDays: 1e-9 });
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await over();
  const { id } = await takeSnapshot(store);
  expect((await listSnapshots(store)).map((one) => one.id)).toEqual([id]);
  await over();
  await cluster.removeStrayFiles();
  expect((await listSnapshots(store)).map((one) => one.id)).toEqual([id]);
});

test("while one is taken nothing that it may need is removed", async () => {
  const { memory, cluster } = await filled();
  const before = await answersOf(cluster, ["river", "stone"]);
  const store = memoryObjectStore(memory);
  let isBegun = false;
  // Just after it has read the snapshot of a bucket, all of it is replaced.
  const slow: ObjectStore = {
    ...store,
    log: {
      ...store.log,
      snapshot: async (log) => {
        const read = await store.log.snapshot(log);
        if (!isBegun && log === "bucket/0") {
          isBegun = true;
          await replaceAll(cluster);
        }
        return read;
      },
    },
  };
  const { id } = await takeSnapshot(slow);
  expect(isBegun).toBe(true);
  const target = memoryObjectStore();
  await forkStore(store, target, { snapshot: id });
  const fork = await answersIn(target, ["river", "stone"]);
  // Bucket 0 is as it was, or as it became, never half of either: so is each group.
  const after = await answersOf(cluster, ["river", "stone"]);
  (fork as readonly unknown[]).forEach((answer, index) => {
    expect([(before as readonly unknown[])[index], (after as readonly unknown[])[index]]).toContainEqual(answer);
  });
  await removeSnapshot(store, id);
  expect(await cluster.removeStrayFiles()).toBe(await cluster.removeStrayFiles());
});

test("one whose taker was killed keeps files until it is removed", async () => {
  const { memory, cluster } = await filled();
  const store = memoryObjectStore(memory);
  const broken: ObjectStore = { ...store, files: { ...store.files, put: stopsAt(store, "snapshot/") } };
  void takeSnapshot(broken).catch(() => undefined);
  await expect.poll(async () => (await listSnapshots(store)).length).toBe(1);
  const [left] = await listSnapshots(store);
  expect(left?.isWhole).toBe(false);
  const kept = segmentsIn(memory);
  await replaceAll(cluster);
  expect(segmentsIn(memory)).toEqual(expect.arrayContaining([...kept]));
  await expect(forkStore(store, memoryObjectStore(), { snapshot: left?.id ?? "" })).rejects.toThrow("is not whole");
  await removeSnapshot(store, left?.id ?? "");
  await cluster.removeStrayFiles();
  expect(segmentsIn(memory).filter((name) => kept.includes(name))).toEqual([]);
});

/** Puts nothing below a prefix, and never says so. */
function stopsAt(store: ObjectStore, prefix: string): ObjectStore["files"]["put"] {
  return (name, bytes) => (name.startsWith(prefix) ? new Promise(() => undefined) : store.files.put(name, bytes));
}

test("who takes one that is removed meanwhile is told, and leaves nothing", async () => {
  const { memory } = await filled();
  const store = memoryObjectStore(memory);
  const slow: ObjectStore = {
    ...store,
    files: {
      ...store.files,
      put: async (name, bytes) => {
        const [one] = await listSnapshots(store);
        if (name.endsWith("/application")) await removeSnapshot(store, one?.id ?? "");
        await store.files.put(name, bytes);
      },
    },
  };
  await expect(takeSnapshot(slow)).rejects.toThrow("was removed while it was taken");
  // A request that was late goes with the next.
  const { id } = await takeSnapshot(store);
  expect((await listSnapshots(store)).map((one) => one.id)).toEqual([id]);
  await removeSnapshot(store, id);
  await takeSnapshot(store).then((one) => removeSnapshot(store, one.id));
  expect([...memory.files.keys()].filter((name) => !name.startsWith("file/"))).toEqual([]);
});

test("a receipt names the snapshots that have what was erased; with them it is gone", async () => {
  const { memory, cluster } = await filled();
  const store = memoryObjectStore(memory);
  expect((await cluster.erase("g:g4")).backups).toBeUndefined();
  const { id, takenAt } = await takeSnapshot(store);
  const { backups } = await cluster.erase("g:g3");
  expect(backups).toEqual([{ id, takenAt: takenAt.toISOString() }]);
  const contains = (): boolean =>
    [...memory.files.values()].some((bytes) => Buffer.from(bytes).includes(Buffer.from("g:g3")));
  expect(contains()).toBe(true);
  await removeSnapshot(store, id);
  await cluster.removeStrayFiles();
  expect(contains()).toBe(false);
});

test("a file that cannot be removed gives no receipt", async () => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  let isRefused = false;
  const remove: ObjectStore["files"]["remove"] = async (name) => {
    if (isRefused && name.startsWith("file/")) throw new Error("access denied");
    await store.files.remove(name);
  };
  const refusing: ObjectStore = { ...store, files: { ...store.files, remove } };
  const { cluster } = await openCluster(refusing, { wait: async () => undefined });
  await cluster.deploy(packageOf({ note: NOTE }));
  await fill(cluster, "river");
  await cluster.erase("g:nobody");
  isRefused = true;
  await expect(cluster.erase("g:g1")).rejects.toMatchObject({ code: "STORE_FAILED" });
  isRefused = false;
  await cluster.erase("g:g1");
  const left = [...memory.files.values()].filter((bytes) => Buffer.from(bytes).includes(Buffer.from("g:g1")));
  expect(left).toEqual([]);
});

test("a fork is no store before its end, and can be finished", async () => {
  const { memory, cluster } = await filled();
  const before = await answersOf(cluster, ["river"]);
  const [source, target] = [memoryObjectStore(memory), memoryObjectStore()];
  const { id } = await takeSnapshot(source);
  const broken: ObjectStore = {
    ...target,
    log: {
      ...target.log,
      append: async (log, place, bytes) => {
        if (log === "about") throw new RangeError("broken off");
        return await target.log.append(log, place, bytes);
      },
    },
  };
  void forkStore(source, broken, { snapshot: id }).catch(() => undefined);
  await expect.poll(async () => (await target.log.after("application", 0)).length).toBe(1);
  await expect(openCluster(target)).rejects.toThrow("a fork into this store did not come to its end");
  await fill(cluster, "stone");
  await expect(forkStore(source, target)).rejects.toThrow("another fork was begun there");
  await forkStore(source, target, { snapshot: id });
  expect(await answersIn(target, ["river"])).toEqual(before);
  await expect(forkStore(source, target, { snapshot: id })).rejects.toThrow("there is a store at the target");
});

test("what is not a store, not there, or not empty, is refused by name", async () => {
  const { memory } = await filled();
  const source = memoryObjectStore(memory);
  await expect(takeSnapshot(memoryObjectStore())).rejects.toThrow("there is no store here");
  for (const keepDays of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e9])
    await expect(takeSnapshot(source, { keepDays })).rejects.toThrow(`a snapshot is kept for ${keepDays} days`);
  await expect(forkStore(source, memoryObjectStore(), { snapshot: "yesterday" })).rejects.toThrow(
    "there is no snapshot yesterday",
  );
  expect(await removeSnapshot(source, "yesterday")).toBe(false);
  const parts: readonly ((target: ObjectStore) => Promise<unknown>)[] = [
    (target) => target.log.append("bucket/1", 99, new Uint8Array(1)),
    (target) => target.log.append("bucket/1", 0, new Uint8Array(1)),
    (target) => target.log.replaceSnapshot("bucket/0", new Uint8Array(1), undefined),
    (target) => target.log.append("application", 7, new Uint8Array(1)),
  ];
  for (const part of parts) {
    const target = memoryObjectStore();
    await part(target);
    await expect(forkStore(source, target)).rejects.toThrow(/the target is not empty|object of the store is damaged/);
    expect(await target.log.read("about", 0)).toBeUndefined();
  }
});

test("damage is told, and no fork is made of it", async () => {
  const { memory } = await filled();
  const store = memoryObjectStore(memory);
  const { id } = await takeSnapshot(store);
  for (const name of segmentsIn(memory)) {
    const bytes = memory.files.get(name) as Uint8Array;
    for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
      const damaged = bytes.slice();
      damaged[at] = (damaged[at] ?? 0) ^ 4;
      memory.files.set(name, damaged);
      const target = memoryObjectStore();
      await expect(forkStore(store, target, { snapshot: id }), `${name} at ${at}`).rejects.toThrow("is damaged");
      expect(await target.log.read("about", 0)).toBeUndefined();
    }
    memory.files.delete(name);
    await expect(forkStore(store, memoryObjectStore(), { snapshot: id }), name).rejects.toThrow("is gone");
    memory.files.set(name, bytes);
  }
  await forkStore(store, memoryObjectStore(), { snapshot: id });
});

describe.skipIf(!REQUIRED && (versitygw() === undefined || postgresFolder() === undefined))("real stores", () => {
  test("a snapshot in an S3 service is forked there, and into PostgreSQL, and from there", async () => {
    const server = await startS3();
    onTestFinished(() => server.stop());
    const database = await startPostgres();
    onTestFinished(() => database.stop());
    const pool = new pg.Pool({ ...database.connection, max: 8 });
    pool.on("error", () => undefined);
    onTestFinished(() => pool.end());
    const at = (prefix: string): ObjectStore => s3ObjectStore({ ...server.options, prefix });
    const { cluster } = await openCluster(at("live"));
    await cluster.deploy(packageOf({ note: NOTE }));
    await fill(cluster, "river");
    await put(cluster, "g1", "late", { title: "river late", seen: 1 });
    const before = await answersOf(cluster, ["river", "stone"]);
    const { id } = await takeSnapshot(at("live"));
    await replaceAll(cluster);
    const after = await answersOf(cluster, ["river", "stone"]);
    const inPostgres = await postgresObjectStore(pool);
    await forkStore(at("live"), at(join("forks", "trial")), { snapshot: id });
    await forkStore(at("live"), inPostgres, { snapshot: id });
    expect(await removeSnapshot(at("live"), id)).toBe(true);
    await forkStore(inPostgres, at("back"));
    for (const store of [at("forks/trial"), inPostgres, at("back")])
      expect(await answersIn(store, ["river", "stone"])).toEqual(before);
    expect(await listSnapshots(inPostgres)).toEqual([]);
    expect(await cluster.removeStrayFiles()).toBe(0);
    await cluster.close();
    expect(await answersIn(at("live"), ["river", "stone"])).toEqual(after);
  });
});
