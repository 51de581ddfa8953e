/**
 * `npm run bench [-- NAME…]`: runs the definitions beside this file against a cluster in a temporary directory, and
 * prints one line of CSV for each: operations a second, and the latency of one. Every answer is checked.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";

const SCHEMA = `schema note { document note {
  field title type string { indexing: summary | index }
  field body type string { indexing: summary | index }
} }`;
const TIMEOUT_MS = 60_000;
const encoder = new TextEncoder();
const folder = new URL("definitions/", import.meta.url);

const asked = process.argv.slice(2);
const definitions = readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")));
process.stdout.write("name,threads,operations,per_second,p50_ms,p99_ms\n");
for (const definition of definitions.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  for (const threads of [0, 1]) process.stdout.write(`${await run(definition, threads)}\n`);
}

/** Runs one definition in a directory of its own. */
async function run(definition, threads) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const cluster = openCluster({ path, threads, onProblem: (problem) => process.stderr.write(`${problem}\n`) });
  try {
    await cluster.deploy(packageOf("note", SCHEMA));
    const { operations, concurrency, documents = 0 } = definition;
    await drive(documents, 256, (index) => put(cluster, "g0", index));
    const operation = definition.operation === "put" ? put : get;
    const start = performance.now();
    const step = (index) =>
      operation(cluster, `g${index % definition.groups}`, documents > 0 ? (index * 7_919) % documents : index);
    const latencies = await drive(operations, concurrency, step);
    const seconds = (performance.now() - start) / 1_000;
    const at = (share) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))].toFixed(3);
    return [definition.name, threads, operations, Math.round(operations / seconds), at(0.5), at(0.99)].join(",");
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

/** Runs `count` steps, `concurrency` at a time, and returns their latencies in order of length. */
async function drive(count, concurrency, step) {
  const latencies = [];
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      const start = performance.now();
      await step(index);
      latencies.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, count) }, worker));
  return latencies.sort((left, right) => left - right);
}

async function put(cluster, group, index) {
  const fields = { title: `Note ${index}`, body: `this is note number ${index} about topic ${index % 17}` };
  const body = encoder.encode(JSON.stringify({ fields }));
  const request = { kind: "put", rawPath: "", id: idOf(group, index), create: false, condition: "", body };
  const outcome = await cluster.partition(`g:${group}`).apply(request, TIMEOUT_MS);
  if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
}

async function get(cluster, group, index) {
  const request = { rawPath: "", id: idOf(group, index), fieldSet: "", tensorFormat: "" };
  const { status, body } = await cluster.partition(`g:${group}`).get(request, TIMEOUT_MS);
  if (status !== 200 || !new TextDecoder().decode(body).includes(`"Note ${index}"`))
    throw new Error(`${index}: ${status}`);
}

function idOf(group, index) {
  return `id:bench:note:g=${group}:${index}`;
}
