/**
 * Opens the data directory given with the library given, says so, and stays: the other process of the lock test. It keeps no reference to the
 * directory: the lock must hold nevertheless. As another user, where one is given.
 */
import { createRequire } from "node:module";
import process from "node:process";
import { betterSqlite3, nodeSqlite } from "../dist/index.js";
import { DataDirectory } from "../dist/node.js";

const [path, library, user] = process.argv.slice(2);
const loaded = createRequire(import.meta.url)(library);

function openSql(file) {
  if (library === "node:sqlite") return nodeSqlite(new loaded.DatabaseSync(file, { timeout: 0 }));
  return betterSqlite3(new loaded(file, { timeout: 0 }));
}

// What is loaded with the first database may be another user's.
openSql(":memory:").close();
if (user !== undefined) process.setuid(Number(user));
DataDirectory.open(path, openSql, 2);
process.stdout.write("open\n");
setInterval(() => undefined, 1_000);
