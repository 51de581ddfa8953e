/** Driver for the SQLite of a Durable Object's storage: structural types, so that nothing is imported. */
import type { SqlConnection, SqlValue } from "../sql.ts";
import { StoreError, storeError } from "../store-error.ts";

/** What is used of a cursor. */
interface Cursor {
  toArray(): Record<string, unknown>[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** What is used of `ctx.storage.sql`. */
export interface ObjectSql {
  exec(statement: string, ...bindings: unknown[]): Cursor;
}

/** What is used of `ctx.storage`. */
export interface ObjectSqlStorage {
  readonly sql: ObjectSql;
  transactionSync<Result>(work: () => Result): Result;
}

/** Rows that the platform bills. */
export interface BilledRows {
  read: number;
  written: number;
}

/** What the platform takes of a value, and of a row. */
const VALUE_BYTES_MAX: number = 2 << 20;

/** The port over the storage of an object, which nobody closes. `billed` is counted up by what is read and written. */
export function durableObject(storage: ObjectSqlStorage, billed: BilledRows = { read: 0, written: 0 }): SqlConnection {
  const exec = <Row>(statement: string, bindings: readonly SqlValue[]): Row[] => {
    try {
      const cursor = storage.sql.exec(statement, ...bindings);
      const rows = cursor.toArray();
      billed.read += cursor.rowsRead;
      billed.written += cursor.rowsWritten;
      for (const row of rows) withViews(row);
      return rows as Row[];
    } catch (error) {
      throw objectStorageFailure(error);
    }
  };
  return {
    valueBytesMax: VALUE_BYTES_MAX,
    all: <Row>(statement: string, ...bindings: readonly SqlValue[]) => exec<Row>(statement, bindings),
    run: (statement, ...bindings) => {
      exec(statement, bindings);
    },
    transaction: (work) => {
      let isDone = false;
      try {
        return storage.transactionSync(() => {
          const result = work();
          if (result instanceof Promise) throw new TypeError("a transaction must not await");
          isDone = true;
          return result;
        });
      } catch (error) {
        throw isDone ? objectStorageFailure(error) : error;
      }
    },
    close: () => undefined,
  };
}

/** Blobs come as buffers; everybody else has views. */
function withViews(row: Record<string, unknown>): void {
  for (const name in row) {
    const value = row[name];
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value);
  }
}

/** What the platform says of a failure of an object's storage: SQLite's code stands somewhere in its text. */
export function objectStorageFailure(error: unknown): unknown {
  const message = error instanceof Error ? error.message : String(error);
  // A plan that is free has so many rows a day, which are counted for the whole account.
  if (/exceeded allowed rows/i.test(message)) return new StoreError("spent", message, error);
  const code = /SQLITE_[A-Z_]+/.exec(message)?.[0] ?? (/exceeded.*(storage|size)/i.test(message) ? "SQLITE_FULL" : "");
  return storeError(code, error);
}
