/** What drivers of libraries with prepared statements have in common. */
import type { SqlConnection, SqlValue } from "../sql.ts";
import { storeError } from "../store-error.ts";

/** What is used of a prepared statement. */
export interface PreparedStatement {
  all(...bindings: readonly unknown[]): unknown[];
  run(...bindings: readonly unknown[]): unknown;
}

/** What is used of a database. */
export interface PreparingDatabase<Statement extends PreparedStatement> {
  prepare(statement: string): Statement;
  close(): unknown;
}

/** In what libraries differ. */
export interface Manners<Statement> {
  /** Runs a statement whose rows, if it has any, are not wanted. */
  readonly execute: (statement: Statement, bindings: readonly SqlValue[]) => void;
  /** Throws at a value that the library would not give back as it is. */
  readonly check?: (binding: SqlValue) => void;
  /** SQLite's result code of an error (`SQLITE_FULL`), or anything else for a defect. */
  readonly codeOf: (error: unknown) => string;
}

/** The port over a database, which is closed with it. Each statement is prepared once: all of them are constants. */
export function prepared<Statement extends PreparedStatement>(
  database: PreparingDatabase<Statement>,
  { execute, codeOf, check }: Manners<Statement>,
): SqlConnection {
  const statements = new Map<string, Statement>();
  const using = <Result>(text: string, use: (statement: Statement) => Result): Result => {
    try {
      const known = statements.get(text);
      if (known !== undefined) return use(known);
      const statement = database.prepare(text);
      statements.set(text, statement);
      return use(statement);
    } catch (error) {
      throw storeError(codeOf(error), error);
    }
  };
  const run = (text: string, ...bindings: readonly SqlValue[]): void => {
    if (check !== undefined) bindings.forEach(check);
    using(text, (it) => execute(it, bindings));
  };
  return {
    all: <Row>(text: string, ...bindings: readonly SqlValue[]) => {
      if (check !== undefined) bindings.forEach(check);
      return using(text, (it) => it.all(...bindings) as Row[]);
    },
    run,
    transaction: (work) => transact(run, work),
    checkpoint: (truncate) => run(`PRAGMA wal_checkpoint(${truncate ? "TRUNCATE" : "PASSIVE"})`),
    close: () => {
      database.close();
    },
  };
}

/** Runs `work` between BEGIN IMMEDIATE and COMMIT. If the commit itself fails, the error is thrown after a rollback. */
function transact<Result>(run: (statement: string) => void, work: () => Result): Result {
  run("BEGIN IMMEDIATE");
  try {
    const result = work();
    if (result instanceof Promise) throw new TypeError("a transaction must not await");
    run("COMMIT");
    return result;
  } catch (error) {
    rollback(run);
    throw error;
  }
}

/** SQLite rolls back by itself after some errors; then there is nothing left to roll back, and the first error tells. */
function rollback(run: (statement: string) => void): void {
  try {
    run("ROLLBACK");
  } catch {
    return;
  }
}
