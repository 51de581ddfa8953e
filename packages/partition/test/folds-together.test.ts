/** Small partitions of a bucket that wait to be folded together: one commit for several, and none of them pays for another. */
import { join } from "node:path";
import { Bucket, partitionsInTables, type SqlConnection, StoreError } from "@brooklet/store";
import { expect, onTestFinished, test } from "vitest";
import { FOLD_OPERATIONS, TOGETHER_BYTES, TOGETHER_PARTITIONS, TOGETHER_SEGMENT_BYTES } from "../src/limits.ts";
import { Maintenance } from "../src/maintenance.ts";
import { nodeSurroundings } from "../src/node/surroundings.ts";
import { FakeEngine } from "./fake-engine.mjs";
import { directory, folder } from "./setting.ts";

const { foldTogether } = nodeSurroundings;
const encoder = new TextEncoder();
const operation = (id: string, value: unknown): Uint8Array => encoder.encode(JSON.stringify({ id, value }));

interface Setting {
  readonly bucket: Bucket;
  readonly engine: FakeEngine;
  readonly maintenance: Maintenance;
  readonly problems: unknown[];
  /** How many transactions there were since the last time it was asked. */
  readonly transactions: () => number;
  /** Called in every turn of maintenance. */
  meanwhile: () => void;
  /** Called before every statement. */
  before: (statement: string, parameters: readonly unknown[]) => void;
}

/** A bucket in a file, with maintenance over the stand-in for the core. */
function setting(): Setting {
  const [storage, engine, problems] = [directory(join(folder(), "data")), new FakeEngine(), [] as unknown[]];
  let count = 0;
  const counted = (sql: SqlConnection): SqlConnection => ({
    ...sql,
    run: (statement, ...parameters) => {
      made.before(statement, parameters);
      return sql.run(statement, ...parameters);
    },
    transaction: (work) => {
      count += 1;
      return sql.transaction(work);
    },
  });
  const schedule = (work: () => void): void => void setImmediate(work);
  const open = (): SqlConnection => counted(storage.openBucket(0));
  const bucket = new Bucket({ bucket: 0, buckets: 2, application: 1, open, partitions: partitionsInTables, schedule });
  const turn = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    made.meanwhile();
  };
  const onProblem = (problem: unknown): void => void problems.push(problem);
  const maintenance = new Maintenance({
    engine,
    keepRemovesSeconds: 1,
    turn,
    onProblem,
    ...(foldTogether && { foldTogether }),
  });
  const transactions = (): number => {
    const seen = count;
    count = 0;
    return seen;
  };
  const made: Setting = {
    bucket,
    engine,
    maintenance,
    problems,
    transactions,
    meanwhile: () => undefined,
    before: () => undefined,
  };
  onTestFinished(async () => {
    await maintenance.stop();
    bucket.close();
    storage.close();
  });
  return made;
}

const named = (count: number): string[] => Array.from({ length: count }, (_, at) => `g:user${at}`);

/** Writes to each of these partitions what its tail has. */
function write({ bucket, transactions }: Setting, keys: readonly string[], operations = 3): void {
  const numbers = Array.from({ length: operations }, (_, number) => number);
  for (const key of keys) bucket.store.append(numbers.map((number) => ({ key, bytes: operation(`d${number}`, key) })));
  transactions();
}

/** The numbers of the segments of a partition, and what is in its tail. */
function stored({ bucket }: Setting, key: string): { readonly segments: number[]; readonly tail: string[] } {
  const { segments = [], operations } = bucket.store.manifest(key, 0, 0);
  const tail = operations.map(({ bytes }) => (JSON.parse(new TextDecoder().decode(bytes)) as { id: string }).id);
  return { segments: segments.map(({ number }) => number), tail };
}

const foldAll = async ({ bucket, maintenance }: Setting, keys: readonly string[]): Promise<unknown> =>
  await Promise.allSettled(keys.map((key) => maintenance.fold(bucket, key)));

/** Does something once so many compactions were begun. */
function whenBegun(made: Setting, count: number, work: () => void): void {
  made.meanwhile = () => {
    if (made.engine.compactions.length < count) return;
    made.meanwhile = () => undefined;
    work();
  };
}

test("small folds of a bucket are a commit for sixteen, with numbers of segments of their own", async () => {
  const made = setting();
  const keys = named(TOGETHER_PARTITIONS + 4);
  write(made, keys);
  await foldAll(made, keys);
  expect(made.transactions()).toBe(2);
  const segments = keys.flatMap((key) => stored(made, key).segments);
  expect([new Set(segments).size, Math.max(...segments)]).toEqual([keys.length, keys.length]);
  expect(made.bucket.store.firstFreeSegment).toBe(keys.length + 1);
  expect(keys.flatMap((key) => stored(made, key).tail)).toEqual([]);
  expect(made.maintenance.tally.folds).toBe(keys.length);
  expect(made.problems).toEqual([]);
});

test("of what is held the erased stays erased, the noted is folded anew, and what was written meanwhile stays", async () => {
  const made = setting();
  const keys = named(8);
  write(made, keys);
  const queued = foldAll(made, keys);
  const begun = (): string[] => made.engine.compactions.map(({ key }) => key);
  let [erased, anew, noted, written] = ["", "", "", ""];
  whenBegun(made, 5, () => {
    [erased = "", anew = "", noted = "", written = ""] = begun();
    for (const key of [erased, anew]) made.bucket.store.erase(key);
    made.bucket.store.append([{ key: anew, bytes: operation("new", 1) }]);
    made.bucket.store.note(noted, "note");
    made.bucket.store.append([{ key: written, bytes: operation("late", 1) }]);
  });
  await queued;
  expect(made.bucket.store.state(erased).number).toBe(0);
  // The one that was made anew was folded by itself: of what was before it there is nothing.
  expect(stored(made, anew).tail).toEqual([]);
  const blocks = stored(made, anew).segments.map((segment) => ({ segment, block: 0 }));
  const texts = made.bucket.store.read(blocks).map((bytes) => new TextDecoder().decode(bytes));
  expect(texts).toEqual([JSON.stringify([["new", 1]])]);
  expect([stored(made, noted).tail, made.bucket.store.noted(noted)]).toEqual([[], "note"]);
  expect(begun().filter((key) => key === noted)).toHaveLength(2);
  expect(stored(made, written).tail).toEqual(["late"]);
  const others = keys.filter((key) => ![erased, anew, noted, written].includes(key));
  expect(others.flatMap((key) => stored(made, key).tail)).toEqual([]);
  expect(others.map((key) => begun().filter((one) => one === key).length)).toEqual([1, 1, 1, 1]);
  const segments = keys.flatMap((key) => stored(made, key).segments);
  expect(new Set(segments).size).toBe(segments.length);
  expect(made.problems).toEqual([]);
});

test("one that cannot be computed, or committed, fails alone", async () => {
  const made = setting();
  const keys = named(8);
  write(made, keys);
  const [bad = "", worse = ""] = keys;
  const { number } = made.bucket.store.state(bad);
  made.before = (statement, [partition]) => {
    if (statement.startsWith("DELETE FROM operation") && partition === number)
      throw new StoreError("io", "cannot be written");
  };
  const compact = made.engine.compact.bind(made.engine);
  made.engine.compact = (place, ...rest) => {
    if (place.key === worse) throw new StoreError("damaged", "cannot be read");
    return compact(place, ...rest);
  };
  const outcomes = (await foldAll(made, keys)) as PromiseSettledResult<void>[];
  expect(outcomes.map(({ status }) => status)).toEqual(
    keys.map((key) => (key === bad || key === worse ? "rejected" : "fulfilled")),
  );
  expect(keys.filter((key) => stored(made, key).tail.length > 0)).toEqual([bad, worse]);
  expect(made.maintenance.tally.failed).toBe(2);
  expect(String(made.problems)).toContain("cannot be written");
});

test("what somebody waits for is committed before what nobody waits for, and what is done alone is not held up", async () => {
  const made = setting();
  const [keys, asked] = [named(10), "g:asked"];
  write(made, keys, FOLD_OPERATIONS);
  write(made, [asked]);
  for (const key of keys) made.maintenance.written(made.bucket, key);
  let [begunAsked, begunAlone] = [0, 0];
  const waits: Promise<void>[] = [];
  whenBegun(made, 2, () => {
    waits.push(
      made.maintenance.fold(made.bucket, asked).then(() => {
        begunAsked = made.engine.compactions.length;
      }),
    );
    whenBegun(made, 5, () => {
      const work = async (): Promise<void> => {
        begunAlone = made.engine.compactions.length;
        // Whoever is alone takes numbers of segments.
        const number = made.bucket.store.firstFreeSegment;
        const segment = {
          number,
          schema: "note",
          documents: 1,
          header: operation("h", 1),
          liveness: operation("l", 1),
        };
        const newSegments = [{ ...segment, blocks: [operation("b", 1)] }];
        made.bucket.store.commit("g:loaded", { folded: 0, removedSegments: [], liveness: [], newSegments }, true);
      };
      waits.push(made.maintenance.alone(work));
    });
  });
  await made.maintenance.idle();
  await Promise.all(waits);
  expect(begunAsked).toBe(3);
  expect(begunAlone).toBe(5);
  const segments = [...keys, asked, "g:loaded"].flatMap((key) => stored(made, key).segments);
  expect([segments.length, new Set(segments).size]).toEqual([12, 12]);
});

test("few bytes are held, and a large partition is folded alone", async () => {
  const made = setting();
  const [keys, large] = [named(TOGETHER_PARTITIONS), "g:large"];
  const put = (key: string, bytes: number): void => {
    const number = made.bucket.store.firstFreeSegment;
    const block = encoder.encode(JSON.stringify([["d", "x".repeat(bytes)]]));
    const segment = {
      number,
      schema: "note",
      documents: 1,
      header: encoder.encode("1"),
      liveness: encoder.encode("[]"),
    };
    const newSegments = [{ ...segment, blocks: [block] }];
    made.bucket.store.commit(key, { folded: 0, removedSegments: [], liveness: [], newSegments }, true);
  };
  for (const key of keys) put(key, TOGETHER_SEGMENT_BYTES - 100);
  put(large, TOGETHER_SEGMENT_BYTES);
  write(made, [...keys, large]);
  await foldAll(made, [...keys, large]);
  const each = Math.ceil(TOGETHER_BYTES / TOGETHER_SEGMENT_BYTES) + 1;
  expect(each).toBeLessThan(TOGETHER_PARTITIONS);
  // The large one is first: who asked last is served first.
  expect([made.engine.compactions[0]?.key, made.transactions()]).toEqual([large, 3]);
  expect([...keys, large].flatMap((key) => stored(made, key).tail)).toEqual([]);
});

test("what is held when all ends stays in the tails", async () => {
  const made = setting();
  const keys = named(6);
  write(made, keys);
  const ended: Promise<void>[] = [];
  whenBegun(made, 3, () => void ended.push(made.maintenance.stop()));
  await foldAll(made, keys);
  await Promise.all(ended);
  expect(keys.map((key) => stored(made, key).tail.length)).toEqual(keys.map(() => 3));
  expect([made.engine.compactions.length, made.problems]).toEqual([3, []]);
});
