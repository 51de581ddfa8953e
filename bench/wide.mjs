/**
 * `npm run bench:wide [-- --quick] [--documents N] [--threads N] [--times N]`: one query over very many small groups. What a group costs beyond its documents is the
 * figure: each is a search of its own, begun, driven and merged. The same documents in one group are searched in the same
 * run, in turns, and are the baseline. Every answer is compared with counts made here.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { median } from "./goals/figures.mjs";
import { rested, settled } from "./settled.mjs";

const { values: asked } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    documents: { type: "string", default: "2" },
    threads: { type: "string" },
    times: { type: "string", default: "1" },
  },
});
const { quick } = asked;
const TIMEOUT_MS = 600_000;
const GROUPS = quick ? 2_000 : 10_000;
/** Documents of a group. */
const DOCUMENTS = Number(asked.documents);
const THREADS = asked.threads === undefined ? [0, 2] : [Number(asked.threads)];
const encoder = new TextEncoder();
const SCHEMA = `schema mail { document mail {
  field subject type string { indexing: summary | index }
  field size type int { indexing: summary | attribute }
} rank-profile large { first-phase { expression: attribute(size) } } }`;
const WORDS = ["invoice", "letter", "order", "receipt", "lease"];

const sizeOf = (number) => (number * 7_919) % 100_003;
const subjectOf = (number) => `${WORDS[number % WORDS.length]} ${WORDS[(number >> 3) % WORDS.length]}`;

/** Feeds the documents into so many groups. */
async function feed(cluster, groups) {
  let pending = [];
  const put = async (group, number) => {
    const fields = { subject: subjectOf(number), size: sizeOf(number) };
    const body = encoder.encode(JSON.stringify({ fields }));
    const id = `id:mail:mail:g=${group}:${number}`;
    pending.push(
      cluster.partition(`g:${group}`).apply({ kind: "put", rawPath: "", id, condition: "", body }, TIMEOUT_MS),
    );
    if (pending.length < 1_000) return;
    for (const outcome of await Promise.all(pending)) if (outcome.status !== 200) throw new Error(outcome.message);
    pending = [];
  };
  for (let number = 0; number < GROUPS * DOCUMENTS; number += 1) {
    await put(`u${number % groups}`, number);
  }
  for (const outcome of await Promise.all(pending)) if (outcome.status !== 200) throw new Error(outcome.message);
}

const QUERIES = [
  { name: "everything", where: "true", matches: () => true },
  { name: "a word", where: 'subject contains "invoice"', matches: (number) => subjectOf(number).includes("invoice") },
];

function request({ where }) {
  const properties = [
    ["streaming.selection", "true"],
    ["yql", `select * from mail where ${where} limit 10`],
    ["ranking", "large"],
    ["timeout", "60s"],
  ];
  return { properties, body: new Uint8Array(0) };
}

function check(answer, { matches }) {
  const { root } = JSON.parse(new TextDecoder().decode(answer.body));
  const numbers = Array.from({ length: GROUPS * DOCUMENTS }, (_, number) => number).filter(matches);
  const best = numbers.map(sizeOf).toSorted((a, b) => b - a);
  const found = (root.children ?? []).map(({ relevance }) => relevance);
  if (root.fields?.totalCount !== numbers.length || found.some((size, place) => size !== best[place])) {
    throw new Error(JSON.stringify(root).slice(0, 2_000));
  }
}

/** A cluster with the documents in so many groups, that is at rest. */
async function opened(threads, groups) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  const cluster = openCluster({ path, threads, buckets: 16, onProblem });
  await cluster.deploy(packageOf("mail", SCHEMA));
  await feed(cluster, groups);
  // Many documents of one group are several segments.
  if (groups === 1) await rested(path, 10);
  else await settled(path, groups, () => new Promise((resolve) => setTimeout(resolve, 100)));
  const close = async () => {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  };
  return { ask: (query) => searchOnce(cluster, request(query), TIMEOUT_MS), close };
}

for (const threads of THREADS) {
  const clusters = [await opened(threads, 1), await opened(threads, GROUPS)];
  try {
    for (const query of Array.from({ length: Number(asked.times) }, () => QUERIES).flat()) {
      const [times, cpu] = [clusters.map(() => []), clusters.map(() => [])];
      for (let round = 0; round < (quick ? 8 : 15); round += 1) {
        for (const [index, cluster] of clusters.entries()) {
          const [start, used] = [performance.now(), process.cpuUsage()];
          const answer = await cluster.ask(query);
          times[index].push(performance.now() - start);
          const { user, system } = process.cpuUsage(used);
          cpu[index].push((user + system) / 1_000);
          if (round === 0) check(answer, query);
        }
      }
      const [one, all] = times.map(median);
      const [, allCpu] = cpu.map(median);
      process.stdout.write(
        `${query.name}, ${threads} threads: ${GROUPS} groups p50 ${all.toFixed(1)} ms (processor ${allCpu.toFixed(1)}), ` +
          `one group ${one.toFixed(2)} ms, ${(((all - one) * 1_000) / GROUPS).toFixed(2)} µs a group\n`,
      );
    }
  } finally {
    for (const { close } of clusters) await close();
  }
}
