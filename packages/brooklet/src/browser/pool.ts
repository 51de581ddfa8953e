/** SQLite in a worker: databases in memory, and a pool of files of the browser's storage that this worker has for itself. */
import { type FilePool, type SqlConnection, type SqliteWasm, StoreError, sqliteWasm } from "@brooklet/store";
import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
import { type AccessHandle, browser, type FileHandle, type FolderHandle } from "./platform.ts";

type Database = new (name: string) => SqliteWasm;

interface PoolUtilities {
  readonly OpfsSAHPoolDb: Database;
  reserveMinimumCapacity(files: number): Promise<number>;
  pauseVfs(): unknown;
}

/** What is used of the library. */
interface Sqlite {
  readonly oo1: { readonly DB: Database };
  installOpfsSAHPoolVfs(options: object): Promise<PoolUtilities>;
}

interface ModuleOptions {
  print(): void;
  printErr(): void;
  locateFile?(file: string): string;
}

/** Two databases and the journal of each, with room for what SQLite may need beside them. */
const FILES = 8;
/** Folder of the library in that of a pool. */
const FILES_FOLDER = ".opaque";
/** A folder of ours in that, which the library passes over. */
const GUARD_FOLDER = "guard";
const GUARD = "held";
/** A worker that was ended lets go of its files a moment after its lock. */
const WAIT_MS = 10_000;
const PAUSE_MS = 25;

/** Loads SQLite. `url`: where it is, if a bundler did not see to it. */
export class BrowserSqlite {
  readonly #sqlite: Sqlite;
  /** Set when the file system refused a write for want of space: SQLite itself is only told that it failed. */
  readonly #space: { isOut: boolean };

  private constructor(sqlite: Sqlite, space: { isOut: boolean }) {
    this.#sqlite = sqlite;
    this.#space = space;
  }

  static async load(url: string | undefined): Promise<BrowserSqlite> {
    const space = { isOut: false };
    const note = (...told: readonly unknown[]): void => {
      if (told.some(tellsOfSpace)) space.isOut = true;
    };
    // Where a page is isolated the library starts a worker for each of these, of a script that bundlers do not see.
    const disable = { vfs: { opfs: true, "opfs-wl": true } };
    // How the library takes its settings.
    const settings = { disable, error: note, warn: () => undefined, debug: () => undefined, log: () => undefined };
    (globalThis as { sqlite3ApiConfig?: object }).sqlite3ApiConfig = settings;
    const initialise = sqlite3InitModule as unknown as (options: ModuleOptions) => Promise<Sqlite>;
    const quiet = { print: () => undefined, printErr: () => undefined };
    const found = url === undefined ? {} : { locateFile: () => url };
    const sqlite = await initialise({ ...quiet, ...found }).catch((cause: unknown) => {
      // What it says of itself is that bytes are none, and not whose.
      throw new Error(`SQLite cannot be loaded from ${url ?? "sqlite3.wasm"}: ${(cause as Error).message}`, { cause });
    });
    return new BrowserSqlite(sqlite, space);
  }

  /** A database in memory. */
  openMemory(): SqlConnection {
    return sqliteWasm(new this.#sqlite.oo1.DB(":memory:"));
  }

  /** The pool of a name, made if there is none. */
  async openPool(name: string): Promise<FilePool> {
    const directory = folderOf(name);
    // The library removes a pool that it cannot open. While a file of it is held, the browser refuses that.
    const guard = await takeGuard(directory);
    try {
      const pool = await this.#sqlite.installOpfsSAHPoolVfs({
        name: `brooklet ${name}`,
        directory,
        initialCapacity: FILES,
        verbosity: 1,
      });
      await pool.reserveMinimumCapacity(FILES);
      return {
        open: (file) =>
          sqliteWasm(new pool.OpfsSAHPoolDb(file), { ranFull: () => this.#ranFull(), isGone: () => !isThere(guard) }),
        close: () => {
          pool.pauseVfs();
          guard.close();
        },
      };
    } catch (error) {
      guard.close();
      throw poolFailure(error);
    }
  }

  #ranFull(): boolean {
    const { isOut } = this.#space;
    this.#space.isOut = false;
    return isOut;
  }
}

/** Browsers refuse a write for want of space, or write less than was asked (Chromium), of which the library says this. */
function tellsOfSpace(told: unknown): boolean {
  return told instanceof Error && (told.name === "QuotaExceededError" || told.message === "Unknown write() failure.");
}

/** Whether a file that is empty is still there: a user can clear the storage while it is open, and no read or write says so. */
function isThere(empty: AccessHandle): boolean {
  try {
    return empty.getSize() === 0;
  } catch {
    return false;
  }
}

function folderOf(name: string): string {
  return `brooklet-${encodeURIComponent(name)}`;
}

/** Whether the folder of a pool is there. Writes to an open file go on when it was removed. */
export async function isPoolThere(name: string): Promise<boolean> {
  try {
    const root = await browser.navigator?.storage?.getDirectory?.();
    await root?.getDirectoryHandle(folderOf(name), { create: false });
    return true;
  } catch (error) {
    return (error as { readonly name?: unknown }).name !== "NotFoundError";
  }
}

/** Takes the guard of a pool, and sees to it that nobody has its other files any more. */
async function takeGuard(directory: string): Promise<AccessHandle> {
  try {
    const root = await browser.navigator?.storage?.getDirectory?.();
    if (root === undefined) throw new Error("there is no private file system");
    const folder = await root.getDirectoryHandle(directory, { create: true });
    const files = await folder.getDirectoryHandle(FILES_FOLDER, { create: true });
    const guard = await files.getDirectoryHandle(GUARD_FOLDER, { create: true });
    const held = await freeHandle(await guard.getFileHandle(GUARD, { create: true }));
    try {
      await waitUntilFree(files);
    } catch (error) {
      held.close();
      throw error;
    }
    return held;
  } catch (error) {
    throw poolFailure(error);
  }
}

async function waitUntilFree(files: FolderHandle): Promise<void> {
  for await (const file of files.values()) {
    if (file.kind === "file") (await freeHandle(file)).close();
  }
}

/** A file, when whoever has it has let go of it. */
async function freeHandle(file: FileHandle): Promise<AccessHandle> {
  const latestMs = performance.now() + WAIT_MS;
  for (;;) {
    try {
      if (file.createSyncAccessHandle === undefined) throw new LackOfFiles();
      return await file.createSyncAccessHandle();
    } catch (error) {
      if (!isHeld(error)) throw error;
      if (performance.now() > latestMs) throw new StoreError("busy", "another page has the database's files", error);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

function isHeld(error: unknown): boolean {
  const { name } = error as { readonly name?: unknown };
  return name === "NoModificationAllowedError" || name === "InvalidStateError";
}

/** The browser lacks what a stored database needs: files that are read and written at once, to begin with. */
export class LackOfFiles extends Error {
  override readonly name = "LackOfFiles";

  constructor(lack = "this browser has no synchronous access to its private file system") {
    super(lack);
  }
}

function poolFailure(error: unknown): unknown {
  if (error instanceof StoreError || error instanceof LackOfFiles) return error;
  const { name, message } = error as Error;
  if (name === "QuotaExceededError") return new StoreError("full", "the browser's storage is full", error);
  // So browsers say it that keep nothing, in private windows.
  if (name === "SecurityError") return new LackOfFiles();
  return new StoreError("io", `the browser's storage cannot be used: ${message}`, error);
}
