/**
 * The SQLite of this package on Node: better-sqlite3, or where that could not be installed Node's own (from 22.13 on).
 * Another library would be put in their place here.
 */
import { type BetterSqlite3, betterSqlite3, type NodeSqlite, nodeSqlite, type SqlConnection } from "@brooklet/store";
import Inside from "better-sqlite3";
import inside from "better-sqlite3/package.json" with { type: "json" };
import { requireOf } from "../require.ts";

/** A library of SQLite that works here. */
interface Library {
  readonly open: (path: string) => SqlConnection;
  /** Why it is not better-sqlite3. */
  readonly notice?: string;
}

interface NodeModule {
  readonly DatabaseSync: new (path: string, options: object) => NodeSqlite;
}

type BetterSqlite3Class = new (path: string, options: object) => BetterSqlite3;

const { readFileSync } = process.getBuiltinModule("node:fs");
const BINARY = "better-sqlite3/build/Release/better_sqlite3.node";
const PACKAGE = "better-sqlite3/package.json";
/** What helps without it: those whose own SQLite a directory is written by. In memory that of 22.13 does. */
const LATER_NODE = "or use Node 22.23, 24.15 or later";
let library: Library | undefined;

/** Opens or makes a file, or a database in memory. A file that another process has locked is an error at once. */
export function openDatabase(path: string = ":memory:"): SqlConnection {
  library ??= loadLibrary();
  return library.open(path);
}

/** Why SQLite is Node's own, where it is: for whoever asked to be warned. */
export function sqliteNotice(): string | undefined {
  library ??= loadLibrary();
  return library.notice;
}

function loadLibrary(): Library {
  try {
    const nativeBinding = builtBinary();
    const Database = nativeBinding === undefined ? installedLibrary() : (Inside as unknown as BetterSqlite3Class);
    const options = { timeout: 0, ...(nativeBinding && { nativeBinding }) };
    return { open: (path) => betterSqlite3(new Database(path, options)) };
  } catch (cause) {
    const { DatabaseSync } = loadNodeSqlite(cause);
    return {
      open: (path) => nodeSqlite(new DatabaseSync(path, { timeout: 0 })),
      notice: `SQLite is Node's own: better-sqlite3 cannot be loaded (${reasonOf(cause)})`,
    };
  }
}

/** The library as it is installed: another release than the one inside, or elsewhere, where it looks for its binary itself. */
function installedLibrary(): BetterSqlite3Class {
  const Database = requireOf("better-sqlite3")("better-sqlite3") as BetterSqlite3Class;
  // Otherwise the binary is only loaded with the first database.
  new Database(":memory:", {}).close();
  return Database;
}

/**
 * The binary from where an installation puts it, if it is of the release whose scripts are inside of ours (docs/decisions/0185). It is
 * not the one that a program of its own has, which throws errors of the program's classes.
 */
function builtBinary(): object | undefined {
  try {
    const file = installedFile(BINARY);
    const { version } = JSON.parse(readFileSync(`${file.slice(0, -BINARY.length)}${PACKAGE}`, "utf8")) as typeof inside;
    if (version !== inside.version) return undefined;
    const module = { exports: {} };
    process.dlopen(module, file);
    return module.exports;
  } catch {
    return undefined;
  }
}

/**
 * The path of a file of a package that is installed. By what resolves imports, which has resolved ours: what resolves `require` reads scripts of
 * Node's own that a start has no other need of. Where a bundler or a test runner took that away, by `require`.
 */
function installedFile(name: string): string {
  try {
    const address = import.meta.resolve(name);
    if (address.startsWith("file:")) return process.getBuiltinModule("node:url").fileURLToPath(address);
  } catch {
    // By `require`.
  }
  return requireOf(name).resolve(name);
}

function loadNodeSqlite(cause: unknown): NodeModule {
  try {
    return silently(() => requireOf("node:sqlite")("node:sqlite") as NodeModule);
  } catch {
    const what = `better-sqlite3 cannot be loaded in Node ${process.versions.node} (${reasonOf(cause)})`;
    throw new Error(`No SQLite: ${what}; ${sqliteRemedy()}, ${LATER_NODE}`, { cause });
  }
}

/** Node warns that its module is young; whoever opens a database is told by `warnings`, not by a line on the screen. */
function silently<Result>(work: () => Result): Result {
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return work();
  } finally {
    process.emitWarning = emitWarning;
  }
}

/**
 * How better-sqlite3 is had, in the words of whoever installed it: a library that is there and cannot be loaded has no binary for this
 * Node, since its build script was not run, or for another. Several installers run none unless they are told to.
 */
export function sqliteRemedy(): string {
  let path: string;
  try {
    path = installedFile(PACKAGE);
  } catch {
    return "install better-sqlite3 (npm install better-sqlite3, pnpm add, yarn add, bun add)";
  }
  const run = "run its build script";
  if (path.split(/[\\/]/).includes(".pnpm")) return `${run} (pnpm approve-builds, then pnpm rebuild better-sqlite3)`;
  if (process.versions["pnp"] !== undefined)
    return `${run} (enableScripts: true in .yarnrc.yml, then yarn rebuild better-sqlite3)`;
  const npm = "npm rebuild better-sqlite3, from npm 12 on after npm install-scripts approve better-sqlite3";
  return `${run} (${npm}; Yarn from 2 on: yarn rebuild better-sqlite3; Bun: bun pm trust better-sqlite3)`;
}

/** What a failed load says, without where Node or the library looked. */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  const [told = ""] = message.split(/ Tried:\s|\n(?:Require stack|\s*- )/, 1);
  return told.replace(/\s+/g, " ").replace(/\.$/, "");
}
