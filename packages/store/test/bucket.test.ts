/** Group commit: what arrives together is one transaction, acknowledged after it, and fails together. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { Bucket } from "../src/bucket.ts";
import { partitionsInTables } from "../src/partition-store.ts";
import type { SqlConnection } from "../src/sql.ts";
import { StoreError } from "../src/store-error.ts";
import { createTables } from "../src/tables.ts";
import { folder, openSql } from "./open.ts";

const IDENTITY = { bucket: 3, buckets: 8 };

/** One database that outlives its connections, whose next commits can be made to fail. */
function faulty(): { open: () => SqlConnection; fail: (error: StoreError) => void; opened: () => number } {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  let [failure, opened]: [StoreError | undefined, number] = [undefined, 0];
  const transaction: SqlConnection["transaction"] = (work) =>
    sql.transaction(() => {
      const result = work();
      const error = failure;
      failure = undefined;
      if (error !== undefined) throw error;
      return result;
    });
  return {
    open: () => {
      opened += 1;
      return { ...sql, transaction, close: () => undefined };
    },
    fail: (error) => {
      failure = error;
    },
    opened: () => opened,
  };
}

function bucketOn(open: () => SqlConnection): Bucket {
  return new Bucket({ ...IDENTITY, open, partitions: partitionsInTables, application: 1, schedule: setImmediate });
}

test("writes of one turn are one transaction", async () => {
  const bucket = bucketOn(faulty().open);
  await Promise.all(
    Array.from({ length: 500 }, (_, index) => bucket.write(`g:${index % 50}`, Uint8Array.of(index % 256))),
  );
  expect(bucket.commits).toBe(1);
  expect(bucket.store.state("g:7").operations).toBe(10);
  await bucket.write("g:7", Uint8Array.of(1));
  expect(bucket.commits).toBe(2);
});

test("a transaction writes at most 256 partitions, which cost more than their operations", async () => {
  const bucket = bucketOn(faulty().open);
  const write = (index: number): Promise<void> => bucket.write(`g:${index}`, Uint8Array.of(index % 256));
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => write(index)));
  expect(bucket.commits).toBe(4);
  // Several of each are together still.
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => write(index % 250)));
  expect(bucket.commits).toBe(5);
  expect(bucket.store.state("g:7").operations).toBe(5);
});

test("a bucket whose partitions cannot be had keeps no database open", () => {
  const { open } = faulty();
  const counts = { opened: 0, closed: 0 };
  const bucket = new Bucket({
    ...IDENTITY,
    open: () => {
      counts.opened += 1;
      const close = (): void => {
        counts.closed += 1;
      };
      return { ...open(), close };
    },
    partitions: () => {
      throw new StoreError("damaged", "its log was removed");
    },
    application: 1,
    schedule: setImmediate,
  });
  for (let request = 0; request < 3; request += 1) expect(() => bucket.store).toThrow("its log was removed");
  expect(counts).toEqual({ opened: 3, closed: 3 });
});

test("a transaction takes at most 1024 writes, and their order is kept", async () => {
  const bucket = bucketOn(faulty().open);
  const numbers = Array.from({ length: 2_500 }, (_, index) => index);
  await Promise.all(numbers.map((index) => bucket.write("g:a", Uint8Array.of(index % 256, index >> 8))));
  expect(bucket.commits).toBe(3);
  const { operations } = bucket.store.manifest("g:a", 0, 0);
  expect(operations.map(({ bytes: [low = 0, high = 0] }) => low + (high << 8))).toEqual(numbers);
});

test("writes of one unit that follow one another are never in two transactions", async () => {
  const bucket = bucketOn(faulty().open);
  const lengths: number[] = [];
  const append = bucket.store.append.bind(bucket.store);
  bucket.store.append = (batch) => {
    lengths.push(batch.length);
    append(batch);
  };
  const write = (index: number, unit?: string): Promise<void> =>
    bucket.write("g:a", Uint8Array.of(index % 256), { id: `${index}`, decided: false, ...(unit && { unit }) });
  const single = Array.from({ length: 1_023 }, (_, index) => write(index));
  const pair = [write(2_000, "pair"), write(2_001, "pair"), write(2_002, "pair")];
  await Promise.all([...single, ...pair, write(3_000), write(3_001, "other")]);
  expect(lengths).toEqual([1_026, 2]);
});

test("numbers of partitions are those of their bucket and of no other", async () => {
  const bucket = bucketOn(faulty().open);
  await Promise.all(["g:a", "g:b", "g:c"].map((key) => bucket.write(key, Uint8Array.of(1))));
  expect(["g:a", "g:b", "g:c"].map((key) => bucket.store.state(key).number)).toEqual([11, 19, 27]);
});

test.each(["full", "spent"] as const)(
  "what is %s refuses everything in the transaction and changes nothing",
  async (kind) => {
    const { open, fail, opened } = faulty();
    const bucket = bucketOn(open);
    await bucket.write("g:a", Uint8Array.of(1));
    fail(new StoreError(kind, "no space"));
    const outcomes = await Promise.allSettled([
      bucket.write("g:a", Uint8Array.of(2)),
      bucket.write("g:new", Uint8Array.of(3)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(bucket.store.state("g:new").number).toBe(0);
    expect(bucket.store.manifest("g:a", 0, 0).operations).toHaveLength(1);
    expect(opened()).toBe(1);
    await bucket.write("g:new", Uint8Array.of(4));
    expect(bucket.store.manifest("g:new", 0, 0).operations.map(({ bytes }) => [...bytes])).toEqual([[4]]);
  },
);

test("what is longer than the storage takes fails alone of its transaction", async () => {
  const { open, fail, opened } = faulty();
  const bucket = bucketOn(open);
  await bucket.write("g:a", Uint8Array.of(1));
  fail(new StoreError("large", "string or blob too big"));
  const outcomes = await Promise.allSettled([
    bucket.write("g:a", Uint8Array.of(2)),
    bucket.write("g:a", Uint8Array.of(3, 3)),
    bucket.write("g:new", Uint8Array.of(4)),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const stored = ["g:a", "g:new"].map((key) =>
    bucket.store.manifest(key, 0, 0).operations.map(({ bytes }) => [...bytes]),
  );
  expect(stored).toEqual([[[1], [2]], [[4]]]);
  expect(opened()).toBe(1);
});

test("after a device error the database is opened anew, with other layout numbers", async () => {
  const { open, fail, opened } = faulty();
  const bucket = bucketOn(open);
  await bucket.write("g:a", Uint8Array.of(1));
  const { layout } = bucket.store.state("g:a");
  fail(new StoreError("io", "fsync failed"));
  await expect(bucket.write("g:a", Uint8Array.of(2))).rejects.toThrow("fsync failed");
  expect(bucket.store.state("g:a").layout).not.toBe(layout);
  expect(opened()).toBe(2);
});

test("a partition that is refused is damaged for all who ask, also after the database was opened anew, until it is erased", async () => {
  const { open, fail, opened } = faulty();
  const bucket = bucketOn(open);
  await Promise.all(["g:a", "g:b"].map((key) => bucket.write(key, Uint8Array.of(1))));
  const queued = ["g:a", "g:b"].map((key) => bucket.write(key, Uint8Array.of(2)));
  bucket.refuse("g:a", "it is older than another");
  bucket.refuse("g:none", "it is lost");
  await Promise.all(queued);
  const refused = { kind: "damaged", message: "it is older than another" };
  for (const key of ["g:a", "g:none"]) expect(() => bucket.store.state(key)).toThrow(/^it is/);
  expect(() => bucket.store.manifest("g:a", 0, 0)).toThrow(expect.objectContaining(refused));
  await expect(bucket.write("g:a", Uint8Array.of(3))).rejects.toMatchObject(refused);
  fail(new StoreError("io", "the device failed"));
  await expect(bucket.write("g:b", Uint8Array.of(3))).rejects.toMatchObject({ kind: "io" });
  expect(() => bucket.store.state("g:a")).toThrow("it is older than another");
  expect(opened()).toBeGreaterThan(1);
  expect(bucket.store.state("g:b").operations).toBe(2);
  for (const key of ["g:a", "g:none"]) bucket.change((store) => store.erase(key), 1);
  for (const key of ["g:a", "g:none"]) expect(bucket.store.state(key).number).toBe(0);
  await bucket.write("g:a", Uint8Array.of(4));
  expect(bucket.store.state("g:a").operations).toBe(1);
});

test("a probe is a commit that reaches the file, and changes nothing", () => {
  const path = join(folder(), "000.sqlite");
  const sql = openSql(path);
  createTables(sql, IDENTITY);
  const about = (): unknown[] => sql.all("SELECT * FROM about ORDER BY name");
  const bucket = bucketOn(() => openSql(path));
  bucket.store.state("g:a");
  const version = (): unknown => sql.all("PRAGMA data_version")[0];
  const [before, told] = [version(), about()];
  bucket.probe();
  expect(version()).not.toEqual(before);
  expect(about()).toEqual(told);
  bucket.close();
  sql.close();
});

test("numbers of operations are not used again after the tail was folded and the database opened anew", async () => {
  const { open } = faulty();
  const bucket = bucketOn(open);
  await bucket.write("g:a", Uint8Array.of(1));
  const { lastOperation } = bucket.store.state("g:a");
  const change = { folded: lastOperation, removedSegments: [], liveness: [], newSegments: [] };
  bucket.change((store) => store.commit("g:a", change, true), 0);
  expect(bucket.store.state("g:a")).toMatchObject({ operations: 0, lastOperation: 0 });
  const again = bucketOn(open);
  await again.write("g:a", Uint8Array.of(2));
  expect(again.store.state("g:a").lastOperation).toBeGreaterThan(lastOperation);
});

test("closing commits what is queued", async () => {
  const { open } = faulty();
  const bucket = bucketOn(open);
  const written = bucket.write("g:a", Uint8Array.of(1));
  bucket.close();
  await written;
  expect(bucketOn(open).store.state("g:a").operations).toBe(1);
  await expect(bucket.write("g:a", Uint8Array.of(1))).rejects.toThrow("closed");
});

test("a partition that was forgotten is read again with another layout number", async () => {
  const { open } = faulty();
  const bucket = bucketOn(open);
  await bucket.write("g:a", Uint8Array.of(1));
  const before = bucket.store.state("g:a");
  for (let index = 0; index < 25; index += 1) {
    await Promise.all(
      Array.from({ length: 1_000 }, (_, inner) => bucket.write(`g:${index}-${inner}`, Uint8Array.of(1))),
    );
  }
  const after = bucket.store.state("g:a");
  expect(after.layout).not.toBe(before.layout);
  expect({ ...after, layout: 0 }).toEqual({ ...before, layout: 0 });
});

test("of a run nothing is made after a write that failed, and others are no worse for it", async () => {
  const { open, fail } = faulty();
  const bucket = bucketOn(open);
  const run = {};
  const write = (index: number): Promise<void> =>
    bucket.write("g:a", Uint8Array.of(index % 256, index >> 8), { id: `d${index}`, decided: true, run });
  // More than one transaction, the first of which fails.
  fail(new StoreError("full", "no space"));
  const ofRun = Array.from({ length: 1_500 }, (_, index) => write(index));
  const other = bucket.write("g:b", Uint8Array.of(7));
  const outcomes = await Promise.allSettled(ofRun);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  await other;
  await expect(write(2_000)).rejects.toThrow("no space");
  expect(bucket.store.state("g:a").number).toBe(0);
  expect(bucket.store.state("g:b").operations).toBe(1);
});

test("a run ends with a write of others that something of it was refused for", async () => {
  const { open, fail } = faulty();
  const bucket = bucketOn(open);
  const run = {};
  fail(new StoreError("full", "no space"));
  const others = bucket.write("g:a", Uint8Array.of(1), { id: "d1", decided: true });
  const filling = Promise.allSettled(Array.from({ length: 1_100 }, () => bucket.write("g:b", Uint8Array.of(2))));
  const before = bucket.settled("g:a", "d1", run);
  const after = bucket.write("g:a", Uint8Array.of(3), { id: "d2", decided: true, run });
  expect((await Promise.allSettled([others, before, after])).map(({ status }) => status)).toEqual([
    "rejected",
    "rejected",
    "rejected",
  ]);
  await filling;
  expect(bucket.store.state("g:a").number).toBe(0);
});
