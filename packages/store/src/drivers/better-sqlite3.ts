/** Driver for the user's `better-sqlite3` database: structural types, so that nothing is imported. */
import type { SqlConnection, SqlValue } from "../sql.ts";
import { storeError } from "../store-error.ts";
import { transact } from "./transaction.ts";

interface Statement {
  readonly reader: boolean;
  all(...bindings: readonly unknown[]): unknown[];
  run(...bindings: readonly unknown[]): unknown;
}

/** What is used of a `better-sqlite3` database. */
export interface BetterSqlite3 {
  prepare(statement: string): Statement;
  close(): unknown;
}

/** The port over `database`, which is closed with it. */
export function betterSqlite3(database: BetterSqlite3): SqlConnection {
  const prepared = new Map<string, Statement>();
  const guarded = <Result>(statement: string, use: (prepared: Statement) => Result): Result => {
    try {
      let known = prepared.get(statement);
      if (known === undefined) prepared.set(statement, (known = database.prepare(statement)));
      return use(known);
    } catch (error) {
      throw storeError(String((error as { code?: unknown }).code), error);
    }
  };
  const connection: SqlConnection = {
    all: <Row>(statement: string, ...bindings: readonly SqlValue[]) =>
      guarded(statement, (it) => it.all(...bindings) as Row[]),
    run: (statement, ...bindings) => {
      guarded(statement, (it) => (it.reader ? it.all(...bindings) : it.run(...bindings)));
    },
    transaction: (work) => transact(connection, work),
    close: () => {
      database.close();
    },
  };
  return connection;
}
