/** When tails are folded although nobody writes any more: after a burst, and after a restart. */
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { FOLD_OPERATIONS } from "../src/limits.ts";
import { all, cluster, directory, folder, put } from "./setting.ts";

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
