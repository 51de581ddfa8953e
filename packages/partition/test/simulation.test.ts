/**
 * Random operations, folds, failures of the device and restarts, against a map. A failing run prints its seed;
 * BROOKLET_SEED repeats it, BROOKLET_STEPS makes it longer.
 */
import { join } from "node:path";
import { type SqlConnection, type Storage, StoreError } from "@brooklet/store";
import { expect, test } from "vitest";
import type { PartitionKey } from "../src/cluster.ts";
import { all, cluster, directory, folder, get, put, remove } from "./setting.ts";

const SEED = Number(process.env["BROOKLET_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const STEPS = Number(process.env["BROOKLET_STEPS"] ?? 700);

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A directory whose next transaction fails, before or after it was committed. */
function faulty(path: string): { storage: Storage; fail: (when: "before" | "after") => void } {
  const inner = directory(path);
  let failing: "before" | "after" | undefined;
  const openBucket = (bucket: number): SqlConnection => {
    const sql = inner.openBucket(bucket);
    const transaction: SqlConnection["transaction"] = (work) => {
      const when = failing;
      failing = undefined;
      if (when === "before") throw new StoreError("io", "SQLITE_IOERR_WRITE");
      const result = sql.transaction(work);
      if (when === "after") throw new StoreError("io", "SQLITE_IOERR_FSYNC");
      return result;
    };
    return { ...sql, transaction };
  };
  const storage: Storage = {
    buckets: inner.buckets,
    openBucket,
    secret: inner.secret,
    readApplication: () => inner.readApplication(),
    storeApplication: (application) => inner.storeApplication(application),
    close: () => inner.close(),
  };
  return {
    storage,
    fail: (when) => {
      failing = when;
    },
  };
}

test(`a cluster answers as a map does (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const path = join(folder(), "data");
  let disk = faulty(path);
  let { cluster: local } = cluster(disk.storage);
  const model = new Map<PartitionKey, Map<string, unknown>>();
  const reached = { folds: 0, restarts: 0, failures: 0, unknown: 0 };
  for (let step = 0; step < STEPS; step += 1) {
    const key: PartitionKey = `g:${random(4)}`;
    const [partition, documents] = [local.partition(key), model.get(key) ?? new Map<string, unknown>()];
    model.set(key, documents);
    const id = `d${random(30)}`;
    const action = random(100);
    if (action < 3) disk.fail(action < 1 ? "before" : "after");
    if (action < 60) {
      const value = action < 45 ? step : undefined;
      const { status, outcome } = await (value === undefined ? remove(partition, id) : put(partition, id, value));
      if (status !== 200) reached.failures += 1;
      // A failure of the device leaves the outcome open: what is there now is what happened.
      if (outcome === "unknown") reached.unknown += 1;
      const now = status === 200 ? value : await get(partition, id);
      if (status !== 200) expect([value, documents.get(id)]).toContain(now);
      if (now === undefined) documents.delete(id);
      else documents.set(id, now);
    } else if (action < 75) expect(await get(partition, id), `${key} ${id}, step ${step}`).toEqual(documents.get(id));
    else if (action < 90) expect(await all(local, key), `${key}, step ${step}`).toEqual(Object.fromEntries(documents));
    else if (action < 98) {
      await local.maintain(key).then(
        () => (reached.folds += 1),
        () => (reached.failures += 1),
      );
    } else {
      await local.close();
      disk = faulty(path);
      local = cluster(disk.storage).cluster;
      reached.restarts += 1;
    }
  }
  for (const [key, documents] of model) expect(await all(local, key)).toEqual(Object.fromEntries(documents));
  for (const count of Object.values(reached)) expect(count).toBeGreaterThan(0);
});
