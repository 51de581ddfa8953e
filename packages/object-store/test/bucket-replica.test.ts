/** What a replica keeps of a bucket: blocks, as many as it may, and what the directory says now. */
import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { BucketReplica } from "../src/bucket-replica.ts";
import type { Framed } from "../src/log-object.ts";
import { memoryObjectStore } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { openMemory } from "./setting.ts";

const BLOCK_BYTES = 1_000;
const EMPTY = new Uint8Array();
/** A page of so much is divided. */
const LARGE_BYTES = 600 << 10;

function replicaOver({ files }: ObjectStore, cacheBytes = 1 << 20, isHeld = false): BucketReplica {
  const replica = new BucketReplica({
    bucket: 0,
    buckets: 1,
    files,
    open: openMemory,
    nameFile: () => `file/0/${randomUUID()}`,
    held: async () => (isHeld ? undefined : new Set()),
    cacheBytes,
    again: (ask) => ask(),
    onBegin: () => undefined,
    onProblem: (error) => {
      throw error;
    },
  });
  onTestFinished(() => replica.close());
  return replica;
}

/** Writes a segment of one block, as a partition that is folded does. Settles when that is stored. */
async function writeSegment(
  replica: BucketReplica,
  key: string,
  number: number,
  { schema = "note", headerBytes = 0 } = {},
): Promise<void> {
  const blocks = [new Uint8Array(BLOCK_BYTES).fill(number)];
  const newSegments = [{ number, schema, documents: 1, header: new Uint8Array(headerBytes), liveness: EMPTY, blocks }];
  const change = { folded: 0, removedSegments: [], liveness: [], newSegments };
  replica.store.commit(key, change, true);
  const { file, stored } = replica.storeBlocks(number, blocks);
  replica.noted({ kind: "commit", application: 0, key, change, files: [file], isWhole: true });
  await stored;
}

function blocksIn({ sql }: BucketReplica): readonly number[] {
  return sql
    .all<{ segment: number }>("SELECT id >> 20 AS segment FROM block ORDER BY id")
    .map(({ segment }) => segment);
}

async function use(replica: BucketReplica, key: string): Promise<void> {
  const release = await replica.hold(key);
  release();
}

test("what is only written does not fill the cache, and what was used last stays", async () => {
  const replica = replicaOver(memoryObjectStore(), BLOCK_BYTES);
  await replica.begin(undefined);
  for (const [number, key] of ["a", "b", "c"].entries()) {
    const release = await replica.hold(key);
    await writeSegment(replica, key, number);
    release();
  }
  expect(blocksIn(replica)).toEqual([2]);
});

test("a partition that has more than the cache holds stays as long as it alone is used", async () => {
  const replica = replicaOver(memoryObjectStore(), BLOCK_BYTES);
  await replica.begin(undefined);
  for (const number of [0, 1, 2]) await writeSegment(replica, "a", number);
  await use(replica, "a");
  await use(replica, "a");
  expect(blocksIn(replica)).toEqual([0, 1, 2]);
});

test("blocks whose file is not stored yet stay until it is", async () => {
  const store = memoryObjectStore();
  let arrive = (): void => undefined;
  let arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const put: typeof store.files.put = async (...asked) => {
    const waited = arrived;
    arrived = Promise.resolve();
    await waited;
    await store.files.put(...asked);
  };
  const replica = replicaOver({ ...store, files: { ...store.files, put } }, BLOCK_BYTES);
  await replica.begin(undefined);
  const stored = writeSegment(replica, "a", 0);
  await use(replica, "a");
  await writeSegment(replica, "b", 1);
  await use(replica, "b");
  expect(blocksIn(replica)).toEqual([0, 1]);
  arrive();
  await stored;
  expect(blocksIn(replica)).toEqual([1]);
  await use(replica, "a");
  expect(blocksIn(replica)).toEqual([0]);
});

/** A store of which one read, the next when it is said, has its answer late; what gives it settles what waits for that. */
function lateStore(): { readonly store: ObjectStore; readonly nextLate: () => () => void } {
  const store = memoryObjectStore();
  let late: Promise<void> | undefined;
  const read: typeof store.files.read = async (...asked) => {
    const waited = late;
    late = undefined;
    const bytes = await store.files.read(...asked);
    await waited;
    return bytes;
  };
  const nextLate = (): (() => void) => {
    let arrive = (): void => undefined;
    late = new Promise((resolve) => {
      arrive = resolve;
    });
    return arrive;
  };
  return { store: { ...store, files: { ...store.files, read } }, nextLate };
}

/** Stores what changed as the snapshot of the bucket. */
async function snapshot(replica: BucketReplica): Promise<Framed> {
  const captured = await replica.capture();
  if (captured === undefined) throw new Error("nothing was captured");
  replica.kept();
  await replica.removed();
  return captured;
}

test.each([
  ["a page", (replica: BucketReplica) => replica.warm(["a"])],
  ["all pages", (replica: BucketReplica) => replica.warmAll()],
])("a schema that was removed does not come back with %s read before the snapshot without it", async (_, warm) => {
  const { store, nextLate } = lateStore();
  const one = replicaOver(store);
  await one.begin(undefined);
  await writeSegment(one, "a", 0, { schema: "gone" });
  await writeSegment(one, "a", 1);
  const two = replicaOver(store);
  await two.begin(await snapshot(one));
  const schemas = ["note"];
  two.store.eraseOthers(schemas, 0, 100);
  two.noted({ kind: "others", application: 0, schemas, from: 0, limit: 100 });
  const arrive = nextLate();
  const warmed = warm(two);
  await snapshot(two);
  arrive();
  await warmed;
  expect(two.sql.all("SELECT number, schema FROM segment")).toEqual([{ number: 1, schema: "note" }]);
});

test("all files that a bucket needs are named, though its directory is divided meanwhile", async () => {
  const { store, nextLate } = lateStore();
  const one = replicaOver(store);
  await one.begin(undefined);
  for (let number = 0; number < 16; number += 1) await writeSegment(one, `small${number}`, number);
  await writeSegment(one, "large", 16, { headerBytes: LARGE_BYTES });
  const needed = await store.files.names("file/");
  const two = replicaOver(store, 0, true);
  await two.begin(await snapshot(one));
  const arrive = nextLate();
  const named = two.named();
  await writeSegment(two, "larger", 17, { headerBytes: LARGE_BYTES });
  await snapshot(two);
  arrive();
  const names = await named;
  expect(needed.filter((name) => !names.has(name))).toEqual([]);
});
