/**
 * Opens a data directory with better-sqlite3, and with a copy of it, and of this package, that stands elsewhere, as of another release of what both are
 * installed for; then in another process, and again when it is closed. Writes what came of each as JSON.
 */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

const [path, elsewhere, other] = process.argv.slice(2);
const installed = createRequire(import.meta.url);
const dist = fileURLToPath(new URL("../dist", import.meta.url));

async function opener(Database, folder) {
  const { betterSqlite3 } = await import(pathToFileURL(join(folder, "index.js")).href);
  const { DataDirectory } = await import(pathToFileURL(join(folder, "node.js")).href);
  return (at) => DataDirectory.open(at, (file) => betterSqlite3(new Database(file, { timeout: 0 })), 2);
}

function outcomeOf(open, at) {
  try {
    open(at).close();
    return "open";
  } catch (error) {
    return error.message;
  }
}

const open = await opener(installed("better-sqlite3"), dist);
if (other !== undefined) process.stdout.write(outcomeOf(open, path));
else {
  const modules = join(elsewhere, "node_modules");
  mkdirSync(modules);
  for (const name of ["better-sqlite3", "bindings", "file-uri-to-path"])
    cpSync(dirname(installed.resolve(`${name}/package.json`)), join(modules, name), { recursive: true });
  cpSync(dist, join(elsewhere, "dist"), { recursive: true });
  const Copy = createRequire(join(elsewhere, "index.js"))("better-sqlite3");
  const openByCopy = await opener(Copy, join(elsewhere, "dist"));
  symlinkSync(path, `${path}-link`);
  const first = open(path);
  const [copy, link] = [outcomeOf(openByCopy, path), outcomeOf(openByCopy, `${path}-link`)];
  const words = [fileURLToPath(import.meta.url), path, elsewhere, "other"];
  const { stdout } = spawnSync(process.execPath, words, { encoding: "utf8" });
  first.close();
  process.stdout.write(JSON.stringify({ copy, link, process: stdout, afterwards: outcomeOf(openByCopy, path) }));
}
