/**
 * Opens the data directory given, says so, and stays: the other process of the lock test. It keeps no reference to the
 * directory: the lock must hold nevertheless.
 */
import Database from "better-sqlite3";
import { betterSqlite3 } from "../dist/index.js";
import { DataDirectory } from "../dist/node.js";

DataDirectory.open(process.argv[2], (path) => betterSqlite3(new Database(path, { timeout: 0 })), 2);
process.stdout.write("open\n");
setInterval(() => undefined, 1_000);
