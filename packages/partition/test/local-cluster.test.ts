/** The walk of a write and of a read through partition, bucket and store, and what happens when a step fails. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Storage, StoreError } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { all, cluster, directory, folder, get, openSql, packageNamed, put, remove } from "./setting.ts";

const PATIENCE_MS = 600_000;

test("a write is seen by the next read, in its own partition only", async () => {
  const { cluster: local } = cluster();
  const [alice, bob] = [local.partition("g:alice"), local.partition("g:bob")];
  expect(await put(alice, "a", 1)).toEqual({ status: 200 });
  expect(await put(alice, "b", 2)).toEqual({ status: 200 });
  expect(await put(alice, "a", 3)).toEqual({ status: 200 });
  expect(await remove(alice, "b")).toEqual({ status: 200 });
  expect(await all(local, "g:alice")).toEqual({ a: 3 });
  expect(await all(local, "g:bob")).toEqual({});
  expect(await get(alice, "a")).toBe(3);
  expect(await get(bob, "a")).toBeUndefined();
});

test("a refusal of the core is the outcome, and nothing is written", async () => {
  const { cluster: local } = cluster();
  const outcome = await put(local.partition("g:a"), "", 1);
  expect(outcome).toEqual({ status: 400, code: "INVALID_DOCUMENT", message: "no id", outcome: "not_applied" });
  expect(await all(local, "g:a")).toEqual({});
});

test("a read whose time is over is finished early", async () => {
  const { cluster: local, engine } = cluster();
  await put(local.partition("g:a"), "a", 1);
  engine.timeoutMs = 1;
  // A read that would never end by itself.
  engine.pauses = Number.POSITIVE_INFINITY;
  await expect(all(local, "g:a")).rejects.toMatchObject({ code: "TIMED_OUT", status: 504 });
});

test("a search whose time is over while segments are rewritten is not answered, and the next one is", async () => {
  const { cluster: local, engine } = cluster();
  await local.deploy(packageNamed("one"));
  await put(local.partition("g:a"), "a", 1);
  await local.deploy(packageNamed("two"));
  engine.holdsCompactions = true;
  const first = all(local, "g:a");
  await expect.poll(() => engine.compactions, { timeout: PATIENCE_MS }).toHaveLength(1);
  // Rewriting outlasts the time of the query, which is the query's own.
  engine.timeoutMs = 20;
  await expect(all(local, "g:a")).rejects.toMatchObject({ code: "TIMED_OUT", status: 504 });
  const underWay = new Promise((resolve) => setImmediate(resolve, "under way"));
  expect(await Promise.race([local.idle(), underWay])).toBe("under way");
  engine.holdsCompactions = false;
  engine.timeoutMs = Number.POSITIVE_INFINITY;
  expect([await first, await all(local, "g:a")]).toEqual([{ a: 1 }, { a: 1 }]);
  expect(engine.compactions).toHaveLength(1);
});

test("everything survives closing, the application included", async () => {
  const path = join(folder(), "data");
  const first = cluster(directory(path));
  await first.cluster.deploy(packageNamed("one"));
  const keys = Array.from({ length: 40 }, (_, index) => `g:user-${index}` as const);
  await Promise.all(keys.map((key) => put(first.cluster.partition(key), "a", key)));
  await first.cluster.close();
  const second = cluster(directory(path));
  expect(second.cluster.application()?.fingerprint).toBe("one");
  expect(second.engine.deployed).toEqual(["one"]);
  for (const key of keys) expect(await all(second.cluster, key)).toEqual({ a: key });
});

test("a first deployment is of the core that serves; one that cannot be stored leaves it empty", async () => {
  const storage = directory(join(folder(), "data"));
  const store = vi.spyOn(storage, "storeApplication").mockImplementationOnce(() => {
    throw new StoreError("full", "no room");
  });
  const { cluster: local, engine } = cluster(storage);
  await expect(local.deploy(packageNamed("one"))).rejects.toMatchObject({ code: "INSUFFICIENT_STORAGE" });
  expect([engine.deployed, local.application(), local.applicationPackage()]).toEqual([[], undefined, undefined]);
  await expect(local.deploy(packageNamed("bad"))).rejects.toMatchObject({ message: "bad package" });
  expect(local.application()).toBeUndefined();
  await local.deploy(packageNamed("one"));
  expect([engine.deployed, local.application()?.fingerprint]).toEqual([["one"], "one"]);
  expect(await put(local.partition("g:a"), "a", 1)).toEqual({ status: 200 });
  expect(store).toHaveBeenCalledTimes(2);
  await local.close();
});

test.each([
  ["in memory", () => undefined],
  ["in a directory", () => directory(join(folder(), "data"))],
])("a cluster %s that was closed opens nothing again", async (_, storageOf) => {
  const { cluster: local, problems } = cluster(storageOf());
  await local.deploy(packageNamed("one"));
  const held = local.partition("g:a");
  expect(await put(held, "a", 1)).toEqual({ status: 200 });
  const closing = local.close();
  const queued = put(held, "queued", 1);
  await closing;
  // One that came in time may be done; it is not lost then, and later ones are refused.
  expect([200, 503]).toContain((await queued).status);
  expect(await put(held, "b", 2)).toMatchObject({ status: 503, code: "UNAVAILABLE", outcome: "not_applied" });
  await expect(get(held, "a")).rejects.toMatchObject({ code: "UNAVAILABLE", message: "The database is closed" });
  await expect((async () => all(local, "g:b"))()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect(local.deploy(packageNamed("two"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await local.close();
  expect(problems).toEqual([]);
});

describe("deployment", () => {
  test("of a refused package leaves the one before, active and stored", async () => {
    const path = join(folder(), "data");
    const { cluster: local, engine } = cluster(directory(path));
    await local.deploy(packageNamed("one"));
    const stored = readFileSync(join(path, "application"));
    await expect(local.deploy(packageNamed("bad"))).rejects.toMatchObject({
      code: "INVALID_APPLICATION_PACKAGE",
    });
    expect(local.application()?.fingerprint).toBe("one");
    expect(engine.deployed).toEqual(["one"]);
    expect(readFileSync(join(path, "application"))).toEqual(stored);
  });

  test("rewrites the partitions of the application before, once", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { cluster: local, engine } = cluster();
    await local.deploy(packageNamed("one"));
    await put(local.partition("g:a"), "a", 1);
    await local.deploy(packageNamed("two"));
    for (let sweep = 0; sweep < 3; sweep += 1) {
      vi.advanceTimersByTime(1_000);
      await local.idle();
    }
    expect(engine.compactions).toEqual([{ key: "g:a", reason: "schema" }]);
    expect(await all(local, "g:a")).toEqual({ a: 1 });
    vi.useRealTimers();
  });
});

test("a bucket that cannot be looked into after the start is looked into again, and no database stays open", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  const storage = directory(join(folder(), "data"));
  const looked: number[] = [];
  let opened = 0;
  const open = storage.openBucket.bind(storage);
  vi.spyOn(storage, "openBucket").mockImplementation((bucket) => {
    looked.push(bucket);
    const connection = open(bucket);
    opened += 1;
    const isBusy = bucket === 1 && looked.filter((one) => one === 1).length <= 2;
    return {
      ...connection,
      checkpoint: () => {
        if (isBusy) throw new StoreError("busy", "somebody has it");
        return true;
      },
      close: () => {
        opened -= 1;
        connection.close();
      },
    };
  });
  const { cluster: local, problems } = cluster(storage);
  for (let second = 0; second < 120; second += 1) {
    vi.advanceTimersByTime(1_000);
    await local.idle();
  }
  vi.useRealTimers();
  expect([looked.filter((one) => one === 1).length, new Set(looked).size, opened]).toEqual([3, storage.buckets, 0]);
  expect(problems).toHaveLength(2);
  await local.close();
});

test("buckets are looked into one at a time, others have a turn in between, and closing ends it", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const storage = DataDirectory.open(join(folder(), "data"), openSql, 64);
  const opened = vi.spyOn(storage, "openBucket");
  const { cluster: local, problems } = cluster(storage);
  vi.advanceTimersByTime(1_000);
  const seen: number[] = [];
  for (let turns = 0; turns < 6; turns += 1) {
    seen.push(opened.mock.calls.length);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect([...new Set(seen)].slice(0, 4)).toEqual([0, 1, 2, 3]);
  const closing = local.close();
  vi.advanceTimersByTime(7_000);
  await closing;
  const { length } = opened.mock.calls;
  expect(length).toBeLessThan(64);
  for (let turns = 0; turns < 16; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([opened.mock.calls.length, problems]).toEqual([length, []]);
});

describe("folding", () => {
  test("happens by itself and changes no answer", async () => {
    const { cluster: local, engine } = cluster();
    const partition = local.partition("g:a");
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        Array.from({ length: 300 }, (_, index) => put(partition, `d${(index + round * 100) % 400}`, round)),
      );
      const before = await all(local, "g:a");
      await local.idle();
      expect(engine.compactions.length).toBeGreaterThan(round);
      expect(await all(local, "g:a")).toEqual(before);
    }
  });

  test("of a quiet tail waits for quiet", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    const { cluster: local, engine } = cluster();
    const partition = local.partition("g:a");
    const sweeps = async (count: number): Promise<void> => {
      vi.advanceTimersByTime(count * 1_000);
      await local.idle();
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => put(partition, `d${index}`, index)));
    await sweeps(1);
    expect(engine.compactions).toEqual([]);
    await sweeps(2);
    expect(engine.compactions).toEqual([{ key: "g:a", reason: "fold" }]);
    await put(partition, "one more", 1);
    await sweeps(25);
    expect(engine.compactions).toHaveLength(1);
    await sweeps(10);
    expect(engine.compactions).toHaveLength(2);
    expect(Object.keys(await all(local, "g:a"))).toHaveLength(41);
    vi.useRealTimers();
  });

  test("lets writes and reads in while it runs", async () => {
    const { cluster: local, engine } = cluster();
    const partition = local.partition("g:a");
    engine.pauses = 1;
    await Promise.all(Array.from({ length: 256 }, (_, index) => put(partition, `d${index}`, 0)));
    const during = await Promise.all(Array.from({ length: 50 }, (_, index) => put(partition, `d${index}`, 1)));
    expect(during.every(({ status }) => status === 200)).toBe(true);
    await local.idle();
    const documents = await all(local, "g:a");
    expect(Object.values(documents).filter((value) => value === 1)).toHaveLength(50);
    expect(Object.keys(documents)).toHaveLength(256);
  });

  test("that fails is told, and a tail at its limit then takes no more and says so", async () => {
    const { cluster: local, engine, problems } = cluster();
    engine.compactFailure = new Error("compaction broke");
    const partition = local.partition("g:a");
    const write = (count: number): Promise<unknown> =>
      Promise.all(Array.from({ length: count }, (_, index) => put(partition, `d${index}`, 1)));
    await write(4_096);
    await local.idle();
    expect(problems).toEqual([engine.compactFailure]);
    expect(await put(partition, "more", 1)).toMatchObject({ status: 503, code: "TAIL_FULL", outcome: "not_applied" });
    expect(Object.keys(await all(local, "g:a"))).toHaveLength(4_096);
  });

  test("makes room in a tail at its limit", async () => {
    const { cluster: local } = cluster();
    const partition = local.partition("g:a");
    const outcomes = await Promise.all(Array.from({ length: 4_096 }, (_, index) => put(partition, `d${index}`, 1)));
    expect(outcomes.every(({ status }) => status === 200)).toBe(true);
    expect(await put(partition, "more", 1)).toEqual({ status: 200 });
    expect(Object.keys(await all(local, "g:a"))).toHaveLength(4_097);
  });
});

describe("a bucket that cannot be used", () => {
  const storage = (error: StoreError): Storage & { heal: () => void } => {
    let failure: StoreError | undefined = error;
    const path = join(folder(), "data");
    const inner = directory(path);
    return {
      buckets: inner.buckets,
      openBucket: (bucket) => {
        if (failure !== undefined) throw failure;
        return inner.openBucket(bucket);
      },
      secret: inner.secret,
      readApplication: () => inner.readApplication(),
      storeApplication: (application) => inner.storeApplication(application),
      close: () => inner.close(),
      heal: () => {
        failure = undefined;
      },
    };
  };

  test("fails its requests without naming a file, and serves again when it can", async () => {
    const broken = storage(new StoreError("damaged", "/secret/path is damaged"));
    const { cluster: local } = cluster(broken);
    const partition = local.partition("g:a");
    expect(await put(partition, "a", 1)).toEqual({
      status: 500,
      code: "STORE_CORRUPT",
      message: "The stored data is damaged",
      outcome: "unknown",
    });
    await expect(all(local, "g:a")).rejects.toMatchObject({ code: "STORE_CORRUPT", status: 500 });
    broken.heal();
    expect(await put(partition, "a", 1)).toEqual({ status: 200 });
  });
});

test("a missing block is damage, told and not answered from", async () => {
  const path = join(folder(), "data");
  const { cluster: local } = cluster(directory(path));
  const partition = local.partition("g:a");
  await Promise.all(Array.from({ length: 300 }, (_, index) => put(partition, `d${index}`, 1)));
  await local.idle();
  for (const bucket of ["000", "001"]) {
    const sql = openSql(join(path, "buckets", `${bucket}.sqlite`));
    sql.run("DELETE FROM block WHERE id % 7 = 3");
    sql.close();
  }
  await expect(all(local, "g:a")).rejects.toMatchObject({ code: "STORE_CORRUPT", status: 500 });
  expect(await put(local.partition("g:other"), "a", 1)).toEqual({ status: 200 });
});
