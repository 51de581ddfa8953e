/** The store of one partition: against the tables of many over the same steps, and the rows that it writes. */
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { durableObject, type ObjectSqlStorage } from "../src/drivers/durable-object.ts";
import { OnePartitionStore } from "../src/one-partition-store.ts";
import { packRows, unpackRow } from "../src/packed-row.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { Partitions, StoredChange } from "../src/partitions.ts";
import type { SqlConnection, SqlValue } from "../src/sql.ts";
import { createTables } from "../src/tables.ts";
import { openSql } from "./open.ts";

const KEY = "g:alice";
const IDENTITY = { bucket: 0, buckets: 1, application: 1 };

function memory(): SqlConnection {
  return openSql(":memory:");
}

/** Numbers that look random, the same in every run. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

function bytesOf(length: number, salt: number): Uint8Array {
  const bytes = new Uint8Array(length).fill(salt);
  for (let at = 0; at < length; at += 97) bytes[at] = at & 0xff;
  return bytes;
}

/** Bytes in short: comparing long arrays one by one takes minutes. */
function digest(bytes: Uint8Array): string {
  return createHash("sha1").update(bytes).digest("hex");
}

/** What is seen of a partition, without numbers that differ by how it is kept. */
function seen(store: Partitions, blocks: readonly { readonly segment: number; readonly block: number }[]) {
  const { layout: _, incarnation: __, operationBytes: ___, ...state } = store.state(KEY);
  const { segments, operations } = store.manifest(KEY, 0, 0);
  const { lastOperation, firstFreeSegment } = store;
  const listed = [store.from(0, 9), store.from(2, 9), store.withTail(0, 9), store.outdated(0, 9)];
  const one = operations.at(-1)?.number;
  return {
    state,
    segments: segments?.map(({ number, header, liveness }) => [number, digest(header), digest(liveness)]),
    operations: operations.map(({ number, bytes }) => [number, digest(bytes)]),
    lastOperation,
    firstFreeSegment,
    listed,
    newest: one === undefined ? undefined : digest(store.operation(KEY, one)),
    blocks: store.read(blocks).map(digest),
  };
}

test("the same steps come to the same as in the tables of many partitions", () => {
  for (let seed = 1; seed <= 6; seed += 1) {
    const next = numbers(seed);
    const tables = memory();
    createTables(tables, IDENTITY);
    const alone = memory();
    let [many, one]: [Partitions, Partitions] = [
      new PartitionStore(tables, IDENTITY),
      new OnePartitionStore(alone, KEY, IDENTITY),
    ];
    const segments = new Map<number, number>();
    const both = (step: (store: Partitions) => void): void => [many, one].forEach(step);
    for (let step = 0; step < 40; step += 1) {
      const kind = next(6);
      if (kind <= 2) {
        const entries = Array.from({ length: next(20) + 1 }, () => ({
          key: KEY,
          bytes: bytesOf(next(3) === 0 ? next(200_000) : next(300), step),
        }));
        both((store) => store.append(entries));
      } else if (kind === 3) {
        const number = many.firstFreeSegment + next(3);
        const blocks = Array.from({ length: next(40) + 1 }, (_, block) => bytesOf(next(9_000), block));
        const schema = ["mail", "note"][next(2)] ?? "";
        const made = { number, schema, documents: 3, header: bytesOf(90, step), liveness: bytesOf(9, step), blocks };
        const old = [...segments.keys()];
        const removed = old.filter(() => next(3) === 0);
        const kept = old.filter((segment) => !removed.includes(segment));
        const change: StoredChange = {
          folded: Math.max(many.lastOperation - next(30), 0),
          removedSegments: removed,
          liveness: kept.slice(0, 1).map((segment) => ({ segment, liveness: bytesOf(9, step + 1) })),
          newSegments: [made],
        };
        both((store) => store.commit(KEY, change, next(1) === 0 && step % 2 === 0));
        for (const segment of removed) segments.delete(segment);
        segments.set(number, blocks.length);
      } else if (kind === 4) {
        both((store) => {
          store.application = step;
          if (step % 3 === 0) store.markCurrent(KEY);
        });
      } else {
        const from = [many, one].map((store) => store.eraseOthers(["mail"], 0, 2));
        expect(from[0]).toBe(from[1]);
        const left = new Set(many.manifest(KEY, 0, 0).segments?.map(({ number }) => number));
        for (const segment of [...segments.keys()]) if (!left.has(segment)) segments.delete(segment);
      }
      const all = [...segments].flatMap(([segment, count]) =>
        Array.from({ length: count }, (_, block) => ({ segment, block })),
      );
      const some = all.filter(() => next(4) === 0).reverse();
      expect(seen(one, some)).toEqual(seen(many, some));
      if (next(8) === 0) {
        const identity = { ...IDENTITY, application: many.application };
        [many, one] = [new PartitionStore(tables, identity), new OnePartitionStore(alone, KEY, identity)];
        expect(seen(one, some)).toEqual(seen(many, some));
      }
    }
  }
});

test("what is missing or damaged is told, and what is another's is refused", () => {
  const sql = memory();
  const store = new OnePartitionStore(sql, KEY, IDENTITY);
  expect(() => store.read([{ segment: 1, block: 0 }])).toThrow();
  store.append([{ key: KEY, bytes: bytesOf(10, 1) }]);
  expect(() => store.read([{ segment: 1, block: 0 }])).toThrow("block 0 of segment 1 is missing");
  expect(() => store.operation(KEY, 7)).toThrow("operation 7 is missing");
  expect(() => store.append([{ key: "g:bob", bytes: bytesOf(10, 1) }])).toThrow("another");
  expect(store.state("g:bob").number).toBe(0);
  expect(() => new OnePartitionStore(sql, "g:bob", IDENTITY)).toThrow("another partition's");
  store.append([{ key: KEY, bytes: bytesOf(10, 2) }]);
  sql.run("UPDATE brooklet SET bytes = x'0200000001' WHERE id = 2");
  expect(() => store.manifest(KEY, 0, 0)).toThrow("not as long as it says");
  for (const [bytes, said] of [
    ["x'0200000001'", "not as long as it says"],
    ["x'010000000200000000ff'", "cannot be read"],
    ['CAST(\'{"format":3,"key":"g:alice"}\' AS BLOB)', "format 3; this release reads 1 and 2"],
  ] as const) {
    sql.run(`UPDATE brooklet SET bytes = ${bytes} WHERE id = 0`);
    expect(() => new OnePartitionStore(sql, KEY, IDENTITY)).toThrow(said);
  }
  sql.run("DELETE FROM brooklet WHERE id = 0");
  expect(() => new OnePartitionStore(sql, KEY, IDENTITY)).toThrow("missing");
});

test("a transaction that fails leaves what is in memory as it was", () => {
  const sql = memory();
  let fails = false;
  const failing: SqlConnection = {
    ...sql,
    run: (statement, ...bindings) => {
      if (fails) throw new Error("no room");
      sql.run(statement, ...bindings);
    },
  };
  const store = new OnePartitionStore(failing, KEY, IDENTITY);
  fails = true;
  expect(() => store.append([{ key: KEY, bytes: bytesOf(10, 1) }])).toThrow("no room");
  expect([store.state(KEY).number, store.lastOperation]).toEqual([0, 0]);
  fails = false;
  store.append([{ key: KEY, bytes: bytesOf(10, 1) }]);
  fails = true;
  expect(() => store.append([{ key: KEY, bytes: bytesOf(10, 2) }])).toThrow("no room");
  expect([store.state(KEY).operations, store.lastOperation]).toEqual([1, 1]);
});

/** The storage of an object, over a database of this process: it counts the rows that statements change. */
function objectOf(database: SqlConnection): ObjectSqlStorage {
  const exec: ObjectSqlStorage["sql"]["exec"] = (text, ...given) => {
    const bindings = given as SqlValue[];
    if (text.startsWith("SELECT")) {
      const rows = database.all<Record<string, unknown>>(text, ...bindings);
      // The platform's blobs are buffers.
      for (const row of rows)
        for (const name in row) {
          const value = row[name];
          if (value instanceof Uint8Array) row[name] = Uint8Array.from(value).buffer;
        }
      return { toArray: () => rows, rowsRead: rows.length, rowsWritten: 0 };
    }
    database.run(text, ...bindings);
    const [changed] = database.all<{ rows: number }>("SELECT changes() AS rows");
    return { toArray: () => [], rowsRead: 0, rowsWritten: text.startsWith("CREATE") ? 1 : (changed?.rows ?? 0) };
  };
  return { sql: { exec }, transactionSync: (work) => database.transaction(work) };
}

test("reads write nothing, a first write two rows, and operations that come together one", () => {
  const billed = { read: 0, written: 0 };
  const store = new OnePartitionStore(durableObject(objectOf(memory()), billed), KEY, IDENTITY);
  expect(store.manifest(KEY, 0, 0).operations).toEqual([]);
  expect(store.outdated(0, 1)).toEqual([]);
  expect(billed.written).toBe(0);
  store.append([{ key: KEY, bytes: bytesOf(300, 0) }]);
  // The table and what is in it: SQLite counts two for a table, this stand-in one.
  expect(billed.written).toBe(2);
  store.append(Array.from({ length: 200 }, (_, index) => ({ key: KEY, bytes: bytesOf(300, index) })));
  expect(billed.written).toBe(3);
  const blocks = Array.from({ length: 2_000 }, (_, index) => bytesOf(4_000, index));
  const made = { number: 1, schema: "note", documents: 10_000, header: bytesOf(9, 1), liveness: bytesOf(9, 2), blocks };
  const before = billed.written;
  store.commit(KEY, { folded: 0, removedSegments: [], liveness: [], newSegments: [made] }, true);
  // 8 MB in rows of 128 KiB: 63 of them, a header with its liveness, and what is known of the partition.
  expect(billed.written - before).toBeLessThanOrEqual(66);
  expect(store.manifest(KEY, 0, 0).operations).toHaveLength(201);
  expect(store.read([{ segment: 1, block: 1_999 }])).toEqual([blocks.at(-1)]);
});

test("what is noted and folded of a first write that stands beside what is known leaves the rest as it was", () => {
  const sql = memory();
  const operations = Array.from({ length: 9 }, (_, index) => bytesOf(50, index));
  const first = new OnePartitionStore(sql, KEY, IDENTITY);
  first.append(operations.map((bytes) => ({ key: KEY, bytes })));
  first.note(KEY, "noted");
  const steps: readonly ((store: OnePartitionStore) => void)[] = [
    (store) => store.note(KEY, "noted again, at more length than before"),
    (store) => store.commit(KEY, { folded: 0, removedSegments: [], liveness: [], newSegments: [] }, true),
    (store) => store.append([{ key: KEY, bytes: bytesOf(20, 10) }]),
    (store) => store.commit(KEY, { folded: 4, removedSegments: [], liveness: [], newSegments: [] }, true),
    (store) => store.markCurrent(KEY),
    (store) => store.commit(KEY, { folded: 9, removedSegments: [], liveness: [], newSegments: [] }, true),
  ];
  const left = [1, 1, 1, 5, 5, 10];
  steps.forEach((step, index) => {
    step(new OnePartitionStore(sql, KEY, IDENTITY));
    const store = new OnePartitionStore(sql, KEY, IDENTITY);
    const from = left[index] ?? 0;
    const all = index < 2 ? operations : [...operations, bytesOf(20, 10)];
    const numbers = all.map((_, at) => at + 1).filter((number) => number >= from);
    const stored = store.manifest(KEY, 0, 0).operations;
    expect(stored.map(({ number }) => number)).toEqual(numbers);
    expect(stored.map(({ bytes }) => digest(bytes))).toEqual(
      numbers.map((number) => digest(all[number - 1] ?? bytesOf(0, 0))),
    );
    expect(store.state(KEY)).toMatchObject({
      operations: numbers.length,
      lastOperation: all.length,
    });
    expect(digest(store.operation(KEY, all.length))).toBe(digest(all.at(-1) ?? bytesOf(0, 0)));
    expect(store.noted(KEY)).toBe("noted again, at more length than before");
  });
});

test("rows hold what was packed, whatever its lengths", () => {
  const next = numbers(7);
  for (let round = 0; round < 200; round += 1) {
    const things = Array.from({ length: next(30) }, (_, index) => bytesOf(next(3) === 0 ? 0 : next(5_000), index));
    const rows = packRows(5, things, 8_000);
    expect(rows.flatMap(({ bytes }) => unpackRow(bytes)).map(digest)).toEqual(things.map(digest));
    expect(rows.map(({ first }) => first)).toEqual(
      rows.map((_, index) => 5 + rows.slice(0, index).reduce((sum, { count }) => sum + count, 0)),
    );
    for (const { bytes, count } of rows) if (count > 1) expect(bytes.length).toBeLessThanOrEqual(8_004);
  }
});
