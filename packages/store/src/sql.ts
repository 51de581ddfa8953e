/** The store's port: where another SQLite plugs in. A driver is some forty lines, and `testStore` is its contract. */

/** What SQLite stores and we use. Numbers are integers below 2^53; texts have no U+0000. */
export type SqlValue = number | string | Uint8Array | null;

/** A synchronous SQLite database. Statements keep to what a Durable Object allows: ≤ 100 bindings, values ≤ 2 MB. */
export interface Sql {
  /** All rows of a constant statement. */
  all<Row>(statement: string, ...bindings: readonly SqlValue[]): Row[];
  /** A constant statement without rows. */
  run(statement: string, ...bindings: readonly SqlValue[]): void;
  /** Everything `work` does, or nothing. Refuses a promise: a partition never awaits. */
  transaction<Result>(work: () => Result): Result;
}

/** A database that its owner closes. */
export interface SqlConnection extends Sql {
  close(): void;
  /**
   * Moves committed pages from the log to the file; `truncate` leaves nothing of what was removed in the log. Databases without
   * such a log have none of it.
   */
  checkpoint?(truncate: boolean): void;
}
