/** Driver for Node's own `node:sqlite` (from Node 22.13): structural types, so that older releases load this file too. */
import type { SqlConnection, SqlValue } from "../sql.ts";
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
    check: refuseCutText,
    codeOf: (error) => CODES[Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff] ?? "",
  });
}

/** Node 22 ends a text at U+0000 when it reads it. We store none with it; one that came would be another's key when it is read. */
function refuseCutText(binding: SqlValue): void {
  if (typeof binding === "string" && binding.includes("\0"))
    throw new TypeError("node:sqlite keeps no text with U+0000");
}
