/**
 * The SQLite of this package on Node: better-sqlite3, or where it could not be installed Node's own (from 22.13 on).
 * Another library would be put in their place here.
 */
import { createRequire } from "node:module";
import { type BetterSqlite3, betterSqlite3, type NodeSqlite, nodeSqlite, type SqlConnection } from "@brooklet/store";

type OpenDatabase = (path: string) => SqlConnection;

const require: NodeJS.Require = createRequire(import.meta.url);
let library: OpenDatabase | undefined;

/** Opens or makes a file, or a database in memory. A file that another process has locked is an error at once. */
export function openDatabase(path: string = ":memory:"): SqlConnection {
  library ??= loadLibrary();
  return library(path);
}

function loadLibrary(): OpenDatabase {
  try {
    const Database = require("better-sqlite3") as new (path: string, options: object) => BetterSqlite3;
    // The binary is only loaded with the first database.
    new Database(":memory:", {}).close();
    return (path) => betterSqlite3(new Database(path, { timeout: 0 }));
  } catch (cause) {
    const { DatabaseSync } = nodeOwn(cause);
    return (path) => nodeSqlite(new DatabaseSync(path, { timeout: 0 }));
  }
}

function nodeOwn(cause: unknown): { DatabaseSync: new (path: string, options: object) => NodeSqlite } {
  try {
    return require("node:sqlite") as ReturnType<typeof nodeOwn>;
  } catch {
    const remedy = "install it where it can be built or fetched (npm run setup), or use Node 22.13 or later";
    throw new Error(`No SQLite: better-sqlite3 cannot be loaded in Node ${process.versions.node}; ${remedy}`, {
      cause,
    });
  }
}
