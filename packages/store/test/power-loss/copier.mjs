/** Copies keys of groups below the recorder, restores a directory with them, repairs it, and says each when it is done. */
import { truncateSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { betterSqlite3, nodeSqlite } from "../../dist/index.js";
import { FolderKeys, repairDirectory, restoreDirectory } from "../../dist/node.js";

const [, , root, keysFolder] = process.argv;
const require = createRequire(import.meta.url);
const key = new Uint8Array(32).fill(1);

function openSql(file) {
  try {
    const Database = require("better-sqlite3");
    return betterSqlite3(new Database(file, { timeout: 0 }));
  } catch (error) {
    if (process.versions.node.startsWith("20.")) throw error;
    const { DatabaseSync } = require("node:sqlite");
    return nodeSqlite(new DatabaseSync(file, { timeout: 0 }));
  }
}

const keys = new FolderKeys(keysFolder, key, openSql);
keys.copyTo(join(root, "below", "copy"));
writeSync(1, "copied\n");
keys.copyTo(join(root, "below", "copy"));
writeSync(1, "copied again\n");
keys.close();
const path = join(root, "restored");
const encryption = { key, keys: keysFolder };
await restoreDirectory(path, openSql, { buckets: 1, encryption, application: undefined, fill: () => undefined });
writeSync(1, "restored\n");
truncateSync(join(path, "buckets", "000.generation"), 3);
await repairDirectory(path, openSql, () => true, { drop: false });
writeSync(1, "repaired\n");
