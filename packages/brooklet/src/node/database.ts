/** The SQLite of this package on Node: where another library would be put in its place. */
import { betterSqlite3, type SqlConnection } from "@brooklet/store";
import Database from "better-sqlite3";

/** Opens or makes a file, or a database in memory. A file that another process has locked is an error at once. */
export function openDatabase(path: string = ":memory:"): SqlConnection {
  return betterSqlite3(new Database(path, { timeout: 0 }));
}
