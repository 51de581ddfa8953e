/** Many loads of tails that come at once: requests run in between, and those of a bucket are told together. */
import { Bucket, partitionsInTables } from "@brooklet/store";
import { expect, test } from "vitest";
import { clock } from "../src/clock.ts";
import { SLICE_MS, TOLD_BYTES, TOLD_LOADS, TOLD_OPERATIONS } from "../src/limits.ts";
import { TailLoads } from "../src/maintenance/tail-loads.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { openSql } from "./setting.ts";

const { schedule } = nodeSurroundings;
const one = { count: 1, operations: new Uint8Array(10) };

function bucketOf(bucket: number): Bucket {
  return new Bucket({ bucket, buckets: 2, application: 1, open: openSql, partitions: partitionsInTables, schedule });
}

/** Loads of which each takes a slice; `made` and `told` have the turns in which each was. */
function setting() {
  let turns = 0;
  const loads = new TailLoads(async () => {
    await nodeSurroundings.turn();
    turns += 1;
  });
  const [made, told] = [new Map<string, number>(), new Map<string, number>()];
  const load = async (bucket: Bucket, name: string, size = one): Promise<void> => {
    const work = async (): Promise<string> => {
      for (const start = Date.now(); Date.now() - start <= SLICE_MS; );
      // Where the clock stands still, work moves it.
      clock.worked({ bytes: SLICE_MS << 20, paused: false });
      made.set(name, turns);
      if (name === "bad") throw new Error("bad");
      return name;
    };
    const result = await loads.make(bucket, size, work);
    expect(result).toBe(name);
    told.set(name, turns);
  };
  return { made, told, load };
}

test("each has a turn of its own, a bucket after the other, and those of a bucket are told in one turn", async () => {
  const { made, told, load } = setting();
  const [first, second] = [bucketOf(0), bucketOf(1)];
  await Promise.all([load(first, "a1"), load(second, "b1"), load(first, "a2"), load(second, "b2"), load(first, "a3")]);
  expect([...made.keys()]).toEqual(["a1", "a2", "a3", "b1", "b2"]);
  expect(new Set(made.values()).size).toBe(5);
  const turnsOf = (...names: string[]): number => new Set(names.map((name) => told.get(name))).size;
  expect([turnsOf("a1", "a2", "a3"), turnsOf("b1", "b2")]).toEqual([1, 1]);
});

test("no more are told together than a commit takes", async () => {
  const { told, load } = setting();
  const bucket = bucketOf(0);
  const half = { count: TOLD_OPERATIONS / 2, operations: new Uint8Array(10) };
  const large = { count: 1, operations: new Uint8Array(TOLD_BYTES - 10) };
  await Promise.all([
    load(bucket, "a", half),
    load(bucket, "b", half),
    load(bucket, "c", large),
    load(bucket, "d", one),
    load(bucket, "e", one),
  ]);
  const order = [...told.values()];
  expect(order.map((turn) => order.indexOf(turn))).toEqual([0, 0, 2, 2, 4]);
});

test("one that fails fails alone, and those after it are done", async () => {
  const { told, load } = setting();
  const bucket = bucketOf(0);
  const outcomes = await Promise.allSettled(["a", "bad", "b"].map((name) => load(bucket, name)));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  await load(bucket, "later");
  expect([...told.keys()]).toEqual(["a", "b", "later"]);
});

test("of very many small loads a turn tells as many as one commit takes", async () => {
  let turns = 0;
  const loads = new TailLoads(async () => {
    await nodeSurroundings.turn();
    turns += 1;
  });
  const bucket = bucketOf(0);
  const told = new Map<number, number>();
  const load = async (): Promise<void> => {
    await loads.make(bucket, one, async () => undefined);
    told.set(turns, (told.get(turns) ?? 0) + 1);
  };
  await Promise.all(Array.from({ length: 2 * TOLD_LOADS + 1 }, load));
  expect([...told.values()].reduce((sum, count) => sum + count)).toBe(2 * TOLD_LOADS + 1);
  expect(Math.max(...told.values())).toBeLessThanOrEqual(TOLD_LOADS);
});
