/**
 * A stand-in for the storage of a Durable Object, over SQLite in memory: its SQL, and its bookmarks, which local runtimes of the
 * platform do not have. Another session of the object begins with `restart`.
 */
import Database from "better-sqlite3";

type Value = number | string | null | ArrayBuffer | Buffer;

/** The storage. */
export class StandInStorage {
  #database = new Database(":memory:");
  /** What the database was at each bookmark. */
  readonly #bookmarks: { readonly bookmark: string; readonly atMs: number; readonly bytes: Buffer }[] = [];
  #next: string | undefined;
  #sessions = 0;
  #bookmarked = 0;
  readonly sql = {
    exec: (statement: string, ...bindings: unknown[]) => {
      const prepared = this.#database.prepare(statement);
      const given = bindings.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value));
      const rows = prepared.reader ? (prepared.all(...given) as Record<string, Value>[]) : [];
      if (!prepared.reader) prepared.run(...given);
      for (const row of rows)
        for (const [name, value] of Object.entries(row))
          if (Buffer.isBuffer(value)) row[name] = new Uint8Array(value).buffer;
      return { toArray: () => rows, rowsRead: 0, rowsWritten: 0 };
    },
  };

  transactionSync<Result>(work: () => Result): Result {
    return this.#database.transaction(work)();
  }

  async getCurrentBookmark(): Promise<string> {
    this.#bookmarked += 1;
    const bookmark = String(this.#bookmarked).padStart(8, "0");
    this.#bookmarks.push({ bookmark, atMs: Date.now(), bytes: this.#database.serialize() });
    return bookmark;
  }

  async getBookmarkForTime(time: number | Date): Promise<string> {
    const found = this.#bookmarks.filter(({ atMs }) => atMs <= Number(time)).at(-1);
    if (found === undefined) throw new Error("the time is before the recoverable window");
    return found.bookmark;
  }

  async onNextSessionRestoreBookmark(bookmark: string): Promise<string> {
    if (!this.#bookmarks.some((known) => known.bookmark === bookmark)) throw new Error("Invalid bookmark");
    this.#next = bookmark;
    return await this.getCurrentBookmark();
  }

  /** Ends this session, as `ctx.abort()` does, and begins the next. */
  restart(): void {
    this.#sessions += 1;
    const restored = this.#bookmarks.find(({ bookmark }) => bookmark === this.#next);
    this.#next = undefined;
    if (restored !== undefined) this.#database = new Database(restored.bytes);
  }

  /** Sessions that were begun after the first. */
  get sessions(): number {
    return this.#sessions;
  }
}
