/**
 * `npm run bench:grouping [-- --quick]`: what groups cost beyond the query they belong to, for one group of documents in
 * one thread, and for many over two threads. Every answer is compared with counts made here one by one. The query
 * without groups is measured in the same run, in turns with the others, and is the baseline of all figures.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { random } from "./corpus.mjs";
import { median } from "./goals/figures.mjs";
import { settled } from "./settled.mjs";

const quick = process.argv.includes("--quick");
const TIMEOUT_MS = 600_000;
const SENDERS = 500;
const KINDS = ["invoice", "letter", "note", "order", "receipt"];
const encoder = new TextEncoder();
const SCHEMA = `schema mail { document mail {
  field sender type string { indexing: summary | attribute }
  field kind type string { indexing: summary | attribute }
  field tags type array<string> { indexing: summary | attribute }
  field size type int { indexing: summary | attribute }
  field price type double { indexing: summary | attribute }
  field date type long { indexing: summary | attribute }
} }`;

/** A repeatable stream of whole numbers below a limit. */
function wholeNumbers(seed) {
  const next = random(seed);
  return (limit) => Math.floor(next() * limit);
}

function mail(next) {
  return {
    sender: `sender-${next(SENDERS)}@example.com`,
    kind: KINDS[next(KINDS.length)],
    tags: Array.from({ length: next(4) }, () => `tag-${next(50)}`),
    size: next(100_000),
    price: next(100_000) / 100,
    date: 1_600_000_000 + next(100_000_000),
  };
}

/** Feeds documents into groups, and returns them. */
async function feed(cluster, groups, documents) {
  const mails = [];
  let pending = [];
  const settle = async () => {
    for (const outcome of await Promise.all(pending)) if (outcome.status !== 200) throw new Error(outcome.message);
    pending = [];
  };
  for (let group = 0; group < groups; group += 1) {
    const next = wholeNumbers(group + 1);
    for (let number = 0; number < documents; number += 1) {
      const fields = mail(next);
      mails.push(fields);
      const body = encoder.encode(JSON.stringify({ fields }));
      const id = `id:b:mail:g=g${group}:${number}`;
      const request = { kind: "put", rawPath: "", id, create: false, condition: "", body };
      pending.push(cluster.partition(`g:g${group}`).apply(request, TIMEOUT_MS));
      if (pending.length === 1_024) await settle();
    }
  }
  await settle();
  return mails;
}

/** Groups counted one by one: for each key how many there are, and the sum of their sizes. */
function counted(mails, keysOf) {
  const groups = new Map();
  for (const mail of mails) {
    for (const key of new Set(keysOf(mail))) {
      const group = groups.get(key) ?? { count: 0, sum: 0 };
      group.count += 1;
      group.sum += mail.size;
      groups.set(key, group);
    }
  }
  return groups;
}

/** Compares the first list of an answer with groups counted one by one. */
function check(answer, wanted, number = 0) {
  const root = (answer.root.children ?? []).find(({ id }) => id === `group:root:${number}`);
  const found = root?.children?.[0].children;
  if (found?.length !== wanted.size) throw new Error(`${found?.length} groups instead of ${wanted.size}`);
  for (const { id, value, limits, fields } of found) {
    const group = wanted.get(value ?? limits.from);
    if (group?.count !== fields["count()"] || group.sum !== fields["sum(size)"])
      throw new Error(`${id}: ${JSON.stringify(fields)} instead of ${JSON.stringify(group)}`);
  }
}

const OUTPUT = "each(output(count(), sum(size)))";
const year = ({ date }) => [String(new Date(date * 1_000).getUTCFullYear())];
const QUERIES = [
  { name: "no groups", grouping: "" },
  {
    name: "one level by a string, count and sum",
    grouping: `all(group(sender) max(${SENDERS}) order(-count()) ${OUTPUT})`,
    keys: ({ sender }) => [sender],
    goal: "one",
  },
  {
    name: "by an array of strings",
    grouping: `all(group(tags) max(50) ${OUTPUT})`,
    keys: ({ tags }) => tags,
  },
  { name: "by the year of a date", grouping: `all(group(time.year(date)) max(20) ${OUTPUT})`, keys: year },
  {
    name: "in ranges of one width",
    grouping: `all(group(fixedwidth(size, 5000)) max(20) ${OUTPUT})`,
    keys: ({ size }) => [String(Math.floor(size / 5_000) * 5_000)],
  },
  {
    name: "two levels, with mean and deviation",
    grouping: `all(group(kind) each(output(count(), sum(size)) all(group(sender) max(5) order(-sum(size)) each(output(avg(price), stddev(price))))))`,
    keys: ({ kind }) => [kind],
  },
  {
    name: "four facets at once",
    grouping: ["sender", "kind", "tags", "time.year(date)"]
      .map((by) => `all(group(${by}) max(${SENDERS}) ${OUTPUT})`)
      .join(" | "),
    keys: ({ sender }) => [sender],
  },
  {
    name: "three hits of every kind",
    grouping: `all(group(kind) max(5) each(max(3) output(count(), sum(size)) each(output(summary()))))`,
    keys: ({ kind }) => [kind],
  },
];

function request(scope, grouping, ranking) {
  const properties = [
    scope,
    ["yql", `select * from mail where true limit 0${grouping === "" ? "" : ` | ${grouping}`}`],
    ["ranking", ranking],
    ["timeout", "60s"],
  ];
  return { properties, body: new Uint8Array(0) };
}

/** Measures all queries in turns. */
async function measure(name, { threads, groups, documents, rounds, goals }) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  const cluster = openCluster({ path, threads, buckets: 16, onProblem });
  try {
    await cluster.deploy(packageOf("mail", SCHEMA));
    const mails = await feed(cluster, groups, documents);
    const scope = groups === 1 ? ["streaming.groupname", "g0"] : ["streaming.selection", "true"];
    const ask = (query) => searchOnce(cluster, request(scope, query.grouping, "unranked"), TIMEOUT_MS);
    // Meanwhile the module is compiled by its use.
    let turn = 0;
    await settled(path, groups, () => ask(QUERIES[turn++ % QUERIES.length]));
    const times = QUERIES.map(() => []);
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, query] of QUERIES.entries()) {
        const start = performance.now();
        const answer = await ask(query);
        times[index].push(performance.now() - start);
        if (round > 0) continue;
        const body = JSON.parse(new TextDecoder().decode(answer.body));
        if (body.root.fields?.totalCount !== groups * documents) throw new Error(JSON.stringify(body.root));
        if (query.keys) check(body, counted(mails, query.keys));
      }
    }
    const baseline = median(times[0]);
    process.stdout.write(`${name}: the query alone takes ${baseline.toFixed(3)} ms\n`);
    for (const [index, query] of QUERIES.entries()) {
      if (index === 0) continue;
      const [whole, best] = [median(times[index]), Math.min(...times[index])];
      const goal = goals[query.goal];
      const value = goal?.beyond ? whole - baseline : whole;
      const told = goal
        ? ` (goal ${goal.ms} ms${goal.beyond ? " beyond the query" : ""}: ${value <= goal.ms ? "met" : "MISSED"})`
        : "";
      process.stdout.write(
        `  ${query.name}: p50 ${whole.toFixed(3)} ms, best ${best.toFixed(3)}, ${(whole - baseline).toFixed(3)} ms beyond the query, ` +
          `${(((whole - baseline) * 1e6) / (groups * documents)).toFixed(1)} ns a document${told}\n`,
      );
    }
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

await measure("10,000 documents of one group, one thread", {
  threads: 0,
  groups: 1,
  documents: 10_000,
  rounds: quick ? 60 : 300,
  goals: { one: { ms: 1, beyond: true } },
});
const groups = quick ? 16 : 100;
await measure(`${groups * 10_000} documents of ${groups} groups, two threads`, {
  threads: 2,
  groups,
  documents: 10_000,
  rounds: quick ? 10 : 30,
  goals: quick ? {} : { one: { ms: 100 } },
});
