/** The contract, run over each driver this machine has. */
import { describe, expect, test } from "vitest";
import { testStore } from "../src/contract.ts";
import { durableObject } from "../src/drivers/durable-object.ts";
import { type SqliteWasm, sqliteWasm } from "../src/drivers/sqlite-wasm.ts";
import { StoreError, storeError } from "../src/store-error.ts";
import { openBetterSqlite3, openNodeSqlite, openSqliteWasm } from "./open.ts";

const drivers = [
  ["better-sqlite3", openBetterSqlite3],
  ["node:sqlite", openNodeSqlite],
  ["sqlite-wasm", openSqliteWasm],
] as const;

for (const [library, open] of drivers) {
  if (open === undefined) continue;
  describe(library, () => {
    for (const { name, run } of testStore(() => open(":memory:"))) test(name, run);
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

test("a device of scripts that ran full, or whose files are gone, is told from one that failed", () => {
  const failing = (ranFull: boolean, isGone = false): unknown => {
    const database: SqliteWasm = {
      prepare: () => {
        throw Object.assign(new Error("disk I/O error"), { resultCode: 778 });
      },
      close: () => undefined,
    };
    try {
      sqliteWasm(database, { ranFull: () => ranFull, isGone: () => isGone }).run("COMMIT");
      return undefined;
    } catch (error) {
      return (error as StoreError).kind;
    }
  };
  expect([failing(true), failing(false), failing(true, true)]).toEqual(["full", "io", "damaged"]);
});

test.each([
  ["database or disk is full: SQLITE_FULL", "full"],
  ["string or blob too big: SQLITE_TOOBIG", "large"],
  ["Exceeded allowed storage in Durable Objects free tier.", "full"],
  ["Exceeded allowed rows written in Durable Objects free tier.", "spent"],
  ["Exceeded allowed rows read in Durable Objects free tier.", "spent"],
])("what a platform refuses of an object is told apart: %s", (message, kind) => {
  const exec = (): never => {
    throw new Error(message);
  };
  const connection = durableObject({ sql: { exec }, transactionSync: (work) => work() });
  expect(() => connection.run("INSERT")).toThrow(expect.objectContaining({ kind }));
});
