/**
 * `npm run bench:ranking [-- --quick]`: what ranking costs. A hybrid profile and one of ten features over 10,000 documents beside
 * the nearest-neighbour query alone, a model of decision trees beside the sum of its inputs, and max-sim over the vectors of
 * tokens beside the plain kernel of dot products.
 * Every figure is a ratio within one run; every answer is compared with formulas written here.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { hex, place, random, vector, word } from "./corpus.mjs";
import { median, processorMs } from "./goals/figures.mjs";

const quick = process.argv.includes("--quick");
const TIMEOUT_MS = 600_000;
const TOP = 10;
const NOW = 1_700_000_000;
const encoder = new TextEncoder();

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

/** Opens a cluster of one schema, feeds it, and opens it anew once its documents are folded. */
async function opened(schema, documents, bodyOf, run, models = []) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-bench-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  const open = () => openCluster({ path, threads: 0, cacheBytes: 200 << 20, onProblem });
  let cluster = open();
  try {
    await cluster.deploy(packageOf("doc", schema, models));
    for (let first = 0; first < documents; first += 256) {
      const numbers = Array.from({ length: Math.min(256, documents - first) }, (_, at) => first + at);
      const outcomes = await Promise.all(numbers.map((number) => put(cluster, number, bodyOf(number))));
      for (const outcome of outcomes) if (outcome.status !== 200) throw new Error(JSON.stringify(outcome));
    }
    await cluster.close();
    cluster = open();
    return await run(cluster);
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

function put(cluster, number, fields) {
  const id = `id:b:doc:g=u:${String(number).padStart(7, "0")}`;
  const body = encoder.encode(`{"fields":${fields}}`);
  return cluster
    .partition("g:u")
    .apply({ kind: "put", rawPath: "", id, create: false, condition: "", body }, TIMEOUT_MS);
}

async function search(cluster, properties) {
  const all = [["streaming.groupname", "u"], ["timeout", "60s"], ["ranking.freshness", String(NOW)], ...properties];
  const answer = await searchOnce(cluster, { properties: all, body: new Uint8Array(0) }, TIMEOUT_MS);
  return answer.body;
}

function parsed(body) {
  const answer = JSON.parse(new TextDecoder().decode(body));
  if (answer.root.errors) throw new Error(JSON.stringify(answer.root.errors));
  return answer.root;
}

/** A query of one kind. */
const ask = (cluster, kind, turn) => search(cluster, kind.properties(turn));

/**
 * Processor times of several kinds, in turn, so that what disturbs one disturbs all: for each kind its median in milliseconds
 * (`ms`) and the median of what it takes as a multiple of the first kind of the same turn (`ratio`). A kind is a query, or
 * something else that is done (`act`).
 */
async function inTurn(cluster, kinds, queries, warmMs) {
  const warmUntil = performance.now() + warmMs;
  for (let turn = 0; performance.now() < warmUntil; turn += 1)
    for (const kind of kinds) await (kind.act ?? ask)(cluster, kind, turn % queries);
  const times = kinds.map(() => []);
  for (let turn = 0; turn < queries; turn += 1)
    for (const [at, kind] of kinds.entries()) {
      const start = processorMs();
      const body = await (kind.act ?? ask)(cluster, kind, turn);
      times[at].push(processorMs() - start);
      if (turn % 8 === 0) kind.check(body, turn);
    }
  return times.map((of) => ({ ms: median(of), ratio: median(of.map((time, turn) => time / times[0][turn])) }));
}

/** Requires the hits of an answer to be the best documents by these scores (by number), in their order, with them. */
function checkBest(root, scores, what) {
  const best = [...scores.entries()].filter(([, score]) => score !== undefined);
  best.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const hits = root.children ?? [];
  if (root.fields.totalCount !== best.length)
    throw new Error(`${what}: ${root.fields.totalCount} hits instead of ${best.length}`);
  if (hits.length !== Math.min(TOP, best.length)) throw new Error(`${what}: ${hits.length} hits`);
  for (const [at, hit] of hits.entries()) {
    const [, wanted] = best[at];
    const own = scores[hit.fields.number];
    for (const score of [own, wanted])
      if (!(Math.abs(hit.relevance - score) <= 2e-5 * Math.max(1, Math.abs(score))))
        throw new Error(`${what}: hit ${at} (${hit.fields.number}) has ${hit.relevance}, not ${score}`);
  }
}

// ---------------------------------------------------------------------------------------------- hybrid, ten features

const DIMENSIONS = 384;
const DOCUMENTS = 10_000;
const VOCABULARY = 20_000;
/** Places of the three words of a query in the order of frequency: each stands in one to four of a hundred documents. */
const PLACES = [150, 250, 400];
const MIX = `schema doc {
  document doc {
    field number type int { indexing: summary | attribute }
    field title type string { indexing: summary | index }
    field text type string { indexing: summary | index }
    field time type long { indexing: summary | attribute }
    field rating type float { indexing: summary | attribute }
    field reads type int { indexing: summary | attribute }
    field vector type tensor<bfloat16>(x[${DIMENSIONS}]) {
      indexing: summary | attribute
      attribute { distance-metric: angular }
    }
  }
  fieldset default { fields: title, text }
  rank-profile near {
    inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }
    first-phase { expression: closeness(field, vector) }
  }
  rank-profile hybrid inherits near {
    first-phase { expression: 2 * closeness(field, vector) + bm25(text) + 0.5 * freshness(time) + 0.1 * attribute(rating) }
  }
  rank-profile ten inherits near {
    first-phase {
      expression {
        2 * closeness(field, vector) + bm25(text) + 1.5 * bm25(title) + 0.5 * freshness(time) + 0.1 * attribute(rating)
        + 0.01 * log10(1 + attribute(reads)) + nativeFieldMatch(title) + textSimilarity(title) + 0.1 * matchCount(text)
        - 0.001 * min(fieldLength(title), 100)
      }
    }
  }
}`;

function mixedDocuments() {
  const next = random(3);
  const words = (count) => Array.from({ length: count }, () => word(place(next, VOCABULARY)));
  return Array.from({ length: DOCUMENTS }, () => ({
    title: words(4 + Math.floor(next() * 6)),
    text: words(30 + Math.floor(next() * 60)),
    time: NOW - Math.floor(next() * 10_000_000),
    rating: Math.fround(next() * 5),
    reads: Math.floor(next() * 1_000),
    vector: vector(next, DIMENSIONS),
  }));
}

const IDF = Math.log(1 + 0.5 / 1.5);

function bm25(tokens, terms) {
  let score = 0;
  for (const term of terms) {
    const count = tokens.filter((token) => token === term).length;
    const norm = 1.2 * (0.25 + (0.75 * tokens.length) / 100);
    if (count > 0) score += (IDF * count * 2.2) / (count + norm);
  }
  return score;
}

/** nativeFieldMatch over one field by its formula, with the tables of rank-type `about`. */
function nativeFieldMatch(tokens, terms) {
  const first = (x) => 8_000 * Math.exp(-x / 12.5);
  const count = (x) => 1_500 * Math.log(1 + x / 19) + 4_000;
  const largest = 0.5 * first(0) + 0.5 * count(255);
  const length = Math.max(6, tokens.length);
  let score = 0;
  for (const term of terms) {
    const at = tokens.indexOf(term);
    if (at < 0) continue;
    const times = tokens.filter((token) => token === term).length;
    const place = Math.min(255, Math.floor((at * 255) / (length - 1)));
    const number = Math.min(255, Math.floor((times * 255) / length));
    score += (0.5 * first(place) + 0.5 * count(number)) / largest;
  }
  return score / terms.length;
}

/** textSimilarity by its formula, for a query of distinct words of equal weight. */
function textSimilarity(tokens, terms) {
  const taken = [];
  let last = -1;
  const places = tokens.map((token) => terms.indexOf(token));
  const seen = new Set();
  for (const [position, term] of places.entries()) {
    if (term < 0 || seen.has(term) || position <= last) continue;
    seen.add(term);
    taken.push([position, term]);
    last = position;
  }
  if (taken.length === 0) return 0;
  const near = (distance) => (distance > 8 ? 0 : 1 - ((distance - 1) / 8) ** 2);
  let proximity = 0;
  let order = 0;
  for (let at = 1; at < taken.length; at += 1) {
    proximity += near(taken[at][0] - taken[at - 1][0]);
    if (taken[at][1] > taken[at - 1][1]) order += 1;
  }
  const single = taken.length === 1;
  proximity = single ? near(tokens.length) : proximity / (taken.length - 1);
  if (single) order = terms.length === 1 ? 1 : 0;
  else order /= taken.length - 1;
  const matches = Math.min(tokens.length, taken.length);
  return 0.35 * proximity + 0.15 * order + (0.3 * taken.length) / terms.length + (0.2 * matches) / tokens.length;
}

/** The features of a document for a query. */
function features(document, terms, query) {
  const { title, text, time, rating, reads } = document;
  const cosine = dot(document.vector, query) / Math.sqrt(dot(document.vector, document.vector) * dot(query, query));
  const inText = terms.filter((term) => text.includes(term)).length;
  const inTitle = terms.some((term) => title.includes(term));
  return {
    matches: inText > 0 || inTitle,
    cosine,
    closeness: 1 / (1 + Math.acos(Math.min(1, Math.max(-1, cosine)))),
    bm25Text: bm25(text, terms),
    bm25Title: bm25(title, terms),
    freshness: Math.max(0, 1 - (NOW - time) / 7_776_000),
    rating,
    reads,
    nativeFieldMatch: nativeFieldMatch(title, terms),
    textSimilarity: textSimilarity(title, terms),
    matchCount: inText,
    fieldLength: inTitle ? title.length : 1_000_000,
  };
}

const SCORES = {
  near: (f) => f.closeness,
  hybrid: (f) => 2 * f.closeness + f.bm25Text + 0.5 * f.freshness + 0.1 * f.rating,
  ten: (f) =>
    SCORES.hybrid(f) +
    1.5 * f.bm25Title +
    0.01 * Math.log10(1 + f.reads) +
    f.nativeFieldMatch +
    f.textSimilarity +
    0.1 * f.matchCount -
    0.001 * Math.min(f.fieldLength, 100),
};

async function mixed() {
  const documents = mixedDocuments();
  const bodyOf = (number) => {
    const { title, text, time, rating, reads, vector: cells } = documents[number];
    const fields = { number, title: title.join(" "), text: text.join(" "), time, rating, reads };
    return `${JSON.stringify(fields).slice(0, -1)},"vector":{"values":"${hex(cells)}"}}`;
  };
  const queries = quick ? 40 : 160;
  const next = random(99);
  const asked = Array.from({ length: queries }, () => {
    const places = PLACES.map((place) => place + Math.floor(next() * 50));
    return { terms: places.map(word), vector: vector(next, DIMENSIONS) };
  });
  const said = ({ terms }) => terms.map((term) => `default contains "${term}"`).join(" or ");
  const kind = (profile, condition, targetHits, matchesAll) => ({
    name: `${profile}, ${condition(asked[0]).slice(0, 4) === "rank" ? "all documents" : "neighbours or words"}`,
    properties: (turn) => [
      ["yql", `select number from doc where ${condition(asked[turn], targetHits)}`],
      ["ranking", profile],
      ["input.query(q)", hex(asked[turn].vector)],
    ],
    check: (body, turn) => {
      const root = parsed(body);
      const of = documents.map((document) => features(document, asked[turn].terms, asked[turn].vector));
      const cosines = of.map(({ cosine }) => cosine).sort((a, b) => b - a);
      const matches = (f) => matchesAll(f) || f.cosine >= cosines[targetHits - 1];
      checkBest(
        root,
        of.map((f) => (matches(f) ? SCORES[profile](f) : undefined)),
        profile,
      );
    },
  });
  const near = (_, hits) => `{targetHits:${hits}}nearestNeighbor(vector,q)`;
  const either = (query, hits) => `${near(query, hits)} or ${said(query)}`;
  const all = (query, hits) => `rank(true, ${near(query, hits)}, ${said(query)})`;
  const kinds = [
    kind("near", near, TOP, () => false),
    kind("hybrid", either, 100, (f) => f.matches),
    kind("ten", either, 100, (f) => f.matches),
    kind("hybrid", all, 100, () => true),
    kind("ten", all, 100, () => true),
  ];
  const goals = [1, 2, 6, undefined, undefined];
  await opened(MIX, DOCUMENTS, bodyOf, async (cluster) => {
    const times = await inTurn(cluster, kinds, queries, quick ? 8_000 : 12_000);
    for (const [at, { name }] of kinds.entries()) {
      const { ms, ratio } = times[at];
      const goal = goals[at] === undefined ? "" : ` (goal ≤ ${goals[at]}: ${ratio <= goals[at] ? "met" : "MISSED"})`;
      process.stdout.write(`${name}: p50 ${ms.toFixed(3)} ms, ${ratio.toFixed(2)} × the neighbours alone${goal}\n`);
    }
  });
}

// ---------------------------------------------------------------------------------------------------------- trees

const TREES = 200;
const LEAVES = 31;
const INPUTS = 20;
const INPUT_NAMES = Array.from({ length: INPUTS }, (_, at) => `attribute(a${at})`);
const FOREST = `schema doc {
  document doc {
    field number type int { indexing: summary | attribute }
${INPUT_NAMES.map((_, at) => `    field a${at} type float { indexing: attribute }`).join("\n")}
  }
  rank-profile sum { first-phase { expression: ${INPUT_NAMES.join(" + ")} } }
  rank-profile trees { first-phase { expression: lightgbm("trees.json") } }
}`;

/** A tree as LightGBM dumps it, which grew leaf by leaf. */
function tree(next) {
  const root = { leaf_value: next() - 0.5 };
  const leaves = [root];
  while (leaves.length < LEAVES) {
    const [split] = leaves.splice(Math.floor(next() * leaves.length), 1);
    delete split.leaf_value;
    split.split_feature = Math.floor(next() * INPUTS);
    split.threshold = next();
    split.decision_type = "<=";
    split.left_child = { leaf_value: next() - 0.5 };
    split.right_child = { leaf_value: next() - 0.5 };
    leaves.push(split.left_child, split.right_child);
  }
  return { tree_structure: root };
}

function leafOf(node, inputs) {
  if (node.leaf_value !== undefined) return node.leaf_value;
  return leafOf(inputs[node.split_feature] <= node.threshold ? node.left_child : node.right_child, inputs);
}

async function forest() {
  const next = random(7);
  const model = { feature_names: INPUT_NAMES, tree_info: Array.from({ length: TREES }, () => tree(next)) };
  const documents = Array.from({ length: DOCUMENTS }, () => Array.from({ length: INPUTS }, () => Math.fround(next())));
  const bodyOf = (number) =>
    JSON.stringify({ number, ...Object.fromEntries(documents[number].map((value, at) => [`a${at}`, value])) });
  const scores = {
    sum: documents.map((inputs) => inputs.reduce((sum, value) => sum + value, 0)),
    trees: documents.map((inputs) =>
      model.tree_info.reduce((sum, { tree_structure: root }) => sum + leafOf(root, inputs), 0),
    ),
  };
  const kinds = ["sum", "trees"].map((profile) => ({
    properties: () => [
      ["yql", "select number from doc where true"],
      ["ranking", profile],
    ],
    check: (body) => checkBest(parsed(body), scores[profile], profile),
  }));
  const measure = async (cluster) => {
    const [sum, trees] = await inTurn(cluster, kinds, quick ? 24 : 48, 6_000);
    const steps = (1e6 * (trees.ms - sum.ms)) / (DOCUMENTS * TREES);
    process.stdout.write(
      `a model of ${TREES} trees of ${LEAVES} leaves over ${DOCUMENTS} documents: p50 ${trees.ms.toFixed(2)} ms, ` +
        `${trees.ratio.toFixed(1)} × the sum of its ${INPUTS} inputs; ${steps.toFixed(1)} ns for a tree and a document\n`,
    );
  };
  await opened(FOREST, DOCUMENTS, bodyOf, measure, [["models/trees.json", JSON.stringify(model)]]);
}

// -------------------------------------------------------------------------------------------------------- max-sim

const TOKEN_CELLS = 128;
const TOKENS = 80;
const QUERY_TOKENS = 32;
const TEXTS = quick ? 200 : 500;
/** Products of cells in one query. */
const QUERY_CELLS = TEXTS * TOKENS * QUERY_TOKENS * TOKEN_CELLS;

function maxSimSchema(cell) {
  return `schema doc {
  document doc {
    field number type int { indexing: summary | attribute }
    field colbert type tensor<${cell}>(token{}, x[${TOKEN_CELLS}]) { indexing: attribute }
  }
  rank-profile maxsim {
    inputs { query(qt) tensor<float>(qt{}, x[${TOKEN_CELLS}]) }
    first-phase { expression: sum(reduce(sum(query(qt) * attribute(colbert), x), max, token), qt) }
  }
}`;
}

async function maxSim(cell, kernel) {
  const next = random(11);
  const texts = Array.from({ length: TEXTS }, () => Array.from({ length: TOKENS }, () => vector(next, TOKEN_CELLS)));
  const digits = cell === "float" ? 8 : 4;
  const bodyOf = (number) => {
    const blocks = texts[number].map((cells, token) => `"${token}":"${hex(cells, digits)}"`);
    return `{"number":${number},"colbert":{"blocks":{${blocks.join(",")}}}}`;
  };
  const queries = quick ? 24 : 48;
  const asked = Array.from({ length: queries }, () =>
    Array.from({ length: QUERY_TOKENS }, () => vector(next, TOKEN_CELLS)),
  );
  const score = (text, query) =>
    query.reduce((sum, of) => sum + text.reduce((best, cells) => Math.max(best, dot(of, cells)), -Infinity), 0);
  const kind = {
    properties: (turn) => {
      const blocks = asked[turn].map((cells, token) => `${token}:${JSON.stringify([...cells])}`);
      return [
        ["yql", "select number from doc where true"],
        ["ranking", "maxsim"],
        ["input.query(qt)", `{${blocks.join(",")}}`],
      ];
    },
    check: (body, turn) =>
      checkBest(
        parsed(body),
        texts.map((text) => score(text, asked[turn])),
        "max-sim",
      ),
  };
  await opened(maxSimSchema(cell), TEXTS, bodyOf, async (cluster) => {
    const rounds = Math.ceil(QUERY_CELLS / kernel.cells);
    const plain = {
      act: async () => kernel.dots(rounds),
      check: (dots) => {
        if (!Number.isFinite(dots)) throw new Error("a dot product is not finite");
      },
    };
    const plainCells = rounds * kernel.cells;
    const [{ ms }, { ms: plainMs, ratio }] = await inTurn(cluster, [kind, plain], queries, 8_000);
    const rate = QUERY_CELLS / (ms / 1_000);
    const plainRate = plainCells / (plainMs / 1_000);
    const share = (ratio * QUERY_CELLS) / plainCells;
    process.stdout.write(
      `max-sim over ${TEXTS} texts of ${TOKENS} tokens, ${cell}: p50 ${ms.toFixed(2)} ms, ${(rate / 1e9).toFixed(2)} G cells/s, ` +
        `${(100 * share).toFixed(0)} % of the plain kernel's ${(plainRate / 1e9).toFixed(2)} (goal ≥ 60 %: ${share >= 0.6 ? "met" : "MISSED"})\n`,
    );
  });
}

/** The plain kernel, compiled to WebAssembly as the core is: one query against rows in the cache, for rows of a cell type. */
async function plainKernel(kind) {
  const cargo = [
    "build",
    "--release",
    "-p",
    "brooklet-kernel",
    "--example",
    "dot_rate",
    "--target",
    "wasm32-unknown-unknown",
  ];
  const messages = execFileSync("cargo", [...cargo, "--message-format", "json"], {
    maxBuffer: 64 << 20,
    stdio: ["ignore", "pipe", "ignore"],
  });
  const lines = messages
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const artifact = lines.find(({ reason, target }) => reason === "compiler-artifact" && target.name === "dot_rate");
  const file = artifact.filenames.find((name) => name.endsWith(".wasm"));
  const { instance } = await WebAssembly.instantiate(readFileSync(file), {});
  const { prepare, dots, cells_of_a_round: cellsOfARound } = instance.exports;
  if (prepare(kind, TOKEN_CELLS) !== 1) throw new Error("the kernel was not prepared");
  return { dots, cells: cellsOfARound() };
}

for (const [kind, cell] of ["bfloat16", "float"].entries()) await maxSim(cell, await plainKernel(kind));
await mixed();
await forest();
