/** The driver that all tests of this package use, and folders that go away. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { onTestFinished } from "vitest";
import { betterSqlite3 } from "../src/drivers/better-sqlite3.ts";
import type { SqlConnection } from "../src/sql.ts";

/** Opens or makes a file; a locked one fails at once. */
export function openSql(path: string): SqlConnection {
  return betterSqlite3(new Database(path, { timeout: 0 }));
}

/** A folder for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "brooklet-store-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
