/** Driver for SQLite's own build for browsers, `@sqlite.org/sqlite-wasm`: structural types, so that nothing is imported. */
import type { SqlConnection, SqlValue } from "../sql.ts";
import { StoreError } from "../store-error.ts";
import { connectionOf, nameOfCode, type PreparedStatement, refuseCutText } from "./prepared.ts";

/** What is used of a statement of `oo1`. */
export interface WasmStatement {
  readonly parameterCount: number;
  bind(bindings: readonly SqlValue[]): unknown;
  step(): boolean;
  get(row: Record<string, unknown>): unknown;
  reset(alsoClearBindings: boolean): unknown;
}

/** What is used of an `oo1.DB`. */
export interface SqliteWasm {
  prepare(statement: string): WasmStatement;
  close(): unknown;
}

/** What the database alone cannot tell. */
export interface SqliteWasmOptions {
  /**
   * Whether the device failed for want of space since this was asked last. A file system of scripts tells SQLite of every failure
   * as one of I/O.
   */
  readonly ranFull?: () => boolean;
  /** Whether the files are gone from below: what SQLite reads then is anything. */
  readonly isGone?: () => boolean;
}

/** The port over `database`, which is closed with it. */
export function sqliteWasm(database: SqliteWasm, options: SqliteWasmOptions = {}): SqlConnection {
  const { ranFull = () => false, isGone = () => false } = options;
  const preparing = {
    prepare: (statement: string) => stepping(database.prepare(statement)),
    close: () => database.close(),
  };
  return connectionOf(preparing, {
    execute: (statement, bindings) => {
      statement.run(...bindings);
    },
    check: refuseCutText,
    codeOf: (error) => {
      const full = ranFull();
      if (isGone()) throw new StoreError("damaged", "the files are gone from the browser's storage", error);
      const code = nameOfCode((error as { resultCode?: unknown }).resultCode);
      return full && code.startsWith("SQLITE_IOERR") ? "SQLITE_FULL" : code;
    },
  });
}

/** A statement that is left at its beginning, also where it fails: one that is not would hold a lock. */
function stepping(statement: WasmStatement): PreparedStatement {
  const run = (bindings: readonly unknown[], eachRow: () => void): void => {
    try {
      if (bindings.length > 0) statement.bind(bindings as readonly SqlValue[]);
      while (statement.step()) eachRow();
    } finally {
      statement.reset(true);
    }
  };
  return {
    all: (...bindings) => {
      const rows: unknown[] = [];
      run(bindings, () => rows.push(statement.get({})));
      return rows;
    },
    run: (...bindings) => run(bindings, () => undefined),
  };
}
