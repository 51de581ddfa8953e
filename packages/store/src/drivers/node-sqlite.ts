/** Driver for Node's own `node:sqlite` (from Node 22.13): structural types, so that older releases load this file too. */
import type { SqlConnection } from "../sql.ts";
import { type PreparedStatement, type PreparingDatabase, prepared } from "./prepared.ts";

/** What is used of a `DatabaseSync`. */
export type NodeSqlite = PreparingDatabase<PreparedStatement>;

/** SQLite's primary result codes, by number. */
const CODES: Readonly<Record<number, string>> = {
  5: "SQLITE_BUSY",
  6: "SQLITE_LOCKED",
  7: "SQLITE_NOMEM",
  8: "SQLITE_READONLY",
  10: "SQLITE_IOERR",
  11: "SQLITE_CORRUPT",
  13: "SQLITE_FULL",
  14: "SQLITE_CANTOPEN",
  26: "SQLITE_NOTADB",
};

/** The port over `database`, which is closed with it. */
export function nodeSqlite(database: NodeSqlite): SqlConnection {
  return prepared(database, {
    execute: (statement, bindings) => {
      statement.run(...bindings);
    },
    codeOf: (error) => CODES[Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff] ?? "",
  });
}
