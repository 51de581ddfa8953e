/** Driver for Node's own `node:sqlite` (from Node 22.13): structural types, so that older releases load this file too. */
import type { SqlConnection } from "../sql.ts";
import { connectionOf, nameOfCode, type PreparedStatement, type PreparingDatabase, refuseCutText } from "./prepared.ts";

/** What is used of a `DatabaseSync`. */
export type NodeSqlite = PreparingDatabase<PreparedStatement>;

/** The port over `database`, which is closed with it. */
export function nodeSqlite(database: NodeSqlite): SqlConnection {
  return connectionOf(database, {
    execute: (statement, bindings) => {
      statement.run(...bindings);
    },
    check: refuseCutText,
    codeOf: (error) => nameOfCode((error as { errcode?: unknown }).errcode),
  });
}
