/** SQLite in a worker: databases in memory, and a pool of files of the browser's storage that this worker has for itself. */
import { moduleFailure } from "@brooklet/core/browser";
import { type FilePool, type SqlConnection, type SqliteWasm, StoreError, sqliteWasm } from "@brooklet/store";
import sqlite3InitModule from "@sqlite.org/sqlite-wasm";
import { type AccessHandle, browser, type FileHandle, type FolderHandle, isRefusal, nothingKept } from "./platform.ts";
import { PoolReserve } from "./pool-reserve.ts";

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

/** The pool of a name. */
export interface BrowserPool extends FilePool {
  /** Nothing: the browser had no room for a file even. */
  readonly reserve: PoolReserve | undefined;
}

/** Two databases and the journal of each, with room for what SQLite may need beside them. */
const FILES = 8;
/** Folder of the library in that of a pool. */
const FILES_FOLDER = ".opaque";
/** A folder of ours in that, which the library passes over. */
const GUARD_FOLDER = "guard";
const GUARD = "held";
/** Beside the guard. */
const RESERVE = "reserve";
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
      throw moduleFailure("SQLite", url ?? "sqlite3.wasm", "open({ assets: { sqlite } })", cause);
    });
    return new BrowserSqlite(sqlite, space);
  }

  /** A database in memory. */
  openMemory(): SqlConnection {
    return sqliteWasm(new this.#sqlite.oo1.DB(":memory:"));
  }

  /** The pool of a name, made if there is none. */
  async openPool(name: string): Promise<BrowserPool> {
    const directory = folderOf(name);
    // The library removes a pool that it cannot open. While a file of it is held, the browser refuses that.
    const guard = await takeGuard(directory);
    try {
      const options = { name: `brooklet ${name}`, directory, initialCapacity: FILES, verbosity: 1 };
      const pool = await withoutTrialFile(directory, () => this.#sqlite.installOpfsSAHPoolVfs(options));
      await pool.reserveMinimumCapacity(FILES);
      const reserve = await reserveOf(directory);
      return {
        reserve,
        open: (file) =>
          sqliteWasm(new pool.OpfsSAHPoolDb(file), { ranFull: () => this.#ranFull(), isGone: () => !isThere(guard) }),
        close: () => {
          pool.pauseVfs();
          reserve?.close();
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
  return isOutOfSpace(told) || (told instanceof Error && told.message === "Unknown write() failure.");
}

function isOutOfSpace(error: unknown): boolean {
  return (error as { readonly name?: unknown } | undefined)?.name === "QuotaExceededError";
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

/**
 * The library makes a file outside of the pool and removes it again, to see whether files are synchronous. Where the storage is full no file
 * can be made, and the pool, which needs none, would not be opened: so the library is given a file of the pool for that.
 */
async function withoutTrialFile<Result>(directory: string, install: () => Promise<Result>): Promise<Result> {
  const storage = browser.navigator?.storage;
  const root = await storage?.getDirectory?.();
  const folder = await root?.getDirectoryHandle(directory, { create: false });
  const files = await folder?.getDirectoryHandle(FILES_FOLDER, { create: false });
  const [there] = files === undefined ? [] : await filesOf(files);
  if (storage === undefined || root === undefined || there === undefined) return await install();
  const shown = {
    getDirectoryHandle: (name: string, options: { readonly create: boolean }) => root.getDirectoryHandle(name, options),
    getFileHandle: () => Promise.resolve(there),
    removeEntry: () => Promise.resolve(),
  };
  Object.defineProperty(storage, "getDirectory", { value: () => Promise.resolve(shown), configurable: true });
  try {
    return await install();
  } finally {
    // What the browser has stands on its prototype.
    Reflect.deleteProperty(storage, "getDirectory");
  }
}

async function reserveOf(directory: string): Promise<PoolReserve | undefined> {
  try {
    const root = await browser.navigator?.storage?.getDirectory?.();
    const folder = await root?.getDirectoryHandle(directory, { create: false });
    const files = await folder?.getDirectoryHandle(FILES_FOLDER, { create: false });
    const guard = await files?.getDirectoryHandle(GUARD_FOLDER, { create: false });
    const file = await guard?.getFileHandle(RESERVE, { create: true });
    return file === undefined ? undefined : await PoolReserve.make(() => freeHandle(file));
  } catch (error) {
    if (isOutOfSpace(error)) return undefined;
    throw error;
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
  for (const file of await filesOf(files)) (await freeHandle(file)).close();
}

async function filesOf(folder: FolderHandle): Promise<FileHandle[]> {
  const found: FileHandle[] = [];
  for await (const file of folder.values()) if (file.kind === "file") found.push(file);
  return found;
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
  const { message } = error as Error;
  if (isOutOfSpace(error)) return new StoreError("full", "the browser's storage is full", error);
  if (isRefusal(error)) return new LackOfFiles(nothingKept(error));
  return new StoreError("io", `the browser's storage cannot be used: ${message}`, error);
}
