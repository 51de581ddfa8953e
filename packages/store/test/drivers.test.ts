/** The contract, run over each driver this machine has. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { testStore } from "../src/contract.ts";
import { betterSqlite3 } from "../src/drivers/better-sqlite3.ts";
import { type NodeSqlite, nodeSqlite } from "../src/drivers/node-sqlite.ts";
import { StoreError, storeError } from "../src/store-error.ts";

describe("better-sqlite3", () => {
  for (const { name, run } of testStore(() => betterSqlite3(new Database(":memory:")))) test(name, run);
});

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
// node:sqlite has no flag from Node 22.13 on; older releases do not have the module at all.
if (major > 22 || (major === 22 && minor >= 13)) {
  const { DatabaseSync } = (await import("node:sqlite" as string)) as {
    DatabaseSync: new (path: string) => NodeSqlite;
  };
  describe("node:sqlite", () => {
    for (const { name, run } of testStore(() => nodeSqlite(new DatabaseSync(":memory:")))) test(name, run);
  });
}

test("SQLite's codes are told apart by what follows from them", () => {
  const kind = (code: string): string => {
    const error = storeError(code, new Error("x"));
    return error instanceof StoreError ? error.kind : "defect";
  };
  expect(
    ["SQLITE_FULL", "SQLITE_IOERR_FSYNC", "SQLITE_CORRUPT_VTAB", "SQLITE_NOTADB", "SQLITE_BUSY"].map(kind),
  ).toEqual(["full", "io", "damaged", "damaged", "busy"]);
  expect(kind("SQLITE_ERROR")).toBe("defect");
  expect(kind("undefined")).toBe("defect");
});
