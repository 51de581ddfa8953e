/** Driver for the user's `better-sqlite3` database: structural types, so that nothing is imported. */
import type { SqlConnection } from "../sql.ts";
import { connectionOf, type PreparedStatement, type PreparingDatabase } from "./prepared.ts";

interface Statement extends PreparedStatement {
  /** Whether it has rows; such a statement refuses `run`. */
  readonly reader: boolean;
}

/** What is used of a `better-sqlite3` database. */
export type BetterSqlite3 = PreparingDatabase<Statement>;

/** The port over `database`, which is closed with it. */
export function betterSqlite3(database: BetterSqlite3): SqlConnection {
  return connectionOf(database, {
    execute: (statement, bindings) => {
      if (statement.reader) statement.all(...bindings);
      else statement.run(...bindings);
    },
    codeOf: (error) => String((error as { code?: unknown }).code),
  });
}
