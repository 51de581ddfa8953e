/**
 * Feeds the data directory given until it is killed, with the built core (`core`; in bulk: `bulk`) or the stand-in
 * (`fake`). Each document has one writer; what it issues (`+`) and what was acknowledged (`=`) is written to standard output at once,
 * so that nothing of it is lost with the process.
 */

import { writeSync } from "node:fs";
import { Core, instantiate } from "@brooklet/core";
import { betterSqlite3 } from "@brooklet/store";
import { DataDirectory } from "@brooklet/store/node";
import Database from "better-sqlite3";
import { LocalCluster } from "../dist/index.js";
import { nodeSurroundings } from "../dist/node/index.js";
import { FakeEngine } from "./fake-engine.mjs";

const [, , path, round, kind] = process.argv;
const encoder = new TextEncoder();
const storage = DataDirectory.open(path, (file) => betterSqlite3(new Database(file, { timeout: 0 })), 2);
const say = (line) => writeSync(1, `${line}\n`);
const onProblem = (problem) => say(`! ${problem instanceof Error ? problem.stack.replaceAll("\n", " ") : problem}`);

const engines = {
  fake: {
    make: () => new FakeEngine(),
    idOf: (_, name) => name,
    bodyOf: (value, padding) => ({ value, padding }),
  },
  core: {
    make: () => new Core({ instantiate, cacheBytes: 4 << 20, onTrap: onProblem }),
    idOf: (key, name) => `id:test:note:${key.replace(":", "=")}:${name}`,
    bodyOf: (value, padding) => ({ fields: { value, padding } }),
  },
};
// `early` acknowledges before the commit, which has to be seen.
const { make, idOf, bodyOf } = engines[{ bulk: "core", early: "fake" }[kind] ?? kind];
const cluster = new LocalCluster({ storage, makeEngine: make, surroundings: nodeSurroundings, onProblem });

async function feed(key, name) {
  const partition = cluster.partition(key);
  const id = idOf(key, name);
  for (let step = 0; ; step += 1) {
    const operation = step % 7 === 6 ? "remove" : "put";
    const value = operation === "put" ? `${round}-${step}` : "-";
    say(`+ ${key} ${name} ${value}`);
    const body = encoder.encode(JSON.stringify(bodyOf(value, value.repeat(step % 400))));
    const request = { kind: operation, rawPath: "", id, create: false, condition: "", body };
    if (kind === "early") say(`= ${key} ${name} ${value}`);
    const outcome = await partition.apply(request, 60_000);
    if (outcome.status !== 200) say(`! ${JSON.stringify(outcome)}`);
    else say(`= ${key} ${name} ${value}`);
  }
}

/** Feeds in bulk: rounds of many operations on one partition, which become segments, and of few, which do not. */
async function feedInBulk(key) {
  for (let step = 0; ; step += 1) {
    const count = step % 3 === 0 ? 20 : 300;
    const values = new Map();
    async function* operations() {
      const lines = [];
      for (let at = 0; at < count; at += 1) {
        const name = `d${(step * 7 + at) % 350}`;
        const isRemove = (step + at) % 7 === 6;
        const value = isRemove ? "-" : `${round}-${step * 400 + at}`;
        values.set(name, value);
        const id = idOf(key, name);
        const put = { put: id, ...bodyOf(value, value.repeat((step * 400 + at) % 400)) };
        lines.push(JSON.stringify(isRemove ? { remove: id } : put));
      }
      say([...values].map(([name, value]) => `+ ${key} ${name} ${value}`).join("\n"));
      yield encoder.encode(lines.join("\n"));
    }
    for await (const told of cluster.feed(operations(), { timeoutMs: 60_000 })) {
      const lines = told.map(({ id, outcome }) => {
        const name = id.slice(id.lastIndexOf(":") + 1);
        return outcome.status === 200 ? `= ${key} ${name} ${values.get(name)}` : `! ${JSON.stringify(outcome)}`;
      });
      say(lines.join("\n"));
    }
  }
}

say("ready");
if (kind === "bulk") for (const key of ["g:a", "g:b", "n:7"]) void feedInBulk(key);
else for (const key of ["g:a", "g:b", "n:7"]) for (let at = 0; at < 40; at += 1) void feed(key, `d${at}`);
