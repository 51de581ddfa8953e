/**
 * `npm run bench:vectors [-- --quick]`: exact nearest neighbours, 384 dimensions of bfloat16, top 10, one thread.
 * Every answer is compared with a plain scan written here; every figure stands beside what the same processor reads
 * from memory in the same run, so that runs on different machines (or days) can be compared.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { hex, random, vector } from "./corpus.mjs";
import { median } from "./goals/figures.mjs";

const DIMENSIONS = 384;
const TOP = 10;
const TIMEOUT_MS = 600_000;
const WARM_MS = 9_000;
/** Every such answer is compared with a plain scan. */
const CHECKED = 7;
const quick = process.argv.includes("--quick");
const encoder = new TextEncoder();
const SCHEMA = `schema doc {
  document doc {
    field number type int { indexing: summary | attribute }
    field tenth type int { indexing: attribute }
    field thousandth type int { indexing: attribute }
    field vector type tensor<bfloat16>(x[${DIMENSIONS}]) {
      indexing: summary | attribute
      attribute { distance-metric: angular }
    }
  }
  rank-profile near {
    inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }
    first-phase { expression: closeness(field, vector) }
  }
}`;

/** Bytes a second that one thread reads from memory: the larger half of what a comparison of two buffers touches. */
function memoryBandwidth() {
  const left = Buffer.alloc(192 << 20, 1);
  const right = Buffer.alloc(192 << 20, 1);
  const rates = [];
  for (let round = 0; round < 7; round += 1) {
    const start = performance.now();
    if (left.compare(right) !== 0) throw new Error("two equal buffers differ");
    rates.push((2 * left.length) / ((performance.now() - start) / 1_000));
  }
  return median(rates);
}

async function feed(cluster, groups, documents) {
  const vectors = [];
  for (let group = 0; group < groups; group += 1) {
    const next = random(group + 1);
    const ofGroup = [];
    let pending = [];
    for (let number = 0; number < documents; number += 1) {
      const cells = vector(next, DIMENSIONS);
      ofGroup.push(cells);
      const id = `id:b:doc:g=g${group}:${String(number).padStart(7, "0")}`;
      const body = encoder.encode(
        `{"fields":{"number":${number},"tenth":${number % 10},"thousandth":${number % 1_000},"vector":{"values":"${hex(cells)}"}}}`,
      );
      const request = { kind: "put", rawPath: "", id, create: false, condition: "", body };
      pending.push(cluster.partition(`g:g${group}`).apply(request, TIMEOUT_MS));
      if (pending.length === 256) {
        await check(pending);
        pending = [];
      }
    }
    await check(pending);
    vectors.push(ofGroup);
  }
  return vectors;
}

async function check(pending) {
  for (const outcome of await Promise.all(pending))
    if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
}

/** The nearest documents that a filter keeps, by a plain scan in double precision. */
function plainScan(vectors, query, keeps = () => true) {
  const norm = (cells) => Math.sqrt(cells.reduce((sum, cell) => sum + cell * cell, 0));
  const length = norm(query);
  const scored = vectors.map((cells, number) => {
    let dot = 0;
    for (let i = 0; i < DIMENSIONS; i += 1) dot += cells[i] * query[i];
    return [dot / (norm(cells) * length), number];
  });
  const kept = scored.filter(([, number]) => keeps(number));
  return kept.sort((a, b) => b[0] - a[0]).slice(0, TOP);
}

async function search(cluster, group, query, filter = "") {
  const properties = [
    ["streaming.groupname", `g${group}`],
    ["yql", `select number from doc where {targetHits:${TOP}}nearestNeighbor(vector,q)${filter}`],
    ["ranking", "near"],
    ["input.query(q)", hex(query)],
    ["timeout", "60s"],
  ];
  return searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
}

async function measure(name, { groups, documents, cacheBytes, queries, target, unit, filters = [] }) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  let cluster = openCluster({ path, threads: 0, cacheBytes, onProblem });
  try {
    await cluster.deploy(packageOf("doc", SCHEMA));
    const start = performance.now();
    const vectors = await feed(cluster, groups, documents);
    const feedRate = (groups * documents) / ((performance.now() - start) / 1_000);
    // Opened anew: the log is empty, nothing is resident.
    await cluster.close();
    cluster = openCluster({ path, threads: 0, cacheBytes, onProblem });
    const next = random(4_711);
    const latencies = [];
    let bytesRead = 0;
    // The tails are folded when they were quiet for some seconds, and the module is compiled by its use.
    const warmUntil = performance.now() + WARM_MS;
    for (let turn = 0; performance.now() < warmUntil; turn += 1)
      await search(cluster, turn % groups, vector(next, DIMENSIONS));
    const asked = Array.from({ length: queries }, () => vector(next, DIMENSIONS));
    const answers = [];
    for (const [turn, query] of asked.entries()) {
      const begin = performance.now();
      const answer = await search(cluster, turn % groups, query);
      latencies.push(performance.now() - begin);
      bytesRead += answer.bytesRead;
      if (turn % CHECKED === 0) answers.push({ group: turn % groups, query, body: answer.body });
    }
    // Not in between: a plain scan would drive everything out of the processor's caches.
    for (const { group, query, body } of answers) {
      compare(JSON.parse(new TextDecoder().decode(body)), plainScan(vectors[group], query));
    }
    const ms = median(latencies);
    const rate = documents / (ms / 1_000);
    const gigabytes = (documents * (DIMENSIONS + 16)) / (ms / 1_000) / 1e9;
    const p99 = [...latencies].sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)];
    report(name, {
      ms,
      p99,
      rate,
      gigabytes,
      queriesPerSecond: 1_000 / ms,
      bytesRead: bytesRead / queries,
      feedRate,
      target,
      unit,
    });
    for (const filter of filters) await measureFilter(name, cluster, vectors, asked, filter);
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

/** The same queries with a filter and without, in turns: a ratio of the processor's time. */
async function measureFilter(name, cluster, vectors, asked, { of, where, keeps, most }) {
  const cpu = [0, 0];
  const answers = [];
  for (const [turn, query] of asked.entries()) {
    const group = turn % vectors.length;
    for (const [side, filter] of ["", ` and ${where}`].entries()) {
      const before = process.cpuUsage();
      const answer = await search(cluster, group, query, filter);
      const { user, system } = process.cpuUsage(before);
      cpu[side] += user + system;
      if (side === 1 && turn % CHECKED === 0) answers.push({ group, query, body: answer.body });
    }
  }
  for (const { group, query, body } of answers) {
    const left = plainScan(vectors[group], query, keeps);
    compare(JSON.parse(new TextDecoder().decode(body)), left);
  }
  const ratio = cpu[1] / cpu[0];
  process.stdout.write(
    `${name}, a filter of ${of}: ${ratio.toFixed(2)} times the processor's time of no filter ` +
      `(goal ${most}: ${ratio <= most ? "met" : "MISSED"})\n`,
  );
}

function compare(answer, expected) {
  const found = (answer.root.children ?? []).map((hit) => hit.fields.number);
  const wanted = expected.map(([, number]) => number);
  if (found.join() !== wanted.join()) {
    // Sums of 32 bits may order what differs in the last digits only otherwise than sums of 64.
    const spread = expected[0][0] - expected.at(-1)[0];
    const same = found.length === wanted.length && found.every((number) => wanted.includes(number));
    if (!same)
      throw new Error(
        `wrong answer: ${found} instead of ${wanted} (spread ${spread}): ${JSON.stringify(answer.root.errors ?? "")}`,
      );
  }
}

let bandwidth = 0;
function report(name, figures) {
  const { ms, p99, rate, gigabytes, queriesPerSecond, bytesRead, feedRate, target, unit } = figures;
  const value = unit === "queries/s" ? queriesPerSecond : rate;
  const shown = unit === "queries/s" ? `${Math.round(value)} queries/s` : `${(value / 1e6).toFixed(2)} M documents/s`;
  const goal = unit === "queries/s" ? `${target} queries/s` : `${target / 1e6} M documents/s`;
  process.stdout.write(
    `${name}: p50 ${ms.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms, ${shown} (goal ${goal}: ${value >= target ? "met" : "MISSED"}), ` +
      `${gigabytes.toFixed(2)} GB/s of codes = ${((100 * gigabytes * 1e9) / bandwidth).toFixed(0)} % of memory bandwidth, ` +
      `${Math.round(bytesRead)} bytes read a query, fed at ${Math.round(feedRate)}/s\n`,
  );
}

bandwidth = memoryBandwidth();
process.stdout.write(`memory bandwidth (one thread, comparing buffers): ${(bandwidth / 1e9).toFixed(1)} GB/s\n`);
const scale = quick ? 1 : 4;
await measure("resident, groups of 10,000", {
  groups: 2 * scale,
  documents: 10_000,
  cacheBytes: 200 << 20,
  queries: 60 * scale,
  target: 10e6,
  filters: [
    {
      of: "10 %, documents that follow each other",
      where: "number < 1000",
      keeps: (number) => number < 1_000,
      most: 0.35,
    },
    { of: "10 %, every tenth document", where: "tenth = 3", keeps: (number) => number % 10 === 3, most: 0.35 },
    { of: "one in a thousand", where: "thousandth = 3", keeps: (number) => number % 1_000 === 3, most: 0.35 },
  ],
});
await measure("page cache, groups of 10,000", {
  groups: 2 * scale,
  documents: 10_000,
  cacheBytes: 0,
  queries: 60 * scale,
  target: 4e6,
});
await measure("resident, groups of 1,000", {
  groups: 10 * scale,
  documents: 1_000,
  cacheBytes: 200 << 20,
  queries: 500 * scale,
  target: 5_000,
  unit: "queries/s",
});
