/**
 * What is gone from a bucket is seen (P10): a row of any table, or one of yesterday; a log, a whole file. Each loss is made in a closed
 * directory, and the partition it is of says so, while every other answers as before.
 */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { repairBucket } from "../src/node/bucket-check.ts";
import { DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { notedPartitions } from "../src/notes.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { StoredChange } from "../src/partitions.ts";
import type { SqlConnection } from "../src/sql.ts";
import { createTables } from "../src/tables.ts";
import { folder, openSql } from "./open.ts";

const IDENTITY = { bucket: 0, buckets: 1 };
const KEYS = ["g:a", "g:b", "g:c"] as const;

const bytes = (value: number): Uint8Array => Uint8Array.from({ length: 12 }, (_, at) => value + at);

function segment(number: number, folded: number): StoredChange {
  const made = { number, schema: "note", documents: 3, header: bytes(number), liveness: bytes(7), blocks: [bytes(1)] };
  return { folded, removedSegments: [], liveness: [], newSegments: [made] };
}

/** A directory of one bucket: three partitions of two segments and a tail of three operations each, two of them with notes. */
function filled(): string {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 1).close();
  using_(path, (store) => {
    for (const key of KEYS) {
      store.append([1, 2].map((value) => ({ key, bytes: bytes(value) })));
      store.commit(key, segment(store.firstFreeSegment, store.lastOperation), true);
      store.commit(key, segment(store.firstFreeSegment, 0), false);
    }
    for (const value of [3, 4]) store.append(KEYS.map((key) => ({ key, bytes: bytes(value) })));
    for (const [key, note] of Object.entries({ "g:a": "earlier", "g:c": "of c" })) store.note(key, note);
    store.note("g:a", "of a");
    store.append(KEYS.map((key) => ({ key, bytes: bytes(5) })));
  });
  return path;
}

function using_<Result>(path: string, work: (store: PartitionStore, sql: SqlConnection) => Result): Result {
  const sql = openBucket(path, IDENTITY, openSql);
  try {
    return work(new PartitionStore(sql, { ...IDENTITY, application: 1 }), sql);
  } finally {
    sql.close();
  }
}

/** Changes a closed bucket past its store. */
function behind(path: string, ...statements: readonly string[]): void {
  const sql = openSql(join(path, "buckets/000.sqlite"));
  for (const statement of statements) sql.run(statement);
  sql.close();
}

/** What each partition answers: its operations and segments, or why not. */
function answers(path: string): string[] {
  return using_(path, (store) =>
    KEYS.map((key) => {
      try {
        const { segments, operations } = store.manifest(key, 0, 0);
        return `${segments?.length} segments, ${operations.length} operations`;
      } catch (error) {
        return (error as { kind?: string }).kind ?? String(error);
      }
    }),
  );
}

const WHOLE = "2 segments, 3 operations";
const OF_A = "(SELECT number FROM partition WHERE key = 'g:a')";
const LOSSES: Readonly<Record<string, readonly string[]>> = {
  "the last operation": [
    `DELETE FROM operation WHERE number = (SELECT max(number) FROM operation WHERE partition = ${OF_A})`,
  ],
  "the first operation": [
    `DELETE FROM operation WHERE number = (SELECT min(number) FROM operation WHERE partition = ${OF_A})`,
  ],
  "all operations": [`DELETE FROM operation WHERE partition = ${OF_A}`],
  "an operation at another's place": [
    `UPDATE operation SET bytes = (SELECT bytes FROM operation WHERE partition = ${OF_A} ORDER BY number LIMIT 1) WHERE number = (SELECT max(number) FROM operation WHERE partition = ${OF_A})`,
  ],
  "an operation of another partition": [
    `UPDATE operation SET partition = ${OF_A} WHERE number = (SELECT max(number) FROM operation WHERE partition <> ${OF_A})`,
  ],
  "a segment": [`DELETE FROM segment WHERE number = (SELECT max(number) FROM segment WHERE partition = ${OF_A})`],
  "all segments": [`DELETE FROM segment WHERE partition = ${OF_A}`],
  "an earlier liveness": [`UPDATE segment SET liveness = x'0102030405060708090a' WHERE partition = ${OF_A}`],
  "a header of another segment": [
    `UPDATE segment SET header = (SELECT header FROM segment WHERE partition <> ${OF_A} LIMIT 1) WHERE partition = ${OF_A}`,
  ],
  "a segment's schema": [`UPDATE segment SET schema = 'other' WHERE partition = ${OF_A}`],
  "the application it was written with": ["UPDATE partition SET application = 7 WHERE key = 'g:a'"],
  "its head": [`DELETE FROM head WHERE partition = ${OF_A}`],
  "a head of another": [
    `UPDATE head SET bytes = (SELECT bytes FROM head WHERE partition = (SELECT number FROM partition WHERE key = 'g:b')) WHERE partition = ${OF_A}`,
  ],
  "what is noted of it": [`DELETE FROM note WHERE partition = ${OF_A}`],
  "what is noted of it, as it was earlier": [`UPDATE note SET text = 'earlier' WHERE partition = ${OF_A}`],
  "what is noted of it, as of another": [`UPDATE note SET text = 'of c' WHERE partition = ${OF_A}`],
  "its row": ["DELETE FROM partition WHERE key = 'g:a'"],
  "everything of it": [
    `DELETE FROM operation WHERE partition = ${OF_A}`,
    `DELETE FROM segment WHERE partition = ${OF_A}`,
    `DELETE FROM head WHERE partition = ${OF_A}`,
    "DELETE FROM partition WHERE key = 'g:a'",
  ],
};

for (const [loss, statements] of Object.entries(LOSSES)) {
  test(`${loss}: gone or another, and told for that partition alone`, () => {
    const path = filled();
    expect(answers(path)).toEqual([WHOLE, WHOLE, WHOLE]);
    behind(path, ...statements);
    const [damaged, ...others] = answers(path);
    expect(damaged).toBe("damaged");
    // What gave a row away has lost it.
    if (loss !== "an operation of another partition") expect(others).toEqual([WHOLE, WHOLE]);
  });
}

test("a note that is lost, or nobody wrote, is told by who asks for it, and the partition can be erased", () => {
  const path = filled();
  using_(path, (store) => expect(KEYS.map((key) => store.noted(key))).toEqual(["of a", undefined, "of c"]));
  behind(
    path,
    "UPDATE note SET text = 'earlier'",
    "INSERT INTO note SELECT number, 'new' FROM partition WHERE key = 'g:b'",
  );
  expect(answers(path)).toEqual(["damaged", "damaged", "damaged"]);
  using_(path, (store) => {
    for (const key of KEYS) {
      expect(() => store.noted(key)).toThrow(/belong together|nothing was noted/);
      expect(() => store.note(key, "of it")).toThrow(/belong together|nothing was noted/);
      store.erase(key);
      expect(store.noted(key)).toBe(undefined);
    }
  });
  const dropped = filled();
  behind(dropped, "DROP TABLE note");
  expect(answers(dropped)).toEqual(["damaged", WHOLE, "damaged"]);
});

test("what is repaired has no note that was not written last", () => {
  const path = filled();
  behind(path, `UPDATE note SET text = 'earlier' WHERE partition = ${OF_A}`);
  const sql = openBucket(path, IDENTITY, openSql);
  const { damage } = repairBucket(sql, IDENTITY, { isSealed: () => true, drop: false });
  expect(damage.map(({ key }) => key)).toEqual(["g:a"]);
  // That it had one is known still.
  expect(notedPartitions(sql).map(({ key, note }) => [key, note])).toEqual([
    ["g:a", undefined],
    ["g:c", "of c"],
  ]);
  sql.close();
  expect(answers(path)).toEqual(["damaged", WHOLE, WHOLE]);
});

test("a partition that is damaged takes nothing that would cover it up, and can be erased", () => {
  const path = filled();
  behind(path, `DELETE FROM segment WHERE number = (SELECT max(number) FROM segment WHERE partition = ${OF_A})`);
  using_(path, (store) => {
    expect(() => store.commit("g:a", segment(store.firstFreeSegment, store.lastOperation), true)).toThrow("segments");
    expect(() => store.markCurrent("g:a")).toThrow("segments");
    store.erase("g:a");
    store.append([{ key: "g:a", bytes: bytes(9) }]);
    expect(store.manifest("g:a", 0, 0).operations).toHaveLength(1);
  });
  expect(answers(path)).toEqual(["0 segments, 1 operations", WHOLE, WHOLE]);
});

test("an operation that goes while the store is open is seen by who reads only what is new", () => {
  const path = filled();
  using_(path, (store, sql) => {
    const { layout, lastOperation } = store.state("g:a");
    store.append([6, 7].map((value) => ({ key: "g:a", bytes: bytes(value) })));
    expect(store.manifest("g:a", layout, lastOperation).operations).toHaveLength(2);
    sql.run("DELETE FROM operation WHERE number = ?", store.lastOperation - 1);
    expect(() => store.manifest("g:a", layout, lastOperation)).toThrow("4 operations are there of 5");
    expect(() => store.manifest("g:a", layout, store.lastOperation - 1)).toThrow("are there");
  });
});

test("who has all operations is told of none, and of those that went meanwhile or should not be there", () => {
  const path = filled();
  using_(path, (store, sql) => {
    const { layout, lastOperation, number } = store.state("g:a");
    expect(store.manifest("g:a", layout, lastOperation).operations).toEqual([]);
    const beyond = lastOperation + 1_000;
    sql.run("INSERT INTO operation (number, partition, bytes) VALUES (?, ?, ?)", beyond, number, bytes(1));
    expect(() => store.manifest("g:a", layout, lastOperation)).toThrow("4 operations are there of 3");
    sql.run("DELETE FROM operation WHERE number = ?", beyond);
    sql.run("DELETE FROM operation WHERE number = ?", lastOperation);
    expect(() => store.manifest("g:a", layout, lastOperation - 1)).toThrow("2 operations are there of 3");
  });
});

test.each([
  [
    "the first operation is gone",
    `DELETE FROM operation WHERE number = (SELECT min(number) FROM operation WHERE partition = ${OF_A})`,
  ],
  [
    "the last one has another number",
    `UPDATE operation SET number = number + 1000 WHERE number = (SELECT max(number) FROM operation WHERE partition = ${OF_A})`,
  ],
])("where %s nothing is written after it", (_, statement) => {
  const path = filled();
  behind(path, statement);
  using_(path, (store) => {
    expect(() => store.state("g:a")).toThrow("operations are there of 3");
    expect(() => store.append([{ key: "g:a", bytes: bytes(9) }])).toThrow("operations are there of 3");
    expect(store.state("g:b").operations).toBe(3);
  });
});

test("of as many partitions as may be remembered the one that was asked for last is, and others are read anew", () => {
  const path = filled();
  const sql = openBucket(path, IDENTITY, openSql);
  onTestFinished(() => sql.close());
  const store = new PartitionStore(sql, { ...IDENTITY, application: 1, remembered: 2 });
  for (const key of ["g:a", "g:b", "g:a", "g:c"]) store.state(key);
  // What is in memory does not see that its row is gone.
  sql.run("DELETE FROM operation");
  for (const key of ["g:a", "g:c"]) expect(store.state(key).operations).toBe(3);
  expect(() => store.state("g:b")).toThrow("0 operations are there of 3");
});

test("the more buckets a directory has, the fewer partitions each of them remembers", () => {
  const sql = openSql(":memory:");
  const identity = { bucket: 0, buckets: 1_000 };
  createTables(sql, identity);
  const store = new PartitionStore(sql, { ...identity, application: 1 });
  const keys = Array.from({ length: 65 }, (_, number) => `g:${number}`);
  // Of what one transaction writes some is forgotten before its end, and written nevertheless.
  const entries = [...keys, ...keys].map((key) => ({ key, bytes: bytes(1) }));
  store.append(entries);
  expect(keys.map((key) => store.state(key).operations)).toEqual(keys.map(() => 2));
  sql.run("DELETE FROM operation");
  for (const key of keys.slice(1)) expect(store.state(key).operations).toBe(2);
  expect(() => store.state("g:0")).toThrow("0 operations are there of 2");
});

test("segments of schemas that are no more go from what is in memory too, but not from what has lost others", () => {
  const path = filled();
  behind(path, `DELETE FROM segment WHERE number = (SELECT max(number) FROM segment WHERE partition = ${OF_A})`);
  using_(path, (store) => expect(() => store.eraseOthers([], 0, 10)).toThrow("1 segments are there of 2"));
  const whole = filled();
  using_(whole, (store) => {
    expect(store.manifest("g:a", 0, 0).segments).toHaveLength(2);
    store.eraseOthers([], 0, 10);
    expect(store.manifest("g:a", 0, 0).segments).toEqual([]);
  });
  expect(answers(whole)).toEqual(KEYS.map(() => "0 segments, 3 operations"));
});

test("a partition that was erased and came back is told for the whole bucket", () => {
  const path = filled();
  const before = openSql(join(path, "buckets/000.sqlite"));
  const rows = ["partition", "head", "operation", "segment"].map((table) => {
    const column = table === "partition" ? "number" : "partition";
    return [table, before.all<Record<string, never>>(`SELECT * FROM ${table} WHERE ${column} = ${OF_A}`)] as const;
  });
  before.close();
  using_(path, (store) => store.erase("g:a"));
  const sql = openSql(join(path, "buckets/000.sqlite"));
  sql.run("DELETE FROM segment WHERE partition = 0");
  for (const [table, all] of rows) {
    for (const row of all) {
      const names = Object.keys(row);
      sql.run(`INSERT INTO ${table} (${names.join()}) VALUES (${names.map(() => "?").join()})`, ...Object.values(row));
    }
  }
  sql.close();
  expect(() => answers(path)).toThrow("there are 3 partitions, and should be 2");
});

test.each([
  [
    "a partition that nobody wrote",
    "INSERT INTO partition (number, key, application) SELECT number + 1000, 'g:z', application FROM partition WHERE key = 'g:a'",
    "there are 4 partitions",
  ],
  [
    "a head of none",
    `INSERT INTO head (partition, bytes) SELECT partition + 1000, bytes FROM head WHERE partition = ${OF_A}`,
    "should be 3",
  ],
])("%s is told for the whole bucket", (_, statement, words) => {
  const path = filled();
  behind(path, statement);
  expect(() => answers(path)).toThrow(words);
});

test("what is changed does not cover up an operation that went while its partition was in memory", () => {
  const path = filled();
  using_(path, (store, sql) => {
    expect(store.state("g:a").operations).toBe(3);
    sql.run(`DELETE FROM operation WHERE number = (SELECT min(number) FROM operation WHERE partition = ${OF_A})`);
    expect(() => store.markCurrent("g:a")).toThrow("2 operations are there of 3");
    expect(() => store.commit("g:a", segment(store.firstFreeSegment, 0), false)).toThrow("2 operations are there of 3");
  });
  expect(answers(path)).toEqual(["damaged", WHOLE, WHOLE]);
});

test("a log that was removed is told, and a file of yesterday", () => {
  const path = filled();
  const file = join(path, "buckets/000.sqlite");
  copyFileSync(file, `${file}.yesterday`);
  // As after a kill: what was written is in the log alone.
  const sql = openBucket(path, IDENTITY, openSql);
  new PartitionStore(sql, { ...IDENTITY, application: 1 }).append([{ key: "g:a", bytes: bytes(9) }]);
  const [main, log] = [readFileSync(file), readFileSync(`${file}-wal`)];
  sql.close();
  const as = (content: Buffer, beside?: Buffer): void => {
    for (const name of [`${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
    writeFileSync(file, content);
    if (beside !== undefined) writeFileSync(`${file}-wal`, beside);
  };
  as(main, log);
  expect(answers(path)).toEqual(["2 segments, 4 operations", WHOLE, WHOLE]);
  as(main);
  expect(() => answers(path)).toThrow("its log was removed, or an earlier file was put in its place");
  as(readFileSync(`${file}.yesterday`));
  expect(() => answers(path)).toThrow("its log was removed, or an earlier file was put in its place");
  as(main, log);
  expect(answers(path)).toEqual(["2 segments, 4 operations", WHOLE, WHOLE]);
});

test("what a full device refused takes no number: the bucket is not ahead of what is stored", () => {
  const path = filled();
  using_(path, (store, sql) => {
    store.erase("g:b");
    const last = store.lastOperation;
    const next = store.nextPartition;
    sql.run(`PRAGMA max_page_count = ${sql.all<{ page_count: number }>("PRAGMA page_count")[0]?.page_count}`);
    for (const key of ["g:a", "g:new"])
      expect(() => store.append([{ key, bytes: new Uint8Array(1 << 20) }])).toThrow("full");
    sql.run("PRAGMA max_page_count = 1000000");
    expect([store.lastOperation, store.nextPartition]).toEqual([last, next]);
    // Each of these notes how far the bucket is.
    expect(store.dropErased(1 << 20)).toBe(true);
    store.note("g:a", "later");
    store.markCurrent("g:c");
  });
  expect(answers(path)).toEqual([WHOLE, "0 segments, 0 operations", WHOLE]);
});

test("a bucket of another directory is told, and one without the file that says how far it is", () => {
  const [path, other] = [filled(), filled()];
  copyFileSync(join(other, "buckets/000.sqlite"), join(path, "buckets/000.sqlite"));
  expect(() => answers(path)).toThrow("sealed with another secret");
  rmSync(join(other, "buckets/000.generation"));
  expect(() => answers(other)).toThrow("000.generation, which says how far the bucket is, is missing");
  writeFileSync(join(other, "buckets/000.generation"), new Uint8Array(48));
  expect(() => answers(other)).toThrow("is not what was written");
});

test("half of what says how far a bucket is may be torn", () => {
  const path = filled();
  const file = join(path, "buckets/000.generation");
  const content = readFileSync(file);
  for (const place of [0, 24]) {
    writeFileSync(file, Buffer.concat([content.subarray(0, place), Buffer.alloc(24, 5), content.subarray(place + 24)]));
    expect(answers(path)).toEqual([WHOLE, WHOLE, WHOLE]);
  }
});
