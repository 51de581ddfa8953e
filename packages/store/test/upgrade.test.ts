/** Buckets of earlier versions become such of this one, whole or not at all, whenever the process ends (T15). */
import { copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bucketOf } from "../src/bucket-of.ts";
import { Heads, type PartitionRow } from "../src/heads.ts";
import { DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { Sql, SqlConnection } from "../src/sql.ts";
import { FORMAT_VERSION } from "../src/tables.ts";
import { GOLDEN_VERSIONS, putGolden } from "./golden.ts";
import { folder, openSql } from "./open.ts";

const BUCKETS = 16;
const BUCKET = bucketOf("g:alice", BUCKETS);
const IDENTITY = { bucket: BUCKET, buckets: BUCKETS };

/** What a bucket has of a group, as bytes. */
function contentOf(path: string): string {
  const sql = openBucket(path, IDENTITY, openSql);
  try {
    const version = sql.all<Record<string, number>>("PRAGMA user_version")[0]?.["user_version"];
    expect(version).toBe(FORMAT_VERSION);
    const store = new PartitionStore(sql, { ...IDENTITY, application: 1 });
    const { segments, operations } = store.manifest("g:alice", 0, 0);
    return JSON.stringify({
      segments: segments?.map(({ number, header, liveness }) => [number, hex(header), hex(liveness)]),
      operations: operations.map(({ number, bytes }) => [number, hex(bytes)]),
    });
  } finally {
    sql.close();
  }
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** The files of a bucket as they are at this moment: what a process that is killed leaves. */
function copyBucket(from: string, to: string): void {
  mkdirSync(join(to, "buckets"), { recursive: true });
  copyFileSync(join(from, "secret"), join(to, "secret"));
  for (const name of readdirSync(join(from, "buckets"))) {
    if (name.startsWith(String(BUCKET).padStart(3, "0")) && !name.endsWith("-shm"))
      copyFileSync(join(from, "buckets", name), join(to, "buckets", name));
  }
}

/** The version that a bucket has which is left as it is. */
function versionAt(path: string): number | undefined {
  const copy = join(folder(), "data");
  copyBucket(path, copy);
  const sql = openSql(join(copy, "buckets", `${String(BUCKET).padStart(3, "0")}.sqlite`));
  try {
    return sql.all<{ value: number }>("SELECT value FROM about WHERE name = 'format_version'")[0]?.value;
  } finally {
    sql.close();
  }
}

for (const version of GOLDEN_VERSIONS) {
  test(`version ${version}: opened by this release, and after a kill at every step of that`, () => {
    const path = folder();
    putGolden(version, path);
    const moments: string[] = [];
    const moment = (): void => {
      const copy = join(folder(), "data");
      copyBucket(path, copy);
      moments.push(copy);
    };
    const watched = (file: string): SqlConnection => {
      const sql = openSql(file);
      const each = <Result>(work: () => Result): Result => {
        moment();
        const result = work();
        moment();
        return result;
      };
      const run: Sql["run"] = (statement, ...bindings) => each(() => sql.run(statement, ...bindings));
      const all: Sql["all"] = (statement, ...bindings) => each(() => sql.all(statement, ...bindings));
      const transaction: Sql["transaction"] = (work) => each(() => sql.transaction(work));
      return { ...sql, run, all, transaction, close: () => each(() => sql.close()) };
    };
    openBucket(path, IDENTITY, watched).close();
    const content = contentOf(path);
    expect(content).toMatch(/"segments":\[\[.*"operations":\[\[/);
    // Some were before the upgrade was committed, and some after.
    expect(new Set(moments.map(versionAt))).toEqual(new Set([version, FORMAT_VERSION]));
    expect(moments.length).toBeGreaterThan(20);
    for (const copy of moments) expect(contentOf(copy)).toBe(content);
  });
}

test("heads of before version 7, which did not tell what is noted, do from then on, but for those that are damaged", () => {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 1).close();
  const identity = { bucket: 0, buckets: 1 };
  const sql = openBucket(path, identity, openSql);
  const store = new PartitionStore(sql, { ...identity, application: 1 });
  const keys = ["g:a", "g:b", "g:c"];
  for (const key of keys) store.append([{ key, bytes: new Uint8Array([1, 2, 3]) }]);
  for (const key of ["g:a", "g:b"]) store.note(key, `of ${key}`);
  // As they were before.
  const old = new Heads(sql, identity, new Map());
  for (const row of sql.all<PartitionRow>("SELECT number, key, application FROM partition"))
    old.write(row, row, old.derived(row.number), undefined);
  sql.run("UPDATE head SET bytes = zeroblob(40) WHERE partition = (SELECT number FROM partition WHERE key = 'g:b')");
  sql.run("UPDATE about SET value = 6 WHERE name = 'format_version'");
  sql.run("PRAGMA user_version = 6");
  sql.close();
  const again = openBucket(path, identity, openSql);
  const upgraded = new PartitionStore(again, { ...identity, application: 1 });
  expect(upgraded.noted("g:a")).toBe("of g:a");
  for (const key of ["g:a", "g:c"]) expect(upgraded.manifest(key, 0, 0).operations).toHaveLength(1);
  expect(() => upgraded.state("g:b")).toThrow(/nothing was noted|belong together/);
  again.run("DELETE FROM note");
  again.close();
  const lost = openBucket(path, identity, openSql);
  expect(() => new PartitionStore(lost, { ...identity, application: 1 }).state("g:a")).toThrow("noted of it is lost");
  lost.close();
});
