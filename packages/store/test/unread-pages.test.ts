/** A device that cannot read some of a bucket: what it reads is salvaged, and the file is kept as it is, which nobody could copy. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { DataDirectory, openBucket } from "../src/node/data-directory.ts";
import { repairDirectory } from "../src/node/directory-check.ts";
import { PartitionStore } from "../src/partition-store.ts";
import type { SqlConnection } from "../src/sql.ts";
import { StoreError } from "../src/store-error.ts";
import { PAGE_BYTES } from "../src/tables.ts";
import { folder, openSql } from "./open.ts";

const IDENTITY = { bucket: 0, buckets: 1, application: 1 };
const failing = vi.hoisted(() => ({ inode: 0, page: 0 }));

vi.mock("node:fs", async (original) => {
  const own = await original<typeof import("node:fs")>();
  const broken = (call: string): Error =>
    Object.assign(new Error(`EIO: i/o error, ${call}`), { code: "EIO", syscall: call });
  return {
    ...own,
    readSync: ((file: number, buffer: Buffer, offset: number, length: number, position: number) => {
      const isBroken = position === (failing.page - 1) * 16_384 && own.fstatSync(file).ino === failing.inode;
      if (isBroken) throw broken("read");
      return own.readSync(file, buffer, offset, length, position);
    }) as typeof own.readSync,
    copyFileSync: ((from: string, to: string) => {
      if (own.statSync(from).ino === failing.inode) throw broken("copyfile");
      own.copyFileSync(from, to);
    }) as typeof own.copyFileSync,
  };
});

afterEach(() => void Object.assign(failing, { inode: 0, page: 0 }));

test("what a device cannot read is lost, and named, and nothing else", async () => {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 1).close();
  const file = join(path, "buckets/000.sqlite");
  const before = openBucket(path, IDENTITY, openSql);
  const store = new PartitionStore(before, IDENTITY);
  for (let at = 0; at < 30; at += 1) store.append([{ key: `g:${at}`, bytes: new Uint8Array(5_000).fill(at) }]);
  const pages = before.all<{ page: number }>(
    "SELECT pageno AS page FROM dbstat WHERE name = 'operation' AND pagetype = 'leaf'",
  );
  before.close();
  const { ino } = statSync(file);
  Object.assign(failing, { inode: ino, page: pages[3]?.page ?? 0 });
  expect(failing.page * PAGE_BYTES).toBeLessThanOrEqual(statSync(file).size);
  const open = (name: string): SqlConnection => {
    const sql = openSql(name);
    if (statSync(name).ino !== ino) return sql;
    const all: typeof sql.all = (statement, ...bindings) => {
      if (statement.includes("integrity_check")) throw new StoreError("io", "SQLITE_IOERR_READ: disk I/O error");
      return sql.all(statement, ...bindings);
    };
    return { ...sql, all };
  };
  const report = await repairDirectory(path, open, () => true, { drop: false });
  expect(report.left).toEqual([]);
  const named = report.buckets[0]?.damage.flatMap(({ key }) => key ?? []) ?? [];
  expect([named.length > 0, named.length < 5]).toEqual([true, true]);
  const kept = readdirSync(join(path, "buckets")).find((name) => name.startsWith("000.sqlite.before-")) ?? "";
  expect(statSync(join(path, "buckets", kept)).ino).toBe(ino);
  const after = openBucket(path, IDENTITY, openSql);
  const rows = after.all<{ key: string; count: number }>(
    "SELECT key, (SELECT count(*) FROM operation WHERE partition = partition.number) AS count FROM partition",
  );
  expect(rows.filter(({ key, count }) => count !== (named.includes(key) ? 0 : 1))).toEqual([]);
  after.close();
});

test("what is kept is not repaired in its place, also where only its copy failed", async () => {
  const path = join(folder(), "data");
  DataDirectory.open(path, openSql, 1).close();
  const file = join(path, "buckets/000.sqlite");
  const before = openBucket(path, IDENTITY, openSql);
  const store = new PartitionStore(before, IDENTITY);
  for (const key of ["g:a", "g:b"])
    store.append([1, 2].map((value) => ({ key, bytes: new Uint8Array(20).fill(value) })));
  before.run("DELETE FROM operation WHERE number = 2");
  before.close();
  failing.inode = statSync(file).ino;
  const bytes = readFileSync(file);
  const report = await repairDirectory(path, openSql, () => true, { drop: false });
  expect(report.buckets[0]?.damage).toMatchObject([{ key: "g:a", what: "1 operations are there of 2" }]);
  const kept = readdirSync(join(path, "buckets")).find((name) => name.startsWith("000.sqlite.before-")) ?? "";
  expect(readFileSync(join(path, "buckets", kept)).equals(bytes)).toBe(true);
  expect(statSync(file).ino).not.toBe(failing.inode);
});
