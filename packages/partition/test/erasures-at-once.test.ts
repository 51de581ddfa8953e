/** Many erasures, at once and one after the other: others have a turn after each, for each waits for the device. */
import { memoryStorage } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import { LocalCluster } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { FakeEngine } from "./fake-engine.mjs";
import { all, openSql, put } from "./setting.ts";

const GROUPS = 12;
const keys = Array.from({ length: GROUPS }, (_, at) => `g:user${at}` as PartitionKey);

async function setting() {
  let turns = 0;
  const turn = async (): Promise<void> => {
    await nodeSurroundings.turn();
    turns += 1;
  };
  const cluster = new LocalCluster({
    storage: memoryStorage(openSql),
    makeEngine: () => new FakeEngine(),
    surroundings: { ...nodeSurroundings, turn },
  });
  onTestFinished(() => cluster.close());
  for (const key of keys) await put(cluster.partition(key), "d", 1);
  const seen: number[] = [];
  const erase = async (key: PartitionKey): Promise<void> => {
    await cluster.erase(key);
    seen.push(turns);
  };
  const expectErased = async (): Promise<void> => {
    expect(new Set(seen).size).toBe(GROUPS);
    for (const key of keys) expect(await all(cluster, key)).toEqual({});
  };
  return { cluster, erase, expectErased };
}

test("at once", async () => {
  const { erase, expectErased } = await setting();
  await Promise.all(keys.map(erase));
  await expectErased();
});

test("one after the other", async () => {
  const { erase, expectErased } = await setting();
  for (const key of keys) await erase(key);
  await expectErased();
});

test("what is written after an erasure was asked for stays, though that waits for others", async () => {
  const { cluster, erase } = await setting();
  const erasures = keys.map(erase);
  const writes = keys.map((key) => put(cluster.partition(key), "new", 2));
  expect((await Promise.all(writes)).map(({ status }) => status)).toEqual(keys.map(() => 200));
  await Promise.all(erasures);
  for (const key of keys) expect(await all(cluster, key)).toEqual({ new: 2 });
});
