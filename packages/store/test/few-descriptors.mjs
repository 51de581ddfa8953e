/**
 * Opens a bucket of the data directory given while 0, 1, 2, … descriptors are left, then with all of them, and writes what came of each as JSON. Its
 * caller lets it have few.
 */
import { closeSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { betterSqlite3, nodeSqlite } from "../dist/index.js";
import { DataDirectory } from "../dist/node.js";

const LEFT_MAX = 12;
const [path, library] = process.argv.slice(2);
const loaded = createRequire(import.meta.url)(library);

function openSql(file) {
  if (library === "node:sqlite") return nodeSqlite(new loaded.DatabaseSync(file, { timeout: 0 }));
  return betterSqlite3(new loaded(file, { timeout: 0 }));
}

const directory = DataDirectory.open(path, openSql, 2);
// What is loaded when it is needed needs descriptors of its own.
const attempt = () => {
  try {
    directory.openBucket(0).close();
    return "open";
  } catch (error) {
    return error.kind ?? error.code ?? error.message;
  }
};
attempt();
const came = [];
const taken = [];
for (let left = 0; left <= LEFT_MAX; left += 1) {
  try {
    for (;;) taken.push(openSync(path, "r"));
  } catch {
    // All are taken.
  }
  for (let spare = 0; spare < left; spare += 1) closeSync(taken.pop());
  came.push(attempt());
}
for (const file of taken) closeSync(file);
came.push(attempt());
process.stdout.write(JSON.stringify(came));
