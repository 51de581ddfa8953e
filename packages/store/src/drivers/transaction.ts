/** Transactions for drivers whose library runs `BEGIN` and `COMMIT` as statements. */
import type { Sql } from "../sql.ts";

/** Runs `work` between BEGIN IMMEDIATE and COMMIT. If the commit itself fails, the error is thrown after a rollback. */
export function transact<Result>(sql: Pick<Sql, "run">, work: () => Result): Result {
  sql.run("BEGIN IMMEDIATE");
  try {
    const result = work();
    if (result instanceof Promise) throw new TypeError("a transaction must not await");
    sql.run("COMMIT");
    return result;
  } catch (error) {
    rollback(sql);
    throw error;
  }
}

/** SQLite rolls back by itself after some errors; then there is nothing left to roll back, and the first error tells. */
function rollback(sql: Pick<Sql, "run">): void {
  try {
    sql.run("ROLLBACK");
  } catch {
    return;
  }
}
