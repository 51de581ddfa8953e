import process from "node:process";
import { expect, onTestFinished, test, vi } from "vitest";
import { memoryObjectStore, ObjectMemory } from "../src/memory.ts";
import { S3Error } from "../src/s3.ts";
import { gateways, get, NOTE, openCluster, packageOf, put, search, visitAll } from "./setting.ts";

const decode = (bytes: Uint8Array): string => new TextDecoder("latin1").decode(bytes);

test("what one gateway acknowledged, all others answer", async () => {
  const { clusters, problems } = await gateways(3);
  const [one, two, three] = clusters as [(typeof clusters)[0], (typeof clusters)[0], (typeof clusters)[0]];
  await put(one, "alice", "1", { title: "first note", seen: 1 });
  expect(await get(two, "alice", "1")).toEqual({ title: "first note", seen: 1 });
  // Another takes the bucket over, and the one before reads what it wrote.
  await put(two, "alice", "2", { title: "second note", seen: 2 });
  await put(three, "alice", "3", { title: "third note", seen: 3 });
  expect(await search(one, "note", [["streaming.groupname", "alice"]])).toMatchObject({ count: 3 });
  // Conditions are decided on what is there, whoever wrote it.
  expect(await put(one, "alice", "1", { title: "changed note", seen: 4 }, "note.seen == 1")).toBe(200);
  expect(await put(two, "alice", "1", { title: "lost note", seen: 5 }, "note.seen == 1")).toBe(412);
  expect(await get(three, "alice", "1")).toEqual({ title: "changed note", seen: 4 });
  // One that owned the bucket and does not know that it lost it refuses nothing for what it has.
  await put(one, "alice", "1", { title: "mine", seen: 6 });
  await put(two, "alice", "1", { title: "yours", seen: 7 });
  expect(await put(one, "alice", "1", { title: "mine again", seen: 8 }, "note.seen == 7")).toBe(200);
  expect(problems.flat()).toEqual([]);
});

test("a gateway that begins finds everything in snapshot, files and log", async () => {
  const memory = new ObjectMemory();
  const { cluster: first } = await openCluster(memoryObjectStore(memory));
  await first.deploy(packageOf({ note: NOTE }));
  for (let number = 0; number < 300; number += 1)
    await put(first, `g${number % 5}`, String(number), { title: `note ${number}`, seen: number });
  await first.idle();
  await first.close();
  expect(memory.snapshots.size).toBeGreaterThan(0);
  const { cluster: second, problems } = await openCluster(memoryObjectStore(memory));
  expect(second.application()?.schemas.map(({ name }) => name)).toEqual(["note"]);
  expect(await search(second, "note", [["streaming.groupname", "g3"]])).toMatchObject({ count: 60 });
  expect((await visitAll(second)).length).toBe(300);
  expect(await search(second, "note", [["streaming.selection", "true"]])).toMatchObject({ count: 300 });
  await put(second, "g3", "more", { title: "one more note", seen: 0 });
  expect(await search(second, "note", [["streaming.groupname", "g3"]])).toMatchObject({ count: 61 });
  expect(problems).toEqual([]);
});

test.each([
  ["refuses", (): Promise<never> => Promise.reject(new Error("no route"))],
  ["does not answer", (): Promise<never> => new Promise(() => undefined)],
])("a gateway is closed though its store %s, and what it acknowledged is there", async (_, answer) => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  let isThere = true;
  const whileThere = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const call: unknown = Reflect.get(target, name);
        return typeof call === "function" && !isThere ? answer : call;
      },
    });
  const { cluster, problems } = await openCluster(
    { ...store, log: whileThere(store.log), files: whileThere(store.files) },
    { closeMs: 200 },
  );
  await cluster.deploy(packageOf({ note: NOTE }));
  await put(cluster, "alice", "1", { title: "first note", seen: 1 });
  isThere = false;
  // Time enough to begin it here, on whatever machine.
  await expect(put(cluster, "alice", "2", { title: "second note", seen: 2 }, "", 2_000)).rejects.toMatchObject({
    status: 504,
    outcome: "unknown",
  });
  await cluster.close();
  expect(problems).toContainEqual(expect.objectContaining({ message: expect.stringMatching(/does not answer/) }));
  const { cluster: next } = await openCluster(store);
  expect(await get(next, "alice", "1")).toEqual({ title: "first note", seen: 1 });
});

test("who closes a gateway that is being closed waits for the same end", async () => {
  const { cluster } = await openCluster(memoryObjectStore(new ObjectMemory()));
  await cluster.deploy(packageOf({ note: NOTE }));
  await put(cluster, "alice", "1", { title: "first note", seen: 1 });
  const ends: string[] = [];
  const first = cluster.close().then(() => ends.push("first"));
  await cluster.close();
  ends.push("second");
  await first;
  expect(ends).toEqual(["first", "second"]);
});

test("a group that was erased is nowhere in the store", async () => {
  const { clusters, memory } = await gateways(2);
  const [one, two] = clusters as [(typeof clusters)[0], (typeof clusters)[0]];
  for (let number = 0; number < 150; number += 1)
    await put(one, "alice", String(number), { title: `canaryword ${number}`, seen: number });
  await put(one, "bob", "1", { title: "stays", seen: 1 });
  await one.idle();
  expect(await search(two, "canaryword", [["streaming.groupname", "alice"]])).toMatchObject({ count: 150 });
  await two.erase("g:alice");
  expect(await search(one, "canaryword", [["streaming.groupname", "alice"]])).toMatchObject({ count: 0 });
  expect(await get(one, "bob", "1")).toEqual({ title: "stays", seen: 1 });
  const stored = [
    ...memory.files.values(),
    ...[...memory.places.values()].flatMap((places) => [...places.values()]),
    ...[...memory.snapshots.values()].map(({ bytes }) => bytes),
  ];
  for (const bytes of stored) {
    const text = decode(bytes);
    expect(text.includes("canaryword")).toBe(false);
    expect(text.includes("g:alice")).toBe(false);
  }
});

test.each([
  ["was killed", (): Promise<never> => new Promise(() => undefined)],
  ["was refused", (): Promise<never> => Promise.reject(new S3Error("answered 403: AccessDenied", 403))],
])("a group that is erased is nowhere in the store, though who collected its log before %s", async (_, remove) => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  const opened = await openCluster({ ...store, log: { ...store.log, remove } }, { buckets: 1, closeMs: 1 });
  await opened.cluster.deploy(packageOf({ note: NOTE }));
  await put(opened.cluster, "alice", "1", { title: "canaryword", seen: 1 });
  const before = [...memory.snapshots.values()].at(0)?.tag;
  opened.cluster.erase("g:bob").catch(() => undefined);
  await expect.poll(() => [...memory.snapshots.values()].at(0)?.tag).not.toBe(before);
  await opened.cluster.close();
  const places = (): string => [...(memory.places.get("bucket/0")?.values() ?? [])].map(decode).join();
  expect(places()).toContain("canaryword");
  const after = vi.fn(store.log.after);
  const { cluster: other, problems } = await openCluster({ ...store, log: { ...store.log, after } });
  await other.erase("g:alice");
  expect(places()).not.toContain("canaryword");
  // Whoever owns a bucket knows what it has collected.
  expect(after.mock.calls.filter(([log]) => log === "bucket/0")).toHaveLength(1);
  await put(other, "alice", "2", { title: "another", seen: 2 });
  await other.erase("g:alice");
  expect(after.mock.calls.filter(([log]) => log === "bucket/0")).toHaveLength(1);
  expect(problems).toEqual([]);
});

test("folds that wait when a gateway is closed are no failures, and nothing is lost", async () => {
  const memory = new ObjectMemory();
  const { cluster, problems } = await openCluster(memoryObjectStore(memory), { buckets: 1 });
  await cluster.deploy(packageOf({ note: NOTE }));
  const groups = Array.from({ length: 20 }, (_, number) => `g${number}`);
  for (const group of groups)
    for (let name = 0; name < 5; name += 1) await put(cluster, group, String(name), { title: "a note", seen: name });
  let refused = 0;
  const folds = groups.map((group) =>
    cluster.maintain(`g:${group}`).catch(() => {
      refused += 1;
    }),
  );
  await Promise.race(folds);
  await cluster.close();
  await Promise.all(folds);
  expect(refused).toBeGreaterThan(0);
  expect(problems).toEqual([]);
  const { cluster: other } = await openCluster(memoryObjectStore(memory));
  for (const group of groups) expect((await search(other, "note", [["streaming.groupname", group]])).count).toBe(5);
});

test("folds that follow each other while the store is slow are each what they were", async () => {
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  const slowly: typeof store.files.put = async (name, bytes) => {
    // What is not waited for is done by then.
    for (let turn = 0; turn < 100; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await store.files.put(name, bytes);
  };
  const { cluster } = await openCluster({ ...store, files: { ...store.files, put: slowly } }, { buckets: 1 });
  await cluster.deploy(packageOf({ note: NOTE }));
  const groups = ["alice", "bob", "carol", "dave"];
  for (const [index, group] of groups.entries())
    for (let name = 0; name < 10 * (index + 1); name += 1)
      await put(cluster, group, String(name), { title: `note of ${group}`, seen: name });
  // One begins when the one before is done here, long before that is in the log.
  await Promise.all(groups.map((group) => cluster.maintain(`g:${group}`)));
  const { cluster: other, problems } = await openCluster(memoryObjectStore(memory));
  for (const [index, group] of groups.entries()) {
    expect((await search(other, group, [["streaming.groupname", group]])).count).toBe(10 * (index + 1));
    expect(await get(other, group, "9")).toEqual({ title: `note of ${group}`, seen: 9 });
  }
  expect(problems).toEqual([]);
});

test("what is refused while another write cannot be finished is told to who asked, and to nobody else", async () => {
  const unheard: unknown[] = [];
  const hear = (error: unknown): void => void unheard.push(error);
  process.on("unhandledRejection", hear);
  onTestFinished(() => void process.off("unhandledRejection", hear));
  const memory = new ObjectMemory();
  const store = memoryObjectStore(memory);
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  let arrived = Promise.resolve();
  const append: typeof store.log.append = async (log, place, bytes) => {
    await arrived;
    return await store.log.append(log, place, bytes);
  };
  const { cluster, problems } = await openCluster({ ...store, log: { ...store.log, append } });
  await cluster.deploy(packageOf({ note: NOTE }));
  await put(cluster, "alice", "1", { title: "first", seen: 1 });
  let arrive = (): void => undefined;
  arrived = new Promise((resolve) => {
    arrive = resolve;
  });
  const written = put(cluster, "alice", "1", { title: "second", seen: 2 });
  await turns();
  // It is refused at once, and has to hear whether that is still so when the write before it is stored.
  const refused = put(cluster, "alice", "2", { title: "third", seen: 3 }, "note.seen == 9");
  await turns();
  // The place of that write is taken, by something that nobody can read.
  for (const places of memory.places.values()) places.set(Math.max(...places.keys()) + 1, new Uint8Array(40).fill(7));
  arrive();
  const told = await Promise.allSettled([written, refused]);
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(problems).not.toEqual([]);
  await turns();
  expect(unheard).toEqual([]);
});
