/** Partitions that are asked for one after the other are read together: few statements for many, and the same as one by one. */
import { expect, test } from "vitest";
import { PartitionStore } from "../src/partition-store.ts";
import type { StoredChange } from "../src/partitions.ts";
import type { Sql, SqlConnection } from "../src/sql.ts";
import { StoreError } from "../src/store-error.ts";
import { createTables } from "../src/tables.ts";
import { openSql } from "./open.ts";

const IDENTITY = { bucket: 0, buckets: 1 };
const KEYS = Array.from({ length: 40 }, (_, at) => `g:${at}`);
/** Longer than what is read ahead. */
const LONG = 4_096;

function numbers(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

function database(): SqlConnection {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  return sql;
}

/** A store that remembers few partitions: what it is asked for it reads. */
function storeOf(sql: Sql): PartitionStore {
  return new PartitionStore(sql, { ...IDENTITY, application: 1, remembered: 2 });
}

function change(number: number, folded: number, bytes: number): StoredChange {
  const header = new Uint8Array(bytes).fill(number % 251);
  const made = { number, schema: "mail", documents: 1, header, liveness: Uint8Array.of(1), blocks: [] };
  return { folded, removedSegments: [], liveness: [], newSegments: [made] };
}

/** Partitions with a segment and a tail of one operation each. */
function fill(store: PartitionStore): void {
  for (const key of KEYS) store.commit(key, change(store.firstFreeSegment, 0, 100), true);
  store.append(KEYS.map((key, at) => ({ key, bytes: Uint8Array.of(at) })));
}

/** Counts the statements that read. */
function counted(sql: Sql): { readonly sql: Sql; readonly statements: () => number } {
  let count = 0;
  const all: Sql["all"] = (statement, ...bindings) => {
    count += 1;
    return sql.all(statement, ...bindings);
  };
  return { sql: { ...sql, all }, statements: () => count };
}

/** What is stored of a partition, or why it is not told. */
function told(store: PartitionStore, key: string): unknown {
  try {
    const { number, operations, operationBytes, lastOperation, application } = store.state(key);
    const manifest = store.manifest(key, 0, 0);
    const tail = manifest.operations.map((one) => ({ number: one.number, bytes: one.bytes }));
    return { number, operations, operationBytes, lastOperation, application, segments: manifest.segments, tail };
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}

test("partitions that come next cost as many statements together as one alone", () => {
  const { sql, statements } = counted(database());
  fill(storeOf(sql));
  const cost = (keys: readonly string[]): number => {
    const store = storeOf(sql);
    const before = statements();
    store.expect(keys);
    for (const key of keys) expect(told(store, key)).toMatchObject({ operations: 1, segments: [{}] });
    return statements() - before;
  };
  const alone = cost(KEYS.slice(0, 1));
  expect(alone).toBeGreaterThan(0);
  expect(cost(KEYS)).toBe(alone);
});

test("whatever happens in between, they are what they are when they are asked for one by one", () => {
  const [ahead, plain] = [storeOf(database()), storeOf(database())];
  const both = (work: (store: PartitionStore) => void): void => [ahead, plain].forEach(work);
  both(fill);
  const below = numbers(11);
  const anyKey = (): string => KEYS[below(KEYS.length)] ?? "";
  const changes: readonly (() => void)[] = [
    () => ahead.expect(KEYS.slice(below(20), 20 + below(20))),
    () => {
      const [key, bytes] = [anyKey(), new Uint8Array(below(4) === 0 ? LONG : 1 + below(20)).fill(below(256))];
      both((store) => store.append([{ key, bytes }]));
    },
    () => {
      const [key, folds, bytes] = [anyKey(), below(2) === 0, below(4) === 0 ? LONG : 10];
      both((store) =>
        store.commit(key, change(store.firstFreeSegment, folds ? store.lastOperation : 0, bytes), below(2) === 0),
      );
    },
    () => {
      const key = anyKey();
      both((store) => store.erase(key));
    },
    () => {
      const key = anyKey();
      both((store) => store.markCurrent(key));
    },
    () => {
      const key = anyKey();
      both((store) => store.note(key, `of ${key}`));
    },
    () => {
      // More operations than are read ahead, in one of them: they are compared over and over.
      const [key = ""] = KEYS;
      both((store) => store.append(Array.from({ length: 300 }, () => ({ key, bytes: Uint8Array.of(1) }))));
    },
  ];
  for (let round = 0; round < 1_500; round += 1) {
    if (below(8) === 0) changes[below(changes.length)]?.();
    const key = anyKey();
    expect(told(ahead, key), `${round}`).toEqual(told(plain, key));
  }
});

test.each(["INSERT INTO operation", "INSERT OR REPLACE INTO head"])(
  "nothing is kept of what was read while something was written that failed: %s",
  (begin) => {
    const sql = database();
    fill(storeOf(sql));
    const before = KEYS.map((key) => told(storeOf(sql), key));
    let left = Number.POSITIVE_INFINITY;
    const run: Sql["run"] = (statement, ...bindings) => {
      if (statement.startsWith(begin)) left -= 1;
      if (left === 0) throw new StoreError("full", "no space is left");
      return sql.run(statement, ...bindings);
    };
    const store = storeOf({ ...sql, run });
    const [first = ""] = KEYS;
    store.state(first);
    store.expect(KEYS);
    left = 3;
    // The second is read, and with it the others, when the first has an operation more, which does not come to be.
    const entries = KEYS.slice(0, 3).map((key) => ({ key, bytes: Uint8Array.of(1) }));
    expect(() => store.append(entries)).toThrow("no space is left");
    left = Number.POSITIVE_INFINITY;
    expect(KEYS.toReversed().map((key) => told(store, key))).toEqual(before.toReversed());
  },
);

test.each([
  ["a head", "DELETE FROM head WHERE partition = 3", "what it consists of is missing"],
  ["a segment", "DELETE FROM segment WHERE partition = 3", "0 segments are there of 1"],
  ["an operation", "DELETE FROM operation WHERE partition = 3", "0 operations are there of 1"],
  ["another segment", "UPDATE segment SET documents = 9 WHERE partition = 3", "not what was written last"],
  ["another operation", "UPDATE operation SET bytes = x'ff' WHERE partition = 3", "not what was written at its place"],
])("of one that lacks something, or has another, it is told, and of that one alone: %s", (_, statement, message) => {
  const sql = database();
  fill(storeOf(sql));
  const before = KEYS.map((key) => told(storeOf(sql), key));
  sql.run(statement);
  const store = storeOf(sql);
  store.expect(KEYS);
  const after = KEYS.map((key) => told(store, key));
  const other = after.flatMap((one, at) => (JSON.stringify(one) === JSON.stringify(before[at]) ? [] : [one]));
  expect(other).toEqual([expect.stringContaining(message)]);
});

test("where they cannot be read together each is read by itself", () => {
  const sql = database();
  fill(storeOf(sql));
  const broken: Sql["all"] = (statement, ...bindings) => {
    if (statement.includes("json_each")) throw new StoreError("damaged", "SQLITE_CORRUPT: one of them");
    return sql.all(statement, ...bindings);
  };
  const store = storeOf({ ...sql, all: broken });
  store.expect(KEYS);
  const plain = storeOf(sql);
  for (const key of KEYS) expect(told(store, key)).toEqual(told(plain, key));
});
