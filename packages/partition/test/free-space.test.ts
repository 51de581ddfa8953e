/** A bucket of which half was deleted gives its space back when it rests, and not before. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Bucket, partitionsInTables, type StoredChange } from "@brooklet/store";
import { expect, test } from "vitest";
import { FreeSpace } from "../src/upkeep/free-space.ts";
import { directory, folder } from "./setting.ts";

test("half of a bucket is deleted, and its file is soon less than 1.3 times what is left (P18)", async () => {
  const path = join(folder(), "data");
  const storage = directory(path);
  const identity = { bucket: 0, buckets: storage.buckets };
  const bucket = new Bucket({
    ...identity,
    open: () => storage.openBucket(0),
    partitions: partitionsInTables,
    application: 1,
    schedule: setImmediate,
  });
  const size = (): number => statSync(join(path, "buckets/000.sqlite")).size;
  const commit = (change: Partial<StoredChange>): void => {
    const none = { folded: 0, liveness: [], removedSegments: [], newSegments: [] };
    bucket.change((store) => store.commit("g:a", { ...none, ...change }, true), 1);
  };
  for (let number = 1; number <= 12; number += 1) {
    const [header, liveness] = [new Uint8Array(20), new Uint8Array(20)];
    const blocks = Array.from({ length: 50 }, (_, at) => new Uint8Array(at % 3 === 0 ? 40_000 : 4_000).fill(number));
    commit({ newSegments: [{ number, header, liveness, schema: "note", documents: 1, blocks }] });
  }
  bucket.checkpoint(true);
  const live = size() / 2;
  commit({ removedSegments: [2, 4, 6, 8, 10, 12] });
  let [turns, isIdle] = [0, true];
  const problems: unknown[] = [];
  const space = new FreeSpace(bucket, {
    turn: async () => {
      turns += 1;
    },
    isIdle: () => isIdle,
    checkpoint: () => bucket.checkpoint(true),
    onProblem: (problem) => problems.push(problem),
  });
  const give = async (): Promise<void> => {
    space.giveBack();
    await space.idle();
  };
  await give();
  expect(size(), "there is something in its log").toBeGreaterThan(1.9 * live);
  bucket.checkpoint(true);
  isIdle = false;
  await give();
  expect(size(), "there is something else to be done").toBeGreaterThan(1.9 * live);
  isIdle = true;
  await give();
  expect(problems).toEqual([]);
  expect(size()).toBeLessThan(1.3 * live);
  expect(turns, "requests run in between").toBeGreaterThan(5);
  const read = bucket.store.read([
    { segment: 3, block: 48 },
    { segment: 11, block: 1 },
  ]);
  expect(read.map((bytes) => [bytes.length, bytes[0]])).toEqual([
    [40_000, 3],
    [4_000, 11],
  ]);
  bucket.close();
  storage.close();
});
