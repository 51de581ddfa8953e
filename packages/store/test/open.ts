/**
 * The driver that the tests of this package use, and folders that go away. It is better-sqlite3, or where its binary is not
 * for this Node, Node's own: so the same tests run over both, on two Nodes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import initSqlite from "@sqlite.org/sqlite-wasm";
import { onTestFinished } from "vitest";
import { type BetterSqlite3, betterSqlite3 } from "../src/drivers/better-sqlite3.ts";
import { type NodeSqlite, nodeSqlite } from "../src/drivers/node-sqlite.ts";
import { type SqliteWasm, sqliteWasm } from "../src/drivers/sqlite-wasm.ts";
import type { SqlConnection } from "../src/sql.ts";

type Open = (path: string) => SqlConnection;

const require: NodeJS.Require = createRequire(import.meta.url);
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

/** Opens with better-sqlite3, if its binary is for this Node. */
export const openBetterSqlite3: Open | undefined = (() => {
  const Database = require("better-sqlite3") as new (path: string, options: object) => BetterSqlite3;
  try {
    new Database(":memory:", {}).close();
  } catch {
    return undefined;
  }
  return (path) => betterSqlite3(new Database(path, { timeout: 0 }));
})();

/** Opens with Node's own, if it has one without a flag. */
export const openNodeSqlite: Open | undefined = (() => {
  if (major < 22 || (major === 22 && minor < 13)) return undefined;
  const { DatabaseSync } = require("node:sqlite") as {
    readonly DatabaseSync: new (path: string, options: object) => NodeSqlite;
  };
  return (path) => nodeSqlite(new DatabaseSync(path, { timeout: 0 }));
})();

const { oo1 } = await (initSqlite as unknown as () => Promise<{ oo1: { DB: new (path: string) => SqliteWasm } }>)();

/** Opens SQLite's own build for browsers; in memory alone. */
export const openSqliteWasm: Open = (path) => sqliteWasm(new oo1.DB(path));

/** Opens or makes a file; a locked one fails at once. */
export function openSql(path: string): SqlConnection {
  const open = openBetterSqlite3 ?? openNodeSqlite;
  if (open === undefined) throw new Error("no SQLite for this Node: npm rebuild better-sqlite3");
  return open(path);
}

/** A folder for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** What work throws. */
export function caught(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}
