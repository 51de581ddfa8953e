/**
 * What every driver must do, as cases that any test runner can run: `for (const { name, run } of testStore(open))
 * test(name, run)`. `open` gives a new empty database each time.
 */
import { OnePartitionStore } from "./one-partition-store.ts";
import { PartitionStore } from "./partition-store.ts";
import type { Partitions, StoredChange } from "./partitions.ts";
import type { SqlConnection } from "./sql.ts";
import { createTables } from "./tables.ts";

/** One case of the contract; `run` throws if the driver breaks it. */
export interface ContractCase {
  readonly name: string;
  readonly run: () => void;
}

const IDENTITY = { bucket: 0, buckets: 1, application: 1 };

/** The contract of `Sql`, of `PartitionStore` over it, and of what every store of partitions does alike. */
export function testStore(open: () => SqlConnection): readonly ContractCase[] {
  const using = (name: string, work: (sql: SqlConnection) => void): ContractCase => ({
    name,
    run: () => {
      const sql = open();
      try {
        work(sql);
      } finally {
        sql.close();
      }
    },
  });
  const stored = (name: string, work: (store: PartitionStore) => void): ContractCase =>
    using(name, (sql) => {
      createTables(sql, IDENTITY);
      work(new PartitionStore(sql, IDENTITY));
    });
  return [
    using("values come back as they went in", valuesRoundTrip),
    using("a text with U+0000 comes back whole, or is refused", textIsWhole),
    using("a transaction that throws leaves nothing", transactionRollsBack),
    using("a transaction refuses a promise", transactionRefusesPromise),
    using("100 bindings are enough for everything", hundredBindings),
    stored("operations are listed in order and only once", operationsInOrder),
    stored("a change replaces tail and segments together", changeIsWhole),
    stored("blocks are read in the order asked for", blocksInOrder),
    stored("what is erased is gone, and what comes after it is another", erasedIsGone),
    using("what is erased is gone where a partition has the database for itself", (sql) =>
      erasedIsGone(new OnePartitionStore(sql, "g:a", IDENTITY)),
    ),
    stored("what was erased is dropped in parts, and nothing else", erasedIsDropped),
  ];
}

function valuesRoundTrip(sql: SqlConnection): void {
  sql.run("CREATE TABLE sample (number INTEGER, word TEXT, bytes BLOB)");
  const bytes = Uint8Array.of(0, 255, 7);
  sql.run("INSERT INTO sample VALUES (?, ?, ?)", Number.MAX_SAFE_INTEGER, "é", bytes);
  sql.run("INSERT INTO sample VALUES (?, ?, ?)", 2 ** 40, "", null);
  const rows = sql.all<{ number: number; word: string; bytes: Uint8Array | null }>(
    "SELECT * FROM sample ORDER BY rowid",
  );
  equal(
    rows.map(({ number }) => number),
    [Number.MAX_SAFE_INTEGER, 2 ** 40],
    "numbers",
  );
  equal(
    rows.map(({ word }) => word),
    ["é", ""],
    "texts",
  );
  equal([...(rows[0]?.bytes ?? [])], [...bytes], "bytes");
  equal(rows[1]?.bytes, null, "null");
}

function textIsWhole(sql: SqlConnection): void {
  sql.run("CREATE TABLE sample (word TEXT)");
  try {
    sql.run("INSERT INTO sample VALUES (?)", "a\0b");
  } catch {
    equal(sql.all("SELECT * FROM sample"), [], "rows after a refusal");
    return;
  }
  equal(
    sql.all<{ word: string }>("SELECT * FROM sample").map(({ word }) => word),
    ["a\0b"],
    "the text",
  );
}

function transactionRollsBack(sql: SqlConnection): void {
  sql.run("CREATE TABLE sample (number INTEGER)");
  throws(() =>
    sql.transaction(() => {
      sql.run("INSERT INTO sample VALUES (1)");
      throw new Error("stop");
    }),
  );
  equal(sql.all("SELECT * FROM sample"), [], "rows after the failure");
  equal(
    sql.transaction(() => 5),
    5,
    "result of the next transaction",
  );
}

function transactionRefusesPromise(sql: SqlConnection): void {
  sql.run("CREATE TABLE sample (number INTEGER)");
  throws(() =>
    sql.transaction(() => {
      sql.run("INSERT INTO sample VALUES (1)");
      return Promise.resolve();
    }),
  );
  equal(sql.all("SELECT * FROM sample"), [], "rows after the refusal");
}

function hundredBindings(sql: SqlConnection): void {
  const numbers = Array.from({ length: 100 }, (_, index) => index);
  const row = sql.all<{ sum: number }>(`SELECT ${numbers.map(() => "?").join(" + ")} AS sum`, ...numbers)[0];
  equal(row?.sum, 4_950, "sum");
}

function operationsInOrder(store: PartitionStore): void {
  store.append([entry("g:a", 1), entry("g:b", 2), entry("g:a", 3)]);
  const before = store.state("g:a");
  equal(before.operations, 2, "operations of g:a");
  const all = store.manifest("g:a", 0, 0);
  equal(
    all.operations.map(({ bytes }) => [...bytes]),
    [[1], [3]],
    "operations",
  );
  store.append([entry("g:a", 4)]);
  const later = store.manifest("g:a", before.layout, before.lastOperation);
  equal(later.segments, undefined, "segments of the same layout");
  const last = later.operations[0]?.number ?? 0;
  equal([...store.operation("g:a", last)], [4], "one operation");
  throws(() => store.operation("g:b", last));
  equal(
    later.operations.map(({ bytes }) => [...bytes]),
    [[4]],
    "operations that came later",
  );
  equal(store.state("g:nobody").number, 0, "number of a partition that was never written");
}

function changeIsWhole(store: PartitionStore): void {
  store.append([entry("g:a", 1), entry("g:a", 2)]);
  const { lastOperation, layout } = store.state("g:a");
  store.append([entry("g:a", 3)]);
  store.commit("g:a", change(store.firstFreeSegment, lastOperation, [[9], [8]]), true);
  const manifest = store.manifest("g:a", layout, lastOperation);
  equal(manifest.layout === layout, false, "the same layout after a change");
  equal(
    manifest.segments?.map(({ header }) => [...header]),
    [[7]],
    "segments",
  );
  equal(
    manifest.operations.map(({ bytes }) => [...bytes]),
    [[3]],
    "operations after folding",
  );
  const first = manifest.segments?.[0]?.number ?? 0;
  const next = { ...change(store.firstFreeSegment, 0, [[5]]), removedSegments: [first] };
  store.commit("g:a", next, true);
  equal(store.manifest("g:a", 0, 0).segments?.length, 1, "segments after the second change");
  throws(() => store.read([{ segment: first, block: 0 }]));
}

function blocksInOrder(store: PartitionStore): void {
  store.append([entry("g:a", 1)]);
  const segment = store.firstFreeSegment;
  const contents = Array.from({ length: 40 }, (_, index) => [index]);
  store.commit("g:a", change(segment, 1, contents), true);
  const asked = [39, 0, 5, 5, ...Array.from({ length: 30 }, (_, index) => 30 - index)];
  const read = store.read(asked.map((block) => ({ segment, block })));
  equal(
    read.map(([value]) => value),
    asked,
    "blocks",
  );
  equal([...(store.read([{ segment, block: 3 }])[0] ?? [])], [3], "a single block");
}

function erasedIsGone(store: Partitions): void {
  store.erase("g:a");
  equal(store.state("g:a").number, 0, "number of a partition that never was");
  store.append([entry("g:a", 1), entry("g:a", 2)]);
  const segment = store.firstFreeSegment;
  store.commit("g:a", change(segment, 1, [[9], [8]]), true);
  const before = store.state("g:a");
  store.erase("g:a");
  equal(store.state("g:a").operations, 0, "operations after the erasure");
  const { layout, segments, operations } = store.manifest("g:a", before.layout, before.lastOperation);
  equal([layout === before.layout, segments, operations], [false, [], []], "what a core is told that knew it");
  equal([store.from(0, 9), store.withTail(0, 9), store.storedBytes("g:a")], [[], [], 0], "what is listed");
  throws(() => store.operation("g:a", before.lastOperation));
  store.append([entry("g:a", 3)]);
  const after = store.state("g:a");
  const isTold = after.incarnation !== before.incarnation || after.number !== before.number;
  equal([isTold, after.layout === before.layout], [true, false], "whether the next one can be told apart");
  // While something of the one before is dropped.
  for (let turn = 0; store.dropErased(1); turn += 1) if (turn > 99) throw new Error("dropping does not end");
  equal(
    store.manifest("g:a", 0, 0).operations.map(({ bytes }) => [...bytes]),
    [[3]],
    "operations of the next one",
  );
  if (after.incarnation === before.incarnation) throws(() => store.read([{ segment, block: 0 }]));
}

function erasedIsDropped(store: PartitionStore): void {
  const blocks = Array.from({ length: 100 }, (_, index) => [index, 1, 2, 3]);
  for (const key of ["g:a", "g:b"]) {
    store.append([entry(key, 1)]);
    const { lastOperation } = store.state(key);
    store.commit(key, change(store.firstFreeSegment, lastOperation, blocks), true);
    store.commit(key, change(store.firstFreeSegment, 0, [[7]]), true);
  }
  const free = store.firstFreeSegment;
  store.erase("g:a");
  let turns = 0;
  while (store.dropErased(100)) turns += 1;
  equal(turns > 2, true, `parts, of which there were ${turns}`);
  for (const segment of [1, 2]) throws(() => store.read([{ segment, block: 0 }]));
  equal(
    store.read([{ segment: 3, block: 99 }]).map(([value]) => value),
    [99],
    "a block of another partition",
  );
  equal(store.firstFreeSegment, free, "the next segment's number");
}

function entry(key: string, value: number): { readonly key: string; readonly bytes: Uint8Array } {
  return { key, bytes: Uint8Array.of(value) };
}

function change(number: number, folded: number, blocks: readonly (readonly number[])[]): StoredChange {
  const bytes = { header: Uint8Array.of(7), liveness: Uint8Array.of(1) };
  const segment = {
    number,
    schema: "note",
    documents: 1,
    blocks: blocks.map((block) => Uint8Array.from(block)),
    ...bytes,
  };
  return { folded, removedSegments: [], liveness: [], newSegments: [segment] };
}

function equal(found: unknown, expected: unknown, what: string): void {
  const [left, right] = [JSON.stringify(found), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${what}: ${left} instead of ${right}`);
}

function throws(work: () => unknown): void {
  try {
    work();
  } catch {
    return;
  }
  throw new Error("it should have been refused");
}
