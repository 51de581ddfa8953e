/** Driver for Node's own `node:sqlite` (from Node 22.13): structural types, so that older releases load this file too. */
import type { SqlConnection, SqlValue } from "../sql.ts";
import { storeError } from "../store-error.ts";
import { transact } from "./transaction.ts";

interface Statement {
  all(...bindings: readonly unknown[]): unknown[];
  run(...bindings: readonly unknown[]): unknown;
}

/** What is used of a `DatabaseSync`. */
export interface NodeSqlite {
  prepare(statement: string): Statement;
  close(): void;
}

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
  const prepared = new Map<string, Statement>();
  const guarded = <Result>(statement: string, use: (prepared: Statement) => Result): Result => {
    try {
      let known = prepared.get(statement);
      if (known === undefined) prepared.set(statement, (known = database.prepare(statement)));
      return use(known);
    } catch (error) {
      const number = Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff;
      throw storeError(CODES[number] ?? "", error);
    }
  };
  const connection: SqlConnection = {
    all: <Row>(statement: string, ...bindings: readonly SqlValue[]) =>
      guarded(statement, (it) => it.all(...bindings) as Row[]),
    run: (statement, ...bindings) => {
      guarded(statement, (it) => it.run(...bindings));
    },
    transaction: (work) => transact(connection, work),
    close: () => database.close(),
  };
  return connection;
}
