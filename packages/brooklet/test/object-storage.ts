/**
 * A stand-in for the storage of a Durable Object, over SQLite in memory: its SQL, and its bookmarks, which local runtimes of the
 * platform do not have. One instance is one session.
 */
import Database from "better-sqlite3";

interface Kept {
  readonly bookmark: string;
  readonly atMs: number;
  readonly bytes: Buffer;
}

/** The storage of one session. */
export class StandInStorage {
  #database: Database.Database;
  /** What the database was at each bookmark; all sessions have the same. */
  readonly #kept: Kept[];
  #next: Kept | undefined;
  readonly sql = {
    exec: (statement: string, ...bindings: unknown[]) => {
      const prepared = this.#database.prepare(statement);
      const given = bindings.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
      const rows = prepared.reader ? (prepared.all(...given) as Record<string, unknown>[]) : [];
      if (!prepared.reader) prepared.run(...given);
      for (const row of rows)
        for (const [name, value] of Object.entries(row))
          if (Buffer.isBuffer(value)) row[name] = new Uint8Array(value).buffer;
      return { toArray: () => rows, rowsRead: 0, rowsWritten: 0 };
    },
  };

  constructor(database = new Database(":memory:"), kept: Kept[] = []) {
    this.#database = database;
    this.#kept = kept;
  }

  transactionSync<Result>(work: () => Result): Result {
    return this.#database.transaction(work)();
  }

  async deleteAll(): Promise<void> {
    this.#database = new Database(":memory:");
  }

  async getCurrentBookmark(): Promise<string> {
    const bookmark = String(this.#kept.length).padStart(8, "0");
    this.#kept.push({ bookmark, atMs: Date.now(), bytes: this.#database.serialize() });
    return bookmark;
  }

  async getBookmarkForTime(time: number | Date): Promise<string> {
    const found = this.#kept.filter(({ atMs }) => atMs <= Number(time)).at(-1);
    if (found === undefined) throw new Error("the object was not there");
    return found.bookmark;
  }

  async onNextSessionRestoreBookmark(bookmark: string): Promise<string> {
    const found = this.#kept.find((known) => known.bookmark === bookmark);
    if (found === undefined) throw new Error("Invalid bookmark");
    this.#next = found;
    return await this.getCurrentBookmark();
  }

  /** The storage of the next session, which begins when this one is ended, by `ctx.abort()` for one. */
  nextSession(): StandInStorage {
    return new StandInStorage(this.#next === undefined ? this.#database : new Database(this.#next.bytes), this.#kept);
  }
}
