/**
 * `npm run bench:text [-- --quick]`: queries of text over one group of 10,000 documents of 200 words, one segment, resident
 * and from the page cache, one thread, through the shipped core. Every answer is compared with a plain scan written here:
 * how many documents match, and for bm25 which ten are best. Every figure stands beside what the same processor needs,
 * in the same run, to compare every word of the documents with three others, so that runs on different machines (or
 * days) can be compared.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { place, random, word } from "./corpus.mjs";
import { median } from "./goals/figures.mjs";
import { settled } from "./settled.mjs";

const DOCUMENTS = 10_000;
const WORDS = 200;
const VOCABULARY = 28_000;
const TOP = 10;
const TIMEOUT_MS = 600_000;
const ROUNDS = process.argv.includes("--quick") ? 60 : 400;
const encoder = new TextEncoder();
const SCHEMA = `schema doc {
  document doc {
    field body type string { indexing: index }
    field name type string { indexing: attribute }
  }
  rank-profile bm25 { first-phase { expression: bm25(body) } }
}`;

const next = random(7);
const bodies = Array.from({ length: DOCUMENTS }, () =>
  Int32Array.from({ length: WORDS }, () => place(next, VOCABULARY)),
);
const names = Array.from(
  { length: DOCUMENTS },
  () => `${word(place(next, VOCABULARY))}${word(place(next, VOCABULARY))}`,
);
const vocabulary = Array.from({ length: VOCABULARY }, (_, number) => word(number));

/** Documents with a word for which `test` holds. */
function withWord(test) {
  const accepted = new Uint8Array(vocabulary.map((of) => (test(of) ? 1 : 0)));
  return bodies.filter((body) => body.some((number) => accepted[number] === 1)).length;
}

/** Whether two words differ by no more than so many edits, by the whole table. */
function isNear(left, right, most) {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i += 1) {
    const below = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const change = row[j - 1] + (left[i - 1] === right[j - 1] ? 0 : 1);
      below.push(Math.min(change, row[j] + 1, below[j - 1] + 1));
    }
    row = below;
  }
  return row[right.length] <= most;
}

/** The best documents for words in `or`: bm25 with the constants of streaming search, each word counting by `share`. */
function best(numbers, share = 1) {
  const [k1, b, average, idf] = [1.2, 0.75, 100, Math.log(1 + 0.5 / 1.5)];
  const scored = [];
  for (const [document, body] of bodies.entries()) {
    let score = 0;
    for (const number of numbers) {
      const count = body.reduce((sum, other) => sum + (other === number ? 1 : 0), 0);
      if (count > 0)
        score += (share * (idf * (count * (k1 + 1)))) / (count + k1 * (1 - b) + (k1 * b * WORDS) / average);
    }
    if (score > 0) scored.push([score, document]);
  }
  scored.sort((left, right) => right[0] - left[0] || left[1] - right[1]);
  return { total: scored.length, scores: scored.slice(0, TOP).map(([score]) => score) };
}

const contains = (number) => `body contains "${word(number)}"`;
const or = (...numbers) => ({ where: numbers.map(contains).join(" or "), ...best(numbers) });
/** The settings that `schema()` has. */
const DEFAULTS = {
  "brooklet.stemming": "english",
  "brooklet.accents": "ignored",
  "brooklet.typos": "forgiven",
  "brooklet.segmentation": "cjk",
};
/**
 * Three words as a user types them. `written` is what is made of each: a variant of it counts by the share of variants.
 * `plain`: the search of three words that it is compared with, by the processor's time, and how many times that it may cost.
 */
function typed(name, numbers, { written = (of) => of, share = 1, goals, plain, ...settings } = {}) {
  const where = `({grammar: "tokenize", defaultIndex: "body"}userInput("${numbers.map((number) => written(word(number))).join(" ")}"))`;
  return { name, where, settings: { ...DEFAULTS, ...settings }, ...best(numbers, share), goals, plain };
}
/** Words with a letter more, which none of the others has. */
const withSlip = (of) => `${of.slice(0, 3)}q${of.slice(3)}`;
/** The same twice: words that no other is as near to. */
const withTwoSlips = (of) => `${of.slice(0, 3)}q${of.slice(3, 6)}q${of.slice(6)}`;
/** The words that a word begins. */
const begun = (number) => vocabulary.flatMap((of, other) => (of.startsWith(word(number)) ? [other] : []));
function phrase(first, second) {
  const stands = (body) => body.some((number, at) => number === first && body[at + 1] === second);
  const where = `body contains phrase("${word(first)}", "${word(second)}")`;
  return { where, total: bodies.filter(stands).length };
}
const begun150 = new Set(begun(150));
const of300 = word(300);
const queries = [
  { name: "or of 3 rare words, bm25", ...or(2_000, 3_000, 5_000), goals: [0.3, 0.6] },
  { name: "or of 3 medium words, bm25", ...or(150, 250, 400), goals: [0.3, 0.6] },
  { name: "or of 3 common words, bm25", ...or(2, 7, 15), goals: [0.3, 0.6] },
  typed("3 typed rare words, all defaults of schema()", [2_000, 3_000, 5_000], {
    goals: [0.6, 1.2],
    plain: ["or of 3 rare words, bm25", 2],
  }),
  typed("3 typed medium words, all defaults of schema()", [150, 250, 400], {
    goals: [0.6, 1.2],
    plain: ["or of 3 medium words, bm25", 2],
  }),
  typed("3 typed common words, all defaults of schema()", [2, 7, 15], {
    goals: [0.6, 1.2],
    plain: ["or of 3 common words, bm25", 2],
  }),
  typed("3 typed medium words in the plural", [8_150, 8_250, 8_400], {
    written: (of) => `${of}s`,
    share: 0.7,
    plain: ["or of 3 medium words, bm25", 2],
  }),
  // Words that nothing has are looked for again: bounded by the dictionary, not by the documents.
  typed("3 typed medium words with a slip each", [8_150, 8_250, 8_400], {
    written: withSlip,
    share: 0.7,
    goals: [1.2, 4],
    plain: ["or of 3 medium words, bm25", 4],
  }),
  typed("3 typed medium words with two slips each", [8_150, 8_250, 8_400], {
    written: withTwoSlips,
    share: 0.7,
    goals: [4, 10],
    plain: ["or of 3 medium words, bm25", 20],
  }),
  {
    ...typed("a word that is being typed", [150], {
      "brooklet.typing": "true",
      plain: ["or of 3 medium words, bm25", 4],
    }),
    scores: undefined,
    total: bodies.filter((body) => body.some((number) => begun150.has(number))).length,
  },
  { name: "phrase of medium words", ...phrase(100, 200), goals: [1, 1] },
  { name: "phrase of common words", ...phrase(3, 10), goals: [1, 1] },
  {
    name: "prefix",
    where: `body contains ({prefix:true}"${of300.slice(0, 3)}")`,
    total: withWord((of) => of.startsWith(of300.slice(0, 3))),
    goals: [3, 3],
  },
  {
    name: "substring",
    where: `body contains ({substring:true}"${of300.slice(1, 4)}")`,
    total: withWord((of) => of.includes(of300.slice(1, 4))),
    goals: [3, 3],
  },
  {
    name: "fuzzy",
    where: `name contains ({maxEditDistance:2}fuzzy("${names[17]}"))`,
    total: names.filter((of) => isNear(of, names[17], 2)).length,
    goals: [3, 3],
  },
];

/** Milliseconds to compare every word of the documents with three others. */
function plainPass() {
  const all = new Int32Array(DOCUMENTS * WORDS);
  for (const [document, body] of bodies.entries()) all.set(body, document * WORDS);
  const times = [];
  let found = 0;
  for (let round = 0; round < 31; round += 1) {
    const start = performance.now();
    for (let at = 0; at < all.length; at += 1) {
      if (all[at] === 150 || all[at] === 250 || all[at] === 400) found += 1;
    }
    times.push(performance.now() - start);
  }
  if (found === 0) throw new Error("words that are nowhere");
  return median(times);
}

async function feed(cluster) {
  for (let first = 0; first < DOCUMENTS; first += 256) {
    const pending = bodies.slice(first, first + 256).map((body, offset) => {
      const number = first + offset;
      const id = `id:b:doc:g=g:${String(number).padStart(7, "0")}`;
      const fields = { body: Array.from(body, word).join(" "), name: names[number] };
      const request = { kind: "put", rawPath: "", id, create: false, condition: "" };
      return cluster
        .partition("g:g")
        .apply({ ...request, body: encoder.encode(JSON.stringify({ fields })) }, TIMEOUT_MS);
    });
    for (const outcome of await Promise.all(pending))
      if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
  }
}

async function search(cluster, { where, settings = {} }) {
  const properties = [
    ["streaming.groupname", "g"],
    ["yql", `select documentid from doc where ${where}`],
    ["ranking", "bm25"],
    ["timeout", "60s"],
    ...Object.entries(settings).map(([name, value]) => [`ranking.properties.${name}`, value]),
  ];
  return searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
}

function check(query, body) {
  const { root } = JSON.parse(new TextDecoder().decode(body));
  const scores = (root.children ?? []).map((hit) => hit.relevance);
  const same = (score, at) => Math.abs(score - query.scores[at]) < 1e-9;
  const wrong = query.scores !== undefined && !(scores.length === query.scores.length && scores.every(same));
  if (root.fields.totalCount !== query.total || wrong)
    throw new Error(`${query.name}: ${JSON.stringify(root)} instead of ${query.total}, ${query.scores}`);
}

/** Milliseconds of the processor since then. */
function processor(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

async function measure(name, cacheBytes, goal, baseline) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  let cluster = openCluster({ path, threads: 0, cacheBytes, onProblem });
  try {
    await cluster.deploy(packageOf("doc", SCHEMA));
    await feed(cluster);
    // Opened anew: the log is empty, nothing is resident.
    await cluster.close();
    cluster = openCluster({ path, threads: 0, cacheBytes, onProblem });
    // Meanwhile the module is compiled by its use.
    let turn = 0;
    await settled(path, 1, () => search(cluster, queries[turn++ % queries.length]));
    for (const query of queries) {
      const plain = queries.find(({ name }) => name === query.plain?.[0]);
      const latencies = [];
      let [answer, cpu, cpuOfPlain] = [undefined, 0, 0];
      for (let round = 0; round < ROUNDS; round += 1) {
        const start = performance.now();
        const before = process.cpuUsage();
        answer = await search(cluster, query);
        latencies.push(performance.now() - start);
        cpu += processor(before) / ROUNDS;
        // In turns, so that both find the machine as it is.
        const beforePlain = process.cpuUsage();
        if (plain) await search(cluster, plain);
        cpuOfPlain += processor(beforePlain) / ROUNDS;
      }
      check(query, answer.body);
      const share = plain && { times: cpu / cpuOfPlain, plain: plain.name, most: query.plain[1] };
      const figures = { latencies, cpu, baseline, goal: query.goals?.[goal], share };
      report(`${name}, ${query.name}`, figures, query.total, answer.bytesRead);
    }
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

/** The processor's time is told beside the clock's: on a machine that does other work it is the steadier one. */
function report(name, { latencies, cpu, baseline, goal, share }, total, bytesRead) {
  const ms = median(latencies);
  const p99 = [...latencies].sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)];
  const met = goal === undefined ? "" : ` (goal ${goal} ms: ${ms <= goal ? "met" : "MISSED"})`;
  const { times = 0, plain, most } = share ?? {};
  const bound = `${times.toFixed(2)} times that of "${plain}" (goal ${most}: ${times <= most ? "met" : "MISSED"}), `;
  process.stdout.write(
    `${name}: p50 ${ms.toFixed(3)} ms${met}, p99 ${p99.toFixed(3)} ms, ${cpu.toFixed(3)} ms of processor, ${plain ? bound : ""}${(ms / baseline).toFixed(2)} of a plain pass, ` +
      `${total} documents, ${bytesRead} bytes read a query\n`,
  );
}

const baseline = plainPass();
process.stdout.write(`a plain pass over ${DOCUMENTS * WORDS} word numbers, in JavaScript: ${baseline.toFixed(3)} ms\n`);
await measure("resident", 200 << 20, 0, baseline);
await measure("page cache", 0, 1, baseline);
