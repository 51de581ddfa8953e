/** Blocks come in the order they are asked for, whether they stand in a row or alone. */
import { expect, test } from "vitest";
import { hasErased } from "../src/leftovers.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { StoredChange } from "../src/partitions.ts";
import type { StoreError } from "../src/store-error.ts";
import { checkTables, createTables } from "../src/tables.ts";
import { openSql } from "./open.ts";

const IDENTITY = { bucket: 0, buckets: 8 };
const BLOCKS = 60;

/** Two segments whose blocks say which they are. */
function stored(): PartitionStore {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  const store = new PartitionStore(sql, { ...IDENTITY, application: 1 });
  const newSegments = [1, 2].map((number) => ({
    number,
    header: Uint8Array.of(number),
    liveness: Uint8Array.of(),
    schema: "mail",
    documents: 1,
    blocks: Array.from({ length: BLOCKS }, (_, block) => Uint8Array.of(number, block)),
  }));
  store.commit("g:a", { folded: 0, removedSegments: [], liveness: [], newSegments }, true);
  return store;
}

const runs: readonly (readonly [from: number, to: number])[] = [
  [0, BLOCKS],
  [3, 6],
  [3, 7],
  [58, BLOCKS],
];

test.each(runs)("a run of blocks from %i to %i", (from, to) => {
  const store = stored();
  const blocks = Array.from({ length: to - from }, (_, at) => ({ segment: 2, block: from + at }));
  expect(store.read(blocks).map((bytes) => [...bytes])).toEqual(blocks.map(({ block }) => [2, block]));
});

test("a compaction writes small segments in one statement, and what it knows of them is not read again", () => {
  const real = openSql(":memory:");
  createTables(real, IDENTITY);
  const statements: string[] = [];
  const noted =
    <Arguments extends readonly unknown[], Result>(call: (text: string, ...rest: Arguments) => Result) =>
    (text: string, ...rest: Arguments): Result => {
      statements.push(text);
      return call(text, ...rest);
    };
  const sql = { ...real, run: noted(real.run.bind(real)), all: noted(real.all.bind(real)) } as typeof real;
  sql.transaction = real.transaction.bind(real);
  const store = new PartitionStore(sql, { ...IDENTITY, application: 1 });
  const segment = (number: number, count: number): StoredChange["newSegments"][number] => ({
    number,
    header: Uint8Array.of(number),
    liveness: Uint8Array.of(1),
    schema: "mail",
    documents: 1,
    blocks: Array.from({ length: count }, (_, block) => Uint8Array.of(number, block)),
  });
  const put = (change: Partial<StoredChange>): void =>
    store.commit("g:a", { folded: 0, removedSegments: [], liveness: [], newSegments: [], ...change }, true);
  store.append([{ key: "g:a", bytes: Uint8Array.of(1) }]);
  put({ folded: store.lastOperation, newSegments: [segment(1, 5), segment(2, 19)] });
  expect(statements.filter((text) => text.startsWith("INSERT INTO block")).length).toBe(1 + 3);
  // One changes, one goes, one comes; then an operation, and a compaction that leaves it.
  const before = store.state("g:a").layout;
  put({ liveness: [{ segment: 2, liveness: Uint8Array.of(2) }], removedSegments: [1], newSegments: [segment(3, 8)] });
  statements.length = 0;
  const { layout, operations } = store.state("g:a");
  expect(layout).not.toBe(before);
  expect([operations, statements]).toEqual([0, []]);
  const folded = store.lastOperation;
  store.append([{ key: "g:a", bytes: Uint8Array.of(2) }]);
  put({ folded, newSegments: [segment(4, 1)] });
  // As another reads it from the file, where head and rows have to belong together.
  for (const one of [store, new PartitionStore(real, { ...IDENTITY, application: 1 })]) {
    const { segments, operations } = one.manifest("g:a", 0, 0);
    expect(segments?.map(({ number, liveness }) => [number, ...liveness])).toEqual([
      [2, 2],
      [3, 1],
      [4, 1],
    ]);
    expect(operations.map(({ bytes }) => [...bytes])).toEqual([[2]]);
    expect(one.read([{ segment: 3, block: 7 }]).map((bytes) => [...bytes])).toEqual([[3, 7]]);
  }
});

test("any blocks in any order", () => {
  const store = stored();
  let state = 7;
  const random = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % limit;
  };
  for (let round = 0; round < 200; round += 1) {
    const blocks = Array.from({ length: random(9) }, () => ({ segment: 1 + random(2), block: random(BLOCKS - 8) }))
      // Each begins a run of some length.
      .flatMap(({ segment, block }) =>
        Array.from({ length: 1 + random(8) }, (_, at) => ({ segment, block: block + at })),
      );
    const found = store.read(blocks).map((bytes) => [...bytes]);
    expect(found).toEqual(blocks.map(({ segment, block }) => [segment, block]));
  }
});

test("a block that is missing in the middle of a run is named", () => {
  const store = stored();
  const beyond = Array.from({ length: 6 }, (_, at) => ({ segment: 1, block: BLOCKS - 3 + at }));
  const thrown = (): unknown => {
    try {
      return store.read(beyond);
    } catch (error) {
      return (error as StoreError).message;
    }
  };
  expect(thrown()).toContain(`block ${BLOCKS} of segment 1 is missing`);
});

test("what was written since is told by partition, also when it was folded, and nothing else", () => {
  const store = stored();
  const since = (): readonly [number, number] => [store.lastOperation, store.firstFreeSegment];
  const written = (mark: readonly [number, number]): string[] => [...store.writtenSince(...mark)].sort();
  const first = since();
  store.append(["g:b", "g:c"].map((key) => ({ key, bytes: Uint8Array.of(1) })));
  const second = since();
  store.note("g:a", "of a");
  store.append([{ key: "g:c", bytes: Uint8Array.of(2) }]);
  expect([written(first), written(second), written(since())]).toEqual([["g:b", "g:c"], ["g:c"], []]);
  const third = since();
  const [number, fold] = [store.firstFreeSegment, store.lastOperation];
  const made = { number, header: Uint8Array.of(), liveness: Uint8Array.of(), schema: "mail", documents: 1, blocks: [] };
  store.commit("g:c", { folded: fold, removedSegments: [], liveness: [], newSegments: [made] }, true);
  expect([written(second), written(third)]).toEqual([["g:c"], ["g:c"]]);
});

test("who opens the tables after an erasure goes on with it, and gives no number twice", () => {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  const open = (): PartitionStore => new PartitionStore(sql, { ...IDENTITY, application: 1 });
  const first = open();
  first.append([{ key: "g:a", bytes: Uint8Array.of(1) }]);
  const segment = first.firstFreeSegment;
  const bytes = { header: Uint8Array.of(7), liveness: Uint8Array.of(1), blocks: [Uint8Array.of(1), Uint8Array.of(2)] };
  const newSegments = [{ number: segment, schema: "mail", documents: 1, ...bytes }];
  first.commit("g:a", { folded: 0, removedSegments: [], liveness: [], newSegments }, true);
  const before = first.state("g:a");
  expect(hasErased(sql)).toBe(false);
  first.erase("g:a");
  expect(hasErased(sql)).toBe(true);

  const second = open();
  checkTables(sql, IDENTITY);
  expect([second.firstFreeSegment, second.lastOperation]).toEqual([segment + 1, before.lastOperation]);
  second.append([{ key: "g:b", bytes: Uint8Array.of(3) }]);
  expect(second.state("g:b").number).toBe(before.number + IDENTITY.buckets);
  expect([second.dropErased(1), second.dropErased(1), second.dropErased(1)]).toContain(false);
  expect(hasErased(sql)).toBe(false);
  expect(sql.all("SELECT id FROM block")).toEqual([]);
  expect(second.manifest("g:b", 0, 0).operations).toHaveLength(1);
});

test("changes of several partitions are committed together, all or none of them", () => {
  const sql = openSql(":memory:");
  createTables(sql, IDENTITY);
  const open = (application: number): PartitionStore => new PartitionStore(sql, { ...IDENTITY, application });
  const keys = ["g:a", "g:b", "g:c"];
  open(1).append(keys.map((key) => ({ key, bytes: Uint8Array.of(1) })));
  const store = open(2);
  const free = store.firstFreeSegment;
  const changeOf = (key: string, number: number): StoredChange => {
    const bytes = { header: Uint8Array.of(7), liveness: Uint8Array.of(), blocks: [Uint8Array.of(number)] };
    const segment = { number, schema: "note", documents: 1, ...bytes };
    return { folded: store.state(key).lastOperation, removedSegments: [], liveness: [], newSegments: [segment] };
  };
  const shown = (of: PartitionStore): unknown =>
    keys.map((key) => {
      const { segments = [], operations } = of.manifest(key, 0, 0);
      return [of.state(key).application, segments.map(({ number }) => number), operations.length];
    });
  const of = (numbers: readonly number[]): Parameters<PartitionStore["commitAll"]>[0] => [
    { key: "g:a", change: changeOf("g:a", numbers[0] ?? 0), wholly: true },
    { key: "g:b", change: undefined, wholly: true },
    { key: "g:c", change: changeOf("g:c", numbers[1] ?? 0), wholly: false },
  ];
  const before = shown(store);
  expect(() => store.commitAll(of([free, free]))).toThrow();
  expect([shown(store), shown(open(2)), store.firstFreeSegment]).toEqual([before, before, free]);
  store.commitAll(of([free, free + 1]));
  const after = [
    [2, [free], 0],
    [2, [], 1],
    [1, [free + 1], 0],
  ];
  // The heads tell what is stored then: who opens it anew reads the same.
  expect([shown(store), shown(open(2))]).toEqual([after, after]);
  expect([store.firstFreeSegment, open(2).firstFreeSegment]).toEqual([free + 2, free + 2]);
});

test("a partition is small when its segments have few bytes, in few blocks", () => {
  const store = stored();
  expect([2 * BLOCKS * 2, 2 * BLOCKS * 2 - 1].map((bytes) => store.isWithin("g:a", bytes))).toEqual([true, false]);
  const bytes = { header: Uint8Array.of(), liveness: Uint8Array.of() };
  const blocks = Array.from({ length: 200 }, () => Uint8Array.of(1));
  const newSegments = [{ number: 3, schema: "mail", documents: 1, ...bytes, blocks }];
  store.commit("g:b", { folded: 0, removedSegments: [], liveness: [], newSegments }, true);
  expect([store.isWithin("g:b", 1_000), store.isWithin("g:none", 0)]).toEqual([false, true]);
});
