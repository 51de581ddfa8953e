/**
 * Feeds the data directory given until it is killed. Each document has one writer; what it issues (`+`) and what was
 * acknowledged (`=`) is written to standard output at once, so that nothing of it is lost with the process.
 */
import { writeSync } from "node:fs";
import { betterSqlite3 } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { LocalCluster } from "../dist/index.js";
import { FakeEngine } from "./fake-engine.mjs";

const [, , path, round] = process.argv;
const encoder = new TextEncoder();
const storage = DataDirectory.open(path, (file) => betterSqlite3(new Database(file, { timeout: 0 })), 2);
const cluster = new LocalCluster({ storage, makeEngine: () => new FakeEngine() });
const say = (line) => writeSync(1, `${line}\n`);

async function feed(key, id) {
  const partition = cluster.partition(key);
  for (let step = 0; ; step += 1) {
    const kind = step % 7 === 6 ? "remove" : "put";
    const value = kind === "put" ? `${round}-${step}` : "-";
    say(`+ ${key} ${id} ${value}`);
    const body = encoder.encode(JSON.stringify({ value, padding: value.repeat(step % 400) }));
    const outcome = await partition.apply({ kind, rawPath: "", id, create: false, condition: "", body }, 60_000);
    if (outcome.status !== 200) say(`! ${JSON.stringify(outcome)}`);
    else say(`= ${key} ${id} ${value}`);
  }
}

say("ready");
for (const key of ["g:a", "g:b", "n:7"]) for (let id = 0; id < 40; id += 1) void feed(key, `d${id}`);
