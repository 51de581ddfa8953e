/** The store's port: where another SQLite plugs in. A driver is some forty lines, and `testStore` is its contract. */

/** What SQLite stores and we use. Numbers are integers below 2^53; texts have no U+0000. */
export type SqlValue = number | string | Uint8Array | null;

/** Blobs of the table of blocks that can be read around SQL, into memory that is there already. */
export interface Blobs {
  /** The length of the blob of `id`; nothing if it has to be asked of SQL. */
  lengthOf(id: number): number | undefined;
  /** Fills `room`, which has that length. Whether that was done; if not, SQL has to be asked. */
  read(id: number, room: Uint8Array): boolean;
}

/** A synchronous SQLite database. Statements keep to what a Durable Object allows: ≤ 100 bindings, values ≤ 2 MB. */
export interface Sql {
  /** All rows of a constant statement. */
  all<Row>(statement: string, ...bindings: readonly SqlValue[]): Row[];
  /** A constant statement without rows. */
  run(statement: string, ...bindings: readonly SqlValue[]): void;
  /** Everything `work` does, or nothing. Refuses a promise: a partition never awaits. */
  transaction<Result>(work: () => Result): Result;
  /** Values of more bytes are refused; nothing: SQLite's own limit. */
  readonly valueBytesMax?: number | undefined;
  /** What is kept beside the database, by which it is seen that it is not as it was left. Nothing: nothing is. */
  readonly guard?: Guard;
  /** Where blobs can be had faster, if there is such a way. */
  readonly blobs?: Blobs;
}

/** How far a database is. Both numbers only grow. */
export interface Generation {
  /** How often anything but the end of a tail changed. */
  readonly changes: number;
  /** Number of the latest operation. */
  readonly operation: number;
}

/** What is kept beside a database. */
export interface Guard {
  /** 16 bytes that what is in it is sealed with. */
  readonly key: Uint8Array;
  /** How far it was at least. Throws a `StoreError` where that cannot be said. */
  reached(): Generation;
  /** Notes how far it is, which is on stable storage by then. */
  reach(generation: Generation): void;
}

/** A database that its owner closes. */
export interface SqlConnection extends Sql {
  close(): void;
  /** Of a database whose device could only be read when it was opened: whether it can be written now, by who opens it anew. */
  isWritable?(): boolean;
  /**
   * Moves committed pages from the log to the file; `truncate` leaves nothing of what was removed in the log. Databases without
   * such a log have none of it. Whether the file is the whole database now: others may read what keeps some of the log. None is
   * made but by this.
   */
  checkpoint?(truncate: boolean): boolean;
}

/** Opens or makes the SQLite file `path`; a second opener of a locked file gets an error at once, not after a wait. */
export type OpenSql = (path: string) => SqlConnection;
