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

/** What SQLite says of a checkpoint: whether it was kept from it, and pages in the log and of these in the file. */
interface Checkpointed {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** SQLite's result codes, by number. */
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
  // Extended ones that mean something else than what they extend.
  778: "SQLITE_IOERR_WRITE",
  4874: "SQLITE_IOERR_SHMSIZE",
};

/** The name of a result code, extended or not; nothing for what is no failure of a device. */
export function nameOfCode(number: unknown): string {
  const code = Number(number ?? 0);
  return CODES[code] ?? CODES[code & 0xff] ?? "";
}

/**
 * For libraries that end a text at U+0000 when they read it. We store none with it; one that came would be another's key when it
 * is read.
 */
export function refuseCutText(binding: SqlValue): void {
  if (typeof binding === "string" && binding.includes("\0"))
    throw new TypeError("this library of SQLite keeps no text with U+0000");
}

/** The port over a database, which is closed with it. Each statement is prepared once: all of them are constants. */
export function connectionOf<Statement extends PreparedStatement>(
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
    checkpoint: (truncate) => {
      const statement = `PRAGMA wal_checkpoint(${truncate ? "TRUNCATE" : "PASSIVE"})`;
      const row = using(statement, (it) => it.all())[0] as Checkpointed | undefined;
      return row?.busy === 0 && row.log === row.checkpointed;
    },
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
