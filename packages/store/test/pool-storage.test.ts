/** An application and its bucket in a pool of files, which stand in a folder here. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PartitionStore } from "../src/partition-store.ts";
import { type FilePool, PoolStorage } from "../src/pool-storage.ts";
import { RegistryStore } from "../src/registry-store.ts";
import type { SqlConnection } from "../src/sql.ts";
import { folder, openSql } from "./open.ts";

function poolIn(directory: string): FilePool & { readonly closed: () => number } {
  let closed = 0;
  return {
    open: (name) => openSql(join(directory, name)),
    close: () => {
      closed += 1;
    },
    closed: () => closed,
  };
}

const IDENTITY = { bucket: 0, buckets: 1, application: 1 };

test("what was stored is there when the pool is opened again", () => {
  const directory = folder();
  const first = new PoolStorage(poolIn(directory));
  expect(first.readApplication()).toBeUndefined();
  first.storeApplication({ number: 1, bytes: Uint8Array.of(1) });
  first.storeApplication({ number: 2, bytes: new Uint8Array(3 << 20).fill(7) });
  const bucket = first.openBucket();
  new PartitionStore(bucket, IDENTITY).append([{ key: "g:a", bytes: Uint8Array.of(5) }]);
  bucket.close();
  first.close();

  const second = new PoolStorage(poolIn(directory));
  expect(second.secret).toEqual(first.secret);
  const application = second.readApplication();
  expect([application?.number, application?.bytes.length, application?.bytes.at(-1)]).toEqual([2, 3 << 20, 7]);
  const again = second.openBucket();
  expect(new PartitionStore(again, IDENTITY).manifest("g:a", 0, 0).operations).toHaveLength(1);
  again.close();
  second.close();
});

test("an application that does not follow the one before is refused, and the one before stays", () => {
  const storage = new PoolStorage(poolIn(folder()));
  storage.storeApplication({ number: 1, bytes: Uint8Array.of(1) });
  expect(() => storage.storeApplication({ number: 3, bytes: Uint8Array.of(3) })).toThrow("does not follow 1");
  expect(storage.readApplication()?.number).toBe(1);
  storage.close();
});

test("documents that are gone are told, and no empty bucket takes their place", () => {
  const directory = folder();
  new PoolStorage(poolIn(directory)).close();
  rmSync(join(directory, "bucket.sqlite"));
  expect(() => new PoolStorage(poolIn(directory))).toThrow("gone from the browser's storage");
});

test("documents of a later release are refused before anything is deployed, and stay", () => {
  const directory = folder();
  new PoolStorage(poolIn(directory)).close();
  const sql = openSql(join(directory, "bucket.sqlite"));
  sql.run("UPDATE about SET value = 99 WHERE name = 'format_version'");
  expect(() => new PoolStorage(poolIn(directory))).toThrow("format_version is 99");
  expect(sql.all("SELECT value FROM about WHERE name = 'format_version'")).toEqual([{ value: 99 }]);
  sql.close();
});

test("a first opening that was cut is gone on with", () => {
  const directory = folder();
  const pool = poolIn(directory);
  let opened = 0;
  const cut: FilePool = {
    ...pool,
    open: (name): SqlConnection => {
      opened += 1;
      if (opened === 2) throw new Error("the page was closed");
      return pool.open(name);
    },
  };
  expect(() => new PoolStorage(cut)).toThrow("the page was closed");
  const storage = new PoolStorage(pool);
  storage.openBucket().close();
  storage.close();
});

test("a closed storage gives nothing, and lets go of its pool once", () => {
  const pool = poolIn(folder());
  const storage = new PoolStorage(pool);
  storage.close();
  storage.close();
  expect(pool.closed()).toBe(1);
  expect(() => storage.openBucket()).toThrow("closed");
  expect(() => storage.readApplication()).toThrow("closed");
});

test("a package that there was no room for is refused, and taken when there is", () => {
  const sql = openSql(":memory:");
  const registry = new RegistryStore(sql);
  sql.run("PRAGMA max_page_count = 8");
  expect(() => registry.addSession(new Uint8Array(1 << 20), 2, 0)).toThrow("full");
  expect(registry.number).toBe(0);
  sql.run("PRAGMA max_page_count = 1000000");
  const session = registry.addSession(new Uint8Array(1 << 20), 2, 0);
  expect(registry.session(session)?.bytes).toHaveLength(1 << 20);
  sql.close();
});
