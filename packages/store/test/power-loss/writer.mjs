/**
 * Writes to a data directory below the recorder, one step after the other, and says each before (`+`) and after it (`=`): the partition
 * and its state, which is how often it was erased and how many operations it has had since. `normal`: commits are not synced.
 */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";
import { betterSqlite3, nodeSqlite, PartitionStore } from "../../dist/index.js";
import { DataDirectory } from "../../dist/node.js";

const [, , path, steps, seed, sabotage] = process.argv;
const require = createRequire(import.meta.url);
const FULL = "PRAGMA synchronous = FULL";

function openSql(file) {
  const sql = openPlain(file);
  if (sabotage !== "normal") return sql;
  return {
    ...sql,
    run: (statement, ...bindings) =>
      sql.run(statement === FULL ? "PRAGMA synchronous = NORMAL" : statement, ...bindings),
    all: (statement, ...bindings) =>
      statement === "PRAGMA synchronous" ? [{ synchronous: 2 }] : sql.all(statement, ...bindings),
  };
}

function openPlain(file) {
  try {
    const Database = require("better-sqlite3");
    return betterSqlite3(new Database(file, { timeout: 0 }));
  } catch (error) {
    if (process.versions.node.startsWith("20.")) throw error;
    const { DatabaseSync } = require("node:sqlite");
    return nodeSqlite(new DatabaseSync(file, { timeout: 0 }));
  }
}

let state = Number(seed);
function random(below) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return Math.floor(((state >>> 0) / 2 ** 32) * below);
}

/** Twelve bytes and more that say which operation it is. */
export function bytesOf(epoch, number) {
  const bytes = new Uint8Array(12 + ((number * 37) % 3_000)).fill(number);
  new DataView(bytes.buffer).setUint32(0, epoch, true);
  new DataView(bytes.buffer).setUint32(4, number, true);
  return bytes;
}

const KEYS = ["g:a", "g:b", "g:c", "g:d"];
const states = new Map(KEYS.map((key) => [key, { epoch: 0, count: 0 }]));
const say = (mark, key) => writeSync(1, `${mark} ${key} ${states.get(key).epoch}:${states.get(key).count}\n`);

/** All of a partition as one segment. */
function changeOf(store, key, step, number) {
  const { epoch, count } = states.get(key);
  const bytes = { header: bytesOf(epoch, count), liveness: bytesOf(1, 1) };
  const blocks = [bytesOf(epoch, count), new Uint8Array(40_000).fill(step)];
  return {
    folded: store.state(key).lastOperation,
    removedSegments: store.manifest(key, 0, 0).segments.map((segment) => segment.number),
    liveness: [],
    newSegments: [{ number, schema: "note", documents: count, ...bytes, blocks }],
  };
}

function run(directory, count) {
  const open = [0, 1].map((bucket) => {
    const sql = directory.openBucket(bucket);
    return { sql, store: new PartitionStore(sql, { bucket, buckets: 2, application: 1 }) };
  });
  for (let step = 0; step < count; step += 1) {
    const at = random(KEYS.length);
    const key = KEYS[at];
    const { sql, store } = open[at % 2];
    const now = states.get(key);
    const what = random(100);
    if (what < 3) {
      states.set(key, { epoch: now.epoch + 1, count: 0 });
      say("+", key);
      store.erase(key);
      while (store.dropErased(1 << 20));
      say("=", key);
    } else if (what < 10 && now.count > 0) {
      say("+", key);
      store.commit(key, changeOf(store, key, step, store.firstFreeSegment), true);
      say("=", key);
    } else if (what < 16) {
      // Those of a bucket, in one commit.
      const keys = KEYS.filter((other, index) => index % 2 === at % 2 && states.get(other).count > 0);
      for (const one of keys) say("+", one);
      const first = store.firstFreeSegment;
      const all = keys.map((one, index) => ({
        key: one,
        change: changeOf(store, one, step, first + index),
        wholly: true,
      }));
      if (all.length > 0) store.commitAll(all);
      for (const one of keys) say("=", one);
    } else if (what < 20) sql.checkpoint(what < 18);
    else {
      const entries = Array.from({ length: 1 + random(3) }, (_, index) => ({
        key,
        bytes: bytesOf(now.epoch, now.count + index + 1),
      }));
      states.set(key, { epoch: now.epoch, count: now.count + entries.length });
      say("+", key);
      store.append(entries);
      say("=", key);
    }
  }
  for (const { sql } of open) sql.close();
}

try {
  for (const part of [0.3, 0.7]) {
    const directory = DataDirectory.open(path, openSql, 2);
    if (part === 0.3) directory.storeApplication({ number: 1, bytes: new Uint8Array(500).fill(7) });
    writeSync(1, `= application\n`);
    run(directory, Math.ceil(Number(steps) * part));
    directory.close();
  }
} catch (error) {
  // A fault was injected: what was said before it holds.
  writeSync(2, `${error.kind ?? error.code}: ${error.message}\n`);
  process.exit(3);
}
