import { expect, test } from "vitest";
import { FeedQueues } from "./feed-queues.ts";
import { loadShards, toSend } from "./shards/shard-load.ts";
import { ShardMaps } from "./shards/shard-map.ts";

const KEY = "g:a";
/** Larger than what a queue begins with. */
const OPERATION = new Uint8Array(100_000).fill(7);

/** What waits when `count` operations were added. */
function takeFilled(queues: FeedQueues, count: number): ReturnType<ReturnType<FeedQueues["of"]>["take"]> {
  const queue = queues.of(KEY);
  const numbers = Array.from({ length: count }, (_, at) => [at, at + 1, 0, OPERATION.length]).flat();
  queue.add(0, OPERATION, { key: KEY, ids: "x".repeat(count), numbers: Uint32Array.from(numbers) });
  return queue.take();
}

test("what one feed has loaded is room for the next feed, and holds what that adds", () => {
  const feed = new FeedQueues();
  const first = takeFilled(feed, 3);
  const memory = first.load.operations.buffer;
  feed.giveBack(first);
  const { load } = takeFilled(new FeedQueues(), 2);
  expect(load.operations.buffer).toBe(memory);
  expect(load.operations.length).toBe(2 * (OPERATION.length + 3));
  const other = takeFilled(new FeedQueues(), 2);
  expect(other.load.operations.buffer).not.toBe(memory);
});

test("a queue of one short operation is counted with all the memory that it has", () => {
  const queue = new FeedQueues().of(KEY);
  const bytes = queue.add(0, OPERATION.subarray(0, 80), {
    key: KEY,
    ids: "x",
    numbers: Uint32Array.from([0, 1, 0, 80]),
  });
  expect(bytes).toBe(queue.bytes);
  const batch = queue.take();
  expect(batch.load.operations.buffer.byteLength).toBeLessThanOrEqual(bytes);
  expect([batch.bytes, queue.bytes]).toEqual([bytes, 0]);
});

test("the longest queues make room, as long as all that wait take more than they may", () => {
  const queues = new FeedQueues();
  const lengths = [100, 50_000, 300, 90_000];
  const added = lengths.map((length, at) =>
    queues.of(`g:${at}`).add(0, OPERATION, { key: `g:${at}`, ids: "x", numbers: Uint32Array.from([0, 1, 0, length]) }),
  );
  const all = added.reduce((sum, bytes) => sum + bytes);
  const keys = (bytes: number): readonly string[] => queues.longest(bytes, all).map(({ key }) => key);
  expect(keys(all)).toEqual([]);
  expect(keys(all - 1)).toEqual(["g:3"]);
  expect(keys(all - (added[3] ?? 0) - 1)).toEqual(["g:3", "g:1"]);
  queues.of("g:3").isLoading = true;
  expect(keys(all - 1)).toEqual(["g:1"]);
});

test("what is loaded here is not copied; what is sent has a buffer of its own", async () => {
  const { load } = takeFilled(new FeedQueues(), 2);
  expect(load.operations.byteLength).toBeLessThan(load.operations.buffer.byteLength);
  const asked: Uint8Array[] = [];
  await loadShards(new ShardMaps(), KEY, load, async (_, sent) => {
    asked.push(sent.operations);
    return { result: [] };
  });
  expect(asked[0]?.buffer).toBe(load.operations.buffer);
  const sent = toSend(load);
  expect(sent.operations.buffer).not.toBe(load.operations.buffer);
  expect(sent.operations.byteLength).toBe(sent.operations.buffer.byteLength);
  expect(Buffer.compare(sent.operations, load.operations)).toBe(0);
});
