/** What the notes of shards say together, and what of it is seen that is lost, older, or left over. */
import type { NotedPartition } from "@brooklet/store";
import { expect, test } from "vitest";
import { afterSplit, objectName, recordToFill, type ShardName, type ShardRecord, WHOLE } from "../src/shards/shard.ts";
import { mendedShards, shardDamage, shownPartition, storedShards } from "../src/shards/stored-shards.ts";

const KEY = "g:large";

/** The shards of a group after splits, each of a shard at a time. */
function splitBy(...splits: readonly (readonly [shard: number, at: number])[]): Map<number, ShardRecord> {
  const records = new Map<number, ShardRecord>([[0, WHOLE]]);
  for (const [shard, attempt] of splits) {
    const parent = records.get(shard) as ShardRecord;
    const after = afterSplit(parent, attempt);
    const child = after.children.at(-1) as ShardName;
    records.set(shard, after);
    const bits = { bits: after.bits, number: child.number };
    records.set(child.number, { ...recordToFill(undefined, bits, attempt), isOpen: true });
  }
  return records;
}

function noted(records: ReadonlyMap<number, ShardRecord | undefined>): NotedPartition[] {
  return [...records].map(([number, record]) => ({
    key: objectName(KEY, number),
    note: record && JSON.stringify(record),
    isEmpty: false,
  }));
}

const SPLITS = [
  [0, 10],
  [0, 20],
  [1, 30],
  [3, 40],
] as const;

test("all shards of a group are found from its home on", () => {
  const { groups, faults, unreached } = storedShards(noted(splitBy(...SPLITS)));
  expect([...(groups.get(KEY) ?? [])].sort()).toEqual([0, 1, 2, 3, 7].map((number) => objectName(KEY, number)));
  expect([faults, [...unreached]]).toEqual([[], []]);
  expect(storedShards(noted(new Map([[0, { ...WHOLE, attempt: 3 }]]))).groups.size).toBe(0);
});

test("what an attempt left, and what is being erased, answers nobody and is no fault", () => {
  const records = splitBy(...SPLITS);
  const parent = records.get(2) as ShardRecord;
  records.set(2, { ...parent, attempt: 50 });
  for (const isOpen of [false, true])
    for (const made of [45, 50]) {
      const left = { ...recordToFill(undefined, { bits: parent.bits + 1, number: 6 }, made), isOpen };
      const { faults, unreached, groups } = storedShards(noted(new Map([...records, [6, left]])));
      expect([faults, [...unreached]]).toEqual([[], [objectName(KEY, 6)]]);
      expect(groups.get(KEY)?.length).toBe(5);
    }
  const erased = new Map([...records].filter(([number]) => number !== 7));
  erased.set(0, { ...(records.get(0) as ShardRecord), isErased: true });
  const told = storedShards(noted(erased));
  expect([told.faults, told.groups.size, told.unreached.size]).toEqual([[], 0, erased.size]);
});

const LOSSES: readonly (readonly [what: string, change: (records: Map<number, ShardRecord | undefined>) => void])[] = [
  ["a shard is gone", (records) => records.delete(2)],
  ["the last shard is gone", (records) => records.delete(7)],
  ["the home is gone", (records) => records.delete(0)],
  ["the note of a home is gone", (records) => records.set(0, undefined)],
  ["the note of a shard is gone", (records) => records.set(3, undefined)],
  ["a home of before the last split", (records) => records.set(0, splitBy(SPLITS[0]).get(0))],
  ["a home of before all splits", (records) => records.set(0, WHOLE)],
  ["a shard of before its split", (records) => records.set(3, splitBy(SPLITS[0], SPLITS[1], SPLITS[2]).get(3))],
  ["a shard of before it was open", (records) => records.set(7, { ...(records.get(7) as ShardRecord), isOpen: false })],
  ["a shard of an attempt before", (records) => records.set(2, { ...(records.get(2) as ShardRecord), made: 19 })],
  ["a shard of another number", (records) => records.set(2, records.get(1))],
];

test.each(LOSSES)("it is seen: %s", (_, change) => {
  const records = new Map<number, ShardRecord | undefined>(splitBy(...SPLITS));
  change(records);
  const told = shardDamage(noted(records), 8);
  expect(told.length).toBeGreaterThan(0);
  for (const { bucket, what } of told) {
    expect(bucket).toBeLessThan(8);
    expect(what).toMatch(/lost|missing|older/);
  }
});

test.each([
  ["a shard without others behind it", [2]],
  ["one with others behind it", [1]],
  ["one with others behind it, and the next", [1, 3]],
  ["all but the home and the last", [1, 2, 3]],
])("what is lost is made anew of what is there: %s", (_, lost) => {
  const records = splitBy(...SPLITS);
  const left = new Map([...records].filter(([number]) => !lost.includes(number)));
  const notes = mendedShards(noted(left), 8);
  const made = notes.map(({ note }) => JSON.parse(note) as ShardRecord);
  expect(made.map(({ number }) => number).sort()).toEqual(lost);
  for (const one of made) {
    const { children, ...of } = records.get(one.number) as ShardRecord;
    expect(one).toMatchObject({ bits: of.bits, children: children.map(({ number }) => ({ number })) });
    left.set(one.number, one);
  }
  expect(storedShards(noted(left)).faults).toEqual([]);
});

test("a home of which the note is lost is made anew of the others, but for what an attempt left and what is erased", () => {
  const records = splitBy(...SPLITS);
  const home = records.get(0) as ShardRecord;
  const lost = (more: readonly (readonly [number, ShardRecord])[] = []): NotedPartition[] =>
    noted(new Map<number, ShardRecord | undefined>([...records, ...more, [0, undefined]]));
  const left = { ...recordToFill(undefined, { bits: 3, number: 4 }, 60), isOpen: false };
  for (const all of [lost(), lost([[4, left]])]) {
    expect(storedShards(all).faults.map(({ isLoss }) => isLoss)).not.toContain(false);
    const [made, ...others] = mendedShards(all, 8).map(({ note }) => JSON.parse(note) as ShardRecord);
    expect(others).toEqual([]);
    expect(made).toMatchObject({ number: 0, made: 0, bits: home.bits, children: home.children, isOpen: true });
  }
  // A group that is being erased does not come back.
  const erased = { ...(records.get(1) as ShardRecord), isErased: true };
  expect(mendedShards(lost([[1, erased]]), 8)).toEqual([]);
});

test("what may be older is not mended", () => {
  for (const change of [
    (of: Map<number, ShardRecord>) => of.delete(0),
    (of: Map<number, ShardRecord>) => of.set(0, WHOLE),
  ]) {
    const records = splitBy(...SPLITS);
    change(records);
    expect(mendedShards(noted(records), 8)).toEqual([]);
  }
  expect(mendedShards(noted(splitBy(...SPLITS)), 8)).toEqual([]);
});

test("a shard is shown by its group and its number", () => {
  expect(shownPartition(objectName(KEY, 3))).toBe("g:large, shard 3");
  expect(shownPartition(KEY)).toBe(KEY);
});
