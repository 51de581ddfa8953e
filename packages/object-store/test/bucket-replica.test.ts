/** What a replica keeps of a bucket: blocks, as many as it may, and what the directory says now. */
import { expect, onTestFinished, test } from "vitest";
import { BucketReplica } from "../src/bucket-replica.ts";
import { memoryObjectStore } from "../src/memory.ts";
import type { ObjectStore } from "../src/object-store.ts";
import { openMemory } from "./setting.ts";

const BLOCK_BYTES = 1_000;
const EMPTY = new Uint8Array();

function replicaOver({ files }: ObjectStore, cacheBytes = 1 << 20): BucketReplica {
  let named = 0;
  const replica = new BucketReplica({
    bucket: 0,
    buckets: 1,
    files,
    open: openMemory,
    nameFile: () => `file/0/${named++}`,
    held: async () => new Set(),
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
async function writeSegment(replica: BucketReplica, key: string, number: number, schema = "note"): Promise<void> {
  const blocks = [new Uint8Array(BLOCK_BYTES).fill(number)];
  const newSegments = [{ number, schema, documents: 1, header: EMPTY, liveness: EMPTY, blocks }];
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
