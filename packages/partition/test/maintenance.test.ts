/** When tails are folded although nobody writes any more: after a burst, and after a restart. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { Bucket, bucketOf, PartitionStore } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { clock } from "../src/clock.ts";
import { FOLD_OPERATIONS, LOG_MS, RESTING_MS, SETTLE_MS, SWEEP_MS, SWEEP_PARTITIONS } from "../src/limits.ts";
import { all, cluster, directory, folder, openSql, packageNamed, put } from "./setting.ts";

const BURST = 3_000;

test("what is written while a fold runs is folded after it, also if nothing more comes", async () => {
  const storage = directory(join(folder(), "data"));
  const { cluster: local, engine } = cluster(storage);
  // Each task takes so many turns that the whole burst arrives during the first fold.
  engine.pauses = 400;
  const partition = local.partition("g:a");
  const first = Array.from({ length: FOLD_OPERATIONS }, (_, at) => put(partition, `d${at}`, at));
  await Promise.all(first);
  engine.pauses = 1;
  await Promise.all(Array.from({ length: BURST }, (_, at) => put(partition, `e${at}`, at)));
  await local.idle();
  const left = [0, 1].map((number) => {
    const sql = storage.openBucket(number);
    const count = operationsIn(sql);
    sql.close();
    return count;
  });
  expect(Math.max(...left)).toBeLessThan(FOLD_OPERATIONS);
  expect(engine.compactions.length).toBeGreaterThan(1);
  expect(Object.keys(await all(local, "g:a"))).toHaveLength(FOLD_OPERATIONS + BURST);
});

function operationsIn(sql: ReturnType<ReturnType<typeof directory>["openBucket"]>): number {
  return sql.all<{ count: number }>("SELECT count(*) AS count FROM operation")[0]?.count ?? 0;
}

test("a tail that an earlier process left is folded although there are only reads", async () => {
  const path = join(folder(), "data");
  const { cluster: before } = cluster(directory(path));
  await Promise.all(Array.from({ length: 40 }, (_, at) => put(before.partition("g:a"), `d${at}`, at)));
  await before.close();
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const { cluster: local, engine } = cluster(directory(path));
  const documents = await all(local, "g:a");
  vi.advanceTimersByTime(8_000);
  await local.idle();
  expect(engine.compactions).toEqual([{ key: "g:a", reason: "fold" }]);
  expect(await all(local, "g:a")).toEqual(documents);
  vi.useRealTimers();
});

test("each bucket is looked at in a turn of its own", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const { cluster: local } = cluster(DataDirectory.open(join(folder(), "data"), openSql, 8));
  await Promise.all(Array.from({ length: 80 }, (_, at) => put(local.partition(`g:user${at}`), "a", 1)));
  const looks = vi.spyOn(PartitionStore.prototype, "withTail");
  onTestFinished(() => looks.mockRestore());
  vi.advanceTimersByTime(SWEEP_MS);
  const seen: number[] = [];
  for (let turns = 0; turns < 6; turns += 1) {
    seen.push(looks.mock.calls.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([...new Set(seen)].slice(0, 4)).toEqual([0, 1, 2, 3]);
  // Those that are due meanwhile are not left out.
  vi.advanceTimersByTime(2 * SWEEP_MS);
  await local.idle();
  expect(looks).toHaveBeenCalledTimes(3 * 8);
});

/** A cluster whose sweeps are made by who asks, with a clock that goes with them. */
function swept(
  path: string = join(folder(), "data"),
): ReturnType<typeof cluster> & { readonly sweep: (milliseconds: number) => void } {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  let passedMs = 0;
  const now = clock.now.bind(clock);
  const mock = vi.spyOn(clock, "now").mockImplementation(() => now() + passedMs);
  onTestFinished(() => {
    mock.mockRestore();
    vi.useRealTimers();
  });
  const sweep = (milliseconds: number): void => {
    for (let left = milliseconds; left > 0; left -= SWEEP_MS) {
      passedMs += SWEEP_MS;
      vi.advanceTimersByTime(SWEEP_MS);
    }
  };
  return { ...cluster(directory(path)), sweep };
}

test("a tail that is always written is settled when it is old, and not before", async () => {
  const { cluster: local, engine, sweep } = swept();
  await put(local.partition("g:a"), "first", 1);
  for (let at = 0; at < RESTING_MS; at += 2 * SWEEP_MS) {
    sweep(2 * SWEEP_MS);
    await put(local.partition("g:a"), "busy", at);
    if (at > RESTING_MS / 2) await put(local.partition("g:b"), "busy", at);
  }
  sweep(2 * SWEEP_MS);
  await local.idle();
  expect(engine.compactions).toEqual([{ key: "g:a", reason: "settle" }]);
});

test("few folds of a bucket are queued at a time, and one that somebody waits for is next", async () => {
  const { cluster: local, engine, sweep } = swept();
  await local.deploy(packageNamed("one"));
  const keys = Array.from({ length: 8 * SWEEP_PARTITIONS }, (_, at) => `g:user${at}` as const);
  await Promise.all(keys.map((key) => put(local.partition(key), "a", 1)));
  sweep(2 * RESTING_MS);
  const [figures] = await local.figures();
  expect(figures?.foldsQueued).toBeLessThan(4 * SWEEP_PARTITIONS);
  const last = keys.at(-1) as (typeof keys)[number];
  await local.maintain(last);
  expect(engine.compactions.findIndex(({ key }) => key === last)).toBeLessThanOrEqual(1);
  await local.idle();
});

test("partitions that are busy do not keep one that rests from being settled", async () => {
  const { cluster: local, engine, sweep } = swept();
  const keys = Array.from({ length: 3 * SWEEP_PARTITIONS }, (_, at) => `g:user${at}` as const);
  await Promise.all([...keys, "g:quiet" as const].map((key) => put(local.partition(key), "a", 1)));
  for (const key of keys) await local.maintain(key);
  await local.maintain("g:quiet");
  await Promise.all(keys.map((key) => put(local.partition(key), "b", 1)));
  sweep(SETTLE_MS + 4 * SWEEP_MS);
  await local.idle();
  expect(engine.compactions).toContainEqual({ key: "g:quiet", reason: "settle" });
});

test("logs that are due together are emptied one at a time, and others have a turn in between", async () => {
  const { cluster: local, sweep } = swept();
  const keys = Array.from({ length: 16 }, (_, at) => `g:user${at}` as const);
  await Promise.all(keys.map((key) => put(local.partition(key), "a", 1)));
  const emptied = vi.spyOn(Bucket.prototype, "checkpoint");
  onTestFinished(() => emptied.mockRestore());
  sweep(LOG_MS + SWEEP_MS);
  const seen: number[] = [];
  for (let turns = 0; turns < 8; turns += 1) {
    seen.push(emptied.mock.calls.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([...new Set(seen)]).toEqual([0, 1, 2]);
});

test("what somebody else keeps in a log is told until it was moved, and the log is emptied when they are gone", async () => {
  const path = join(folder(), "data");
  const { cluster: local, sweep } = swept(path);
  await put(local.partition("g:a"), "a", 1);
  const name = `${String(bucketOf("g:a", 2)).padStart(3, "0")}.sqlite`;
  const reader = openSql(join(path, "buckets", name));
  onTestFinished(() => reader.close());
  reader.run("BEGIN");
  expect(operationsIn(reader)).toBe(1);
  await put(local.partition("g:a"), "b", 2);
  const logged = async (): Promise<number> => (await local.figures()).reduce((all, { logBytes }) => all + logBytes, 0);
  const written = await logged();
  const emptied = vi.spyOn(Bucket.prototype, "checkpoint");
  onTestFinished(() => emptied.mockRestore());
  sweep(LOG_MS + SWEEP_MS);
  await expect.poll(() => emptied.mock.results.map(({ value }) => value)).toContain(false);
  expect([written > 0, (await logged()) >= written]).toEqual([true, true]);
  reader.run("COMMIT");
  const size = (): number => statSync(join(path, "buckets", `${name}-wal`)).size;
  const sweptLog = async (): Promise<readonly number[]> => {
    sweep(LOG_MS + SWEEP_MS);
    await local.idle();
    return [await logged(), size()];
  };
  await expect.poll(sweptLog).toEqual([0, 0]);
});
