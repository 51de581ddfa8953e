/** Loads of which a part is not stored: what is told of each operation is what became of it. */
import { Core, instantiate, type Load, Reader, Writer } from "@brooklet/core";
import { memoryStorage, type Reserve, type SqlConnection, StoreError } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import { OPEN_GATE, type Outcome } from "../src/cluster.ts";
import { failedOutcome, tooLate } from "../src/failure.ts";
import { LocalCluster, type LocalClusterOptions } from "../src/local-cluster.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { afterSplit, WHOLE } from "../src/shards/shard.ts";
import { loadShards } from "../src/shards/shard-load.ts";
import { ShardMaps } from "../src/shards/shard-map.ts";
import { packageOf } from "./core-setting.ts";
import { openSql } from "./setting.ts";

const MINUTE_MS = 60_000;
const NOTE = "schema note { document note { field title type string { indexing: summary | index } } }";
/** Of one transaction at most. */
const COMMIT_OPERATIONS = 1_024;
const encoder = new TextEncoder();
const idOf = (name: string | number): string => `id:x:note:g=a:${name}`;
const putOf = (name: string | number): object => ({ put: idOf(name), fields: { title: "red" } });
const removeOf = (name: string | number): object => ({ remove: idOf(name) });

/** A reserve that is not given up before it has to be, and then makes room once. */
class FakeReserve implements Reserve {
  isGivenUp = false;
  turns = 0;

  giveUp(turns: number): boolean {
    if (!this.isGivenUp) this.turns += 1;
    this.isGivenUp = true;
    return this.turns !== turns;
  }
}

/** A cluster in memory. `device.isFull` is asked at each transaction; commits wait for `device.held`. */
async function opened(more: Pick<LocalClusterOptions, "gate"> = {}) {
  const device = { isFull: (): boolean => false, held: undefined as Promise<void> | undefined };
  const inner = memoryStorage(openSql);
  const openBucket = (bucket: number): SqlConnection => {
    const sql = inner.openBucket(bucket);
    const transaction: SqlConnection["transaction"] = (work) => {
      if (device.isFull()) throw new StoreError("full", "no space");
      return sql.transaction(work);
    };
    return { ...sql, transaction };
  };
  const { buckets, secret } = inner;
  const storage = {
    buckets,
    secret,
    openBucket,
    readApplication: () => inner.readApplication(),
    storeApplication: (...asked: Parameters<typeof inner.storeApplication>) => inner.storeApplication(...asked),
    close: () => inner.close(),
  };
  const schedule = (work: () => void): void => {
    if (device.held === undefined) setImmediate(work);
    else void device.held.then(work);
  };
  const reserve = new FakeReserve();
  const makeEngine = (): Core => new Core({ instantiate, cacheBytes: 8 << 20 });
  const cluster = new LocalCluster({
    storage,
    reserve,
    makeEngine,
    surroundings: { ...nodeSurroundings, schedule },
    ...more,
  });
  onTestFinished(() => cluster.close());
  await cluster.deploy(packageOf({ note: NOTE }));
  const write = (kind: "put" | "remove", name: string | number): Promise<Outcome> => {
    const body = encoder.encode(kind === "put" ? '{"fields":{"title":"red"}}' : "");
    const request = { kind, rawPath: "", id: idOf(name), create: false, condition: "", body } as const;
    return cluster.partition("g:a").apply(request, MINUTE_MS);
  };
  const get = async (name: string | number): Promise<number> => {
    const request = { rawPath: "", id: idOf(name), fieldSet: "", tensorFormat: "" };
    return (await cluster.partition("g:a").get(request, MINUTE_MS)).status;
  };
  /** What came of each operation, in their order. */
  const feed = async (operations: readonly object[]): Promise<Outcome[]> => {
    const text = async function* () {
      yield encoder.encode(operations.map((operation) => `${JSON.stringify(operation)}\n`).join(""));
    };
    const outcomes: Outcome[] = [];
    for await (const told of cluster.feed(text(), { timeoutMs: MINUTE_MS }))
      for (const { number, outcome } of told) outcomes[number] = outcome;
    return outcomes;
  };
  return { device, reserve, write, get, feed };
}

test("of a load in two transactions the operations of the one that failed are told of", async () => {
  const { device, write, get, feed } = await opened();
  let goOn!: () => void;
  device.held = new Promise((resolve) => {
    goOn = resolve;
  });
  const others = Array.from({ length: COMMIT_OPERATIONS - 20 }, (_, n) => write("put", `other${n}`));
  const feeding = feed(Array.from({ length: 40 }, (_, n) => putOf(n)));
  // By then all of it is queued.
  for (let turn = 0; turn < 200; turn += 1) await nodeSurroundings.turn();
  let transactions = 0;
  device.isFull = () => {
    transactions += 1;
    return transactions > 1;
  };
  goOn();
  const outcomes = await feeding;
  expect((await Promise.all(others)).every(({ status }) => status === 200)).toBe(true);
  const statuses = outcomes.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(outcomes.filter(({ outcome }) => outcome === "not_applied")).toHaveLength(20);
  const stored = await Promise.all(statuses.map((_, n) => get(n)));
  expect(stored).toEqual(statuses.map((status) => (status === 200 ? 200 : 404)));
});

test.each([
  { when: "was full before", count: 3 },
  { when: "was full before", count: 60 },
  { when: "is found to be full", count: 3 },
])("a device that $when takes the removes of a feed, here $count (P18)", async ({ when, count }) => {
  const { device, reserve, write, get, feed } = await opened();
  const full = { status: 507, outcome: "not_applied" };
  for (let n = 0; n < count; n += 1) expect((await write("put", n)).status).toBe(200);
  if (when === "was full before") reserve.isGivenUp = true;
  // What is kept back makes room.
  else device.isFull = () => !reserve.isGivenUp;
  const last = count - 1;
  const removes = Array.from({ length: last }, (_, n) => removeOf(n));
  const told = await feed([putOf("new"), ...removes, putOf(0), putOf(last), removeOf(last)]);
  const done = removes.map(() => ({ status: 200 }));
  expect(told).toMatchObject([full, ...done, full, full, { status: 200 }]);
  const left = await Promise.all(["new", ...removes.keys(), last].map(get));
  expect(new Set(left)).toEqual(new Set([404]));
});

test("what waited at a gate for all of its time is not begun", async () => {
  const { write, get, feed } = await opened({ gate: { ...OPEN_GATE, pass: (_, __, ___, work) => work(0) } });
  const late = { status: 504, code: "TIMED_OUT", outcome: "not_applied" };
  expect(await write("put", "1")).toMatchObject(late);
  expect(await feed([putOf("2")])).toMatchObject([late]);
  expect(await get("1")).not.toBe(200);
});

test("of a load of several shards the operations of the one that failed are told of", async () => {
  const maps = new ShardMaps();
  maps.open("g:a").learn(afterSplit(WHOLE, 1));
  const ids = Array.from({ length: 20 }, (_, n) => idOf(n));
  const operations = new Writer();
  for (const id of ids) operations.bytes(encoder.encode(id));
  const stored: string[] = [];
  const ask = async ({ number }: { readonly number: number }, load: Load) => {
    await nodeSurroundings.turn();
    if (number === 0) throw tooLate();
    const reader = new Reader(load.operations);
    for (let at = 0; at < load.count; at += 1) stored.push(new TextDecoder().decode(reader.bytes()));
    return { result: [] };
  };
  const told = await loadShards(maps, "g:a", { count: ids.length, operations: operations.finish(), ids }, ask);
  expect(stored).not.toEqual([]);
  const failed = ids.flatMap((id, index) => (stored.includes(id) ? [] : [index]));
  expect(failed).not.toEqual([]);
  expect(told).toEqual(failed.map((index) => ({ index, outcome: failedOutcome(tooLate()) })));
});
