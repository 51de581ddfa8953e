/** What servers that were killed left in the store goes, and nothing else. */
import { expect, test } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import type { ObjectStoreCluster } from "../src/object-store-cluster.ts";
import { S3Error } from "../src/s3.ts";
import { NOTE, openCluster, packageOf, put, search } from "./setting.ts";

const GROUPS = 6;
const EACH = 40;

async function fill(cluster: ObjectStoreCluster, from: number): Promise<void> {
  for (let number = 0; number < GROUPS * EACH; number += 1)
    await put(cluster, `g${number % GROUPS}`, `${from}-${number}`, { title: `note ${number}`, seen: number });
  for (let group = 0; group < GROUPS; group += 1) await cluster.maintain(`g:g${group}`);
}

async function counted(cluster: ObjectStoreCluster): Promise<readonly number[]> {
  const counts: number[] = [];
  for (let group = 0; group < GROUPS; group += 1)
    counts.push((await search(cluster, "note", [["streaming.groupname", `g${group}`]])).count);
  return counts;
}

test("files that nothing names go, whoever stored them, and all documents stay", async () => {
  const memory = new ObjectMemory();
  const { cluster: one, problems } = await openCluster(memoryObjectStore(memory));
  await one.deploy(packageOf({ note: NOTE }));
  await fill(one, 1);
  const { cluster: two } = await openCluster(memoryObjectStore(memory));
  await fill(two, 2);
  // As one that was killed between a file and the record of it leaves them.
  for (const bucket of [0, 1]) memory.files.set(`file/${bucket}/${"0".repeat(24)}-7`, new Uint8Array(100));
  memory.files.set("file/10/of-another-bucket-1", new Uint8Array(100));
  const whole = Array.from({ length: GROUPS }, () => 2 * EACH);
  expect(await counted(one)).toEqual(whole);
  // One that owns nothing removes nothing.
  expect(await one.removeStrayFiles()).toBe(0);
  expect(await two.removeStrayFiles()).toBe(2);
  expect([...memory.files.keys()].filter((name) => name.includes("00000000"))).toEqual([]);
  expect(memory.files.has("file/10/of-another-bucket-1")).toBe(true);
  expect(await two.removeStrayFiles()).toBe(0);
  expect([await counted(one), await counted(two)]).toEqual([whole, whole]);
  await two.close();
  const { cluster: three } = await openCluster(memoryObjectStore(memory));
  expect(await counted(three)).toEqual(whole);
  expect(problems).toEqual([]);
});

test("one that loses the bucket while it looks removes nothing", async () => {
  const memory = new ObjectMemory();
  let meanwhile: (() => Promise<void>) | undefined;
  const store = memoryObjectStore(memory);
  const names = store.files.names.bind(store.files);
  const { cluster: one } = await openCluster({
    ...store,
    files: {
      ...store.files,
      names: async (...asked) => {
        const found = await names(...asked);
        const work = meanwhile;
        meanwhile = undefined;
        await work?.();
        return found;
      },
    },
  });
  await one.deploy(packageOf({ note: NOTE }));
  await fill(one, 1);
  const { cluster: two } = await openCluster(memoryObjectStore(memory));
  memory.files.set(`file/0/${"0".repeat(24)}-7`, new Uint8Array(100));
  meanwhile = () => fill(two, 2);
  await one.removeStrayFiles().catch(() => 0);
  const whole = Array.from({ length: GROUPS }, () => 2 * EACH);
  expect([await counted(one), await counted(two)]).toEqual([whole, whole]);
  await two.removeStrayFiles();
  expect(memory.files.has(`file/0/${"0".repeat(24)}-7`)).toBe(false);
  expect(await counted(two)).toEqual(whole);
});

test("a file that was removed, and comes again by a request that was late, goes though its server lives", async () => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  let late: readonly [name: string, bytes: Uint8Array] | undefined;
  const put: typeof store.files.put = async (name, bytes) => {
    if (late === undefined && name.startsWith("file/")) {
      late = [name, bytes.slice()];
      throw new Error("no answer");
    }
    await store.files.put(name, bytes);
  };
  const { cluster } = await openCluster({ ...store, files: { ...store.files, put } });
  await cluster.deploy(packageOf({ note: NOTE }));
  await fill(cluster, 1);
  for (let group = 0; group < GROUPS; group += 1) await cluster.erase(`g:g${group}`);
  if (late === undefined) throw new Error("nothing was stored");
  const [name, bytes] = late;
  expect(memory.files.has(name)).toBe(false);
  memory.files.set(name, bytes);
  expect(await cluster.removeStrayFiles()).toBe(1);
  expect(memory.files.has(name)).toBe(false);
});

test.each([
  ["a segment", 1],
  ["a page of a snapshot", 2],
])("a file of %s that its server gave up, and that comes late, goes though that server lives", async (_, skipped) => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  let late: readonly [name: string, bytes: Uint8Array] | undefined;
  let left = Number.POSITIVE_INFINITY;
  const faulty: typeof store.files.put = async (name, bytes) => {
    left -= 1;
    if (left === 0) late = [name, bytes.slice()];
    if (left === 0) throw new Error("no answer");
    // Its keys have ended meanwhile, and are given anew.
    if (left === -1) throw new S3Error("answered 403: <Error><Code>ExpiredToken</Code></Error>", 403);
    await store.files.put(name, bytes);
  };
  const { cluster } = await openCluster({ ...store, files: { ...store.files, put: faulty } }, { buckets: 1 });
  await cluster.deploy(packageOf({ note: NOTE }));
  await fill(cluster, 1);
  left = skipped;
  await put(cluster, "g0", "another", { title: "note", seen: 1 });
  await cluster.maintain("g:g0").catch(() => undefined);
  await cluster.erase("g:g5").catch(() => undefined);
  if (late === undefined) throw new Error("nothing was stored");
  const [name, bytes] = late;
  expect(memory.files.has(name)).toBe(false);
  const before = await counted(cluster);
  await cluster.maintain("g:g0");
  memory.files.set(name, bytes);
  expect(await cluster.removeStrayFiles()).toBeGreaterThanOrEqual(1);
  expect(memory.files.has(name)).toBe(false);
  expect(await cluster.removeStrayFiles()).toBe(0);
  expect(await counted(cluster)).toEqual(before);
  const { cluster: other } = await openCluster(memoryObjectStore(memory));
  expect(await counted(other)).toEqual(before);
});
