/**
 * `npm run bench -- --peers [--quick] [--record] [--only NAME,…] [--corpora NAME,…] [--without-feed]`: brooklet beside what else there is, on the same
 * documents and queries. Installs the peers into a folder of their own (`bench/peers/install.mjs`), makes the corpora there, and gives
 * each peer a process. All are asked in turns, a few queries at a time, so that all find the machine as it is; the figures are medians of
 * the turns. Every answer is held against the exact one; a peer that is exact and misses a document fails the bench. Ratios come first:
 * how many times the processor's time of each peer a search of brooklet's saves. `--record` adds the figures to `bench/record/`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeCorpus, readCorpus } from "./peers/corpus.mjs";
import { cacheFolder, installed } from "./peers/install.mjs";
import { startPeer } from "./peers/peer.mjs";
import { writeRecord } from "./peers/record.mjs";
import { showCorpus, showLifecycles } from "./peers/table.mjs";

const { values: asked } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    "without-feed": { type: "boolean", default: false },
    only: { type: "string" },
    corpora: { type: "string" },
  },
});

const VECTORS = ["near", "near-filter"];
const TEXTS = ["words-2", "words-4", "words-filter"];
const BOTH = ["hybrid"];
const ours = (variant, name) => ({ name, language: "node", driver: "brooklet", variant, ours: true, exact: true });
const vectors = { kinds: VECTORS, exact: true };
const PEERS = [
  { ...ours("core", "core"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...ours("sdk", "SDK"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...ours("page", "core, page cache"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...ours("sdk-page", "SDK, page cache"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { ...ours("http", "HTTP/1.1"), kinds: [...VECTORS, ...TEXTS, ...BOTH] },
  { name: "sqlite-vec f32", language: "node", driver: "sqlite", variant: "vec", needs: "npm", ...vectors },
  { name: "sqlite-vec int8", language: "node", driver: "sqlite", variant: "vec8", needs: "npm", kinds: VECTORS },
  {
    name: "LanceDB",
    language: "node",
    driver: "lancedb",
    variant: "table",
    needs: "npm",
    kinds: [...VECTORS, ...TEXTS],
    exact: true,
  },
  { name: "libsql", language: "node", driver: "libsql", variant: "f32", needs: "npm", ...vectors },
  { name: "DuckDB", language: "node", driver: "duckdb", variant: "arrays", needs: "npm", ...vectors },
  { name: "faiss flat", language: "python", driver: "faiss_peer.py", variant: "flat", needs: "python", ...vectors },
  { name: "faiss SQ8", language: "python", driver: "faiss_peer.py", variant: "sq8", needs: "python", kinds: VECTORS },
  { name: "FTS5", language: "node", driver: "sqlite", variant: "fts5", needs: "npm", kinds: TEXTS, exact: true },
  {
    name: "MiniSearch",
    language: "node",
    driver: "script",
    variant: "minisearch",
    needs: "npm",
    kinds: TEXTS,
    exact: true,
  },
  { name: "Orama", language: "node", driver: "script", variant: "orama", needs: "npm", kinds: TEXTS },
  {
    name: "tantivy",
    language: "rust",
    driver: "tantivy",
    variant: "index",
    needs: "tantivy",
    kinds: TEXTS,
    exact: true,
  },
  {
    name: "FTS5 and sqlite-vec",
    language: "node",
    driver: "sqlite",
    variant: "both",
    needs: "npm",
    kinds: BOTH,
    exact: true,
  },
];
const shape = (name, groups, documents, of) => ({ name, groups, documents, vectors: of !== "t", texts: of !== "v" });
const CORPORA = asked.quick
  ? [shape("v1k-few", 10, 1_000, "v"), shape("v10k-few", 3, 10_000, "v"), shape("t10k-few", 2, 10_000, "t")]
  : [
      shape("v1k", 100, 1_000, "v"),
      shape("v10k", 10, 10_000, "v"),
      shape("v100k", 2, 100_000, "v"),
      shape("t1k", 20, 1_000, "t"),
      shape("t10k", 5, 10_000, "t"),
      shape("h10k", 2, 10_000, "b"),
    ];
const TURNS = asked.quick ? 3 : 7;
const TURN_MS = asked.quick ? 250 : 700;
const WARM_MS = asked.quick ? 1_500 : 5_000;
const PUTS = 10;

const isWanted = (list, name) => list === undefined || list.split(",").includes(name);
const median = (values) => [...values].sort((left, right) => left - right)[values.length >> 1];
const at = (values, share) => [...values].sort((left, right) => left - right)[Math.floor(values.length * share)];

/** Bytes of all files of a folder, as they are on the disk. */
function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)))
    .reduce((sum, { size, blocks }) => sum + Math.min(size, blocks * 512), 0);
}

/** How many of the documents that have to be in the answers are; throws where an exact peer lacks one, or has one that is none. */
function recallOf(peer, kind, from, answers, truth) {
  let [found, wanted] = [0, 0];
  for (const [offset, answer] of answers.entries()) {
    const { count, documents } = truth[(from + offset) % truth.length];
    const may = new Set(documents);
    const right = new Set(answer.filter((number) => may.has(number))).size;
    wanted += count;
    found += Math.min(right, count);
    if (peer.exact && right < Math.max(count, answer.length))
      throw new Error(
        `${peer.name}, ${kind}, query ${from + offset}: ${answer} instead of ${count} of ${documents.slice(0, 20)}`,
      );
  }
  return found / wanted;
}

/** Feeds a peer in a process of its own, and starts the one that is asked. */
async function prepared(peer, corpus, folder) {
  const figures = {};
  const isFed = asked["without-feed"] && readdirSync(folder).length > 0;
  if (!isFed) {
    const feeding = startPeer(peer, corpus, folder);
    try {
      const { documents, ms, cpuMs, settledMs, peakMiB } = await feeding.ask({ do: "feed" });
      Object.assign(figures, {
        feed: documents / (ms / 1_000),
        feedCpu: documents / (cpuMs / 1_000),
        settledMs,
        peakMiB,
      });
      await feeding.ask({ do: "close" });
    } finally {
      feeding.end();
    }
    figures.bytes = bytesOf(folder) / readCorpus(corpus).count;
  }
  // Files are warm, the process is new: what an import and the first answer take.
  const start = performance.now();
  const running = startPeer(peer, corpus, folder);
  const { ms, version } = await running.ask({ do: "open" });
  const [kind] = peer.asked;
  const { ms: first } = await running.ask({ do: "search", kind, from: 3, count: 1 });
  Object.assign(figures, { version, coldMs: performance.now() - start, firstMs: ms + first[0] });
  return { peer, running, figures, kinds: {} };
}

/** Asks all peers in turns for a kind of search. */
async function measure(kind, members, truth) {
  const sizes = new Map();
  for (const member of members) {
    const until = performance.now() + WARM_MS;
    let last;
    for (let from = 0; from < 100 || performance.now() < until; from += 20) {
      last = await member.running.ask({ do: "search", kind, from, count: 20 });
      if (truth) recallOf(member.peer, kind, from, last.answers, truth);
      if (performance.now() > until + 4 * WARM_MS) break;
    }
    sizes.set(member, Math.max(5, Math.min(500, Math.round(TURN_MS / median(last.ms)))));
    member.kinds[kind] = { p50s: [], cpus: [], p95s: [], recalls: [] };
  }
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const member of members) {
      const count = sizes.get(member);
      const from = turn * count;
      const { ms, cpuMs, answers } = await member.running.ask({ do: "search", kind, from, count });
      const of = member.kinds[kind];
      of.p50s.push(median(ms));
      of.p95s.push(at(ms, 0.95));
      of.cpus.push(cpuMs / count);
      if (truth) of.recalls.push(recallOf(member.peer, kind, from, answers, truth));
    }
  }
  for (const member of members) {
    const { p50s, p95s, cpus, recalls } = member.kinds[kind];
    const recall = recalls.length > 0 ? recalls.reduce((sum, one) => sum + one, 0) / recalls.length : undefined;
    member.kinds[kind] = { p50: median(p50s), p95: median(p95s), cpu: median(cpus), recall };
  }
}

/** What it takes to put one document, and to erase a group. */
async function lifecycle({ peer, running, figures }, corpus) {
  Object.assign(figures, await running.ask({ do: "memory" }));
  const [kind] = peer.asked;
  const { ms, seen } = await running.ask({ do: "put", count: PUTS, kind });
  if (peer.exact && seen !== PUTS) throw new Error(`${peer.name}: ${seen} of ${PUTS} new documents are found`);
  const { group } = readCorpus(corpus).queries[3];
  const { ms: eraseMs, left } = await running.ask({ do: "erase", group, kind });
  if (left !== 0) throw new Error(`${peer.name}: ${left} documents are found of a group that is erased`);
  Object.assign(figures, { putMs: median(ms), eraseMs });
}

async function benchCorpus(corpusShape) {
  const corpus = makeCorpus(join(cacheFolder(), "corpora"), corpusShape);
  const truth = JSON.parse(readFileSync(join(corpus, "truth.json"), "utf8"));
  const { vectors: hasVectors, texts: hasTexts } = corpusShape;
  const kinds = hasVectors && hasTexts ? BOTH : hasVectors ? VECTORS : TEXTS;
  const members = [];
  try {
    for (const peer of PEERS.filter(({ name }) => isWanted(asked.only, name))) {
      const able = kinds.filter((kind) => peer.kinds.includes(kind));
      const absence = able.length > 0 && peer.needs && installed(peer.needs);
      if (absence) process.stdout.write(`${peer.name} is left out: ${absence}\n`);
      if (able.length === 0 || absence) continue;
      const folder = join(cacheFolder(), "data", corpusShape.name, peer.name.replace(/\W+/g, "-"));
      if (!asked["without-feed"]) rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      process.stderr.write(`${corpusShape.name}: ${peer.name}\n`);
      members.push(await prepared({ ...peer, asked: able }, corpus, folder));
    }
    for (const kind of kinds) {
      process.stderr.write(`${corpusShape.name}: ${kind}\n`);
      const able = members.filter(({ peer }) => peer.asked.includes(kind));
      await measure(kind, able, truth[kind]);
    }
    if (!asked["without-feed"]) for (const member of members) await lifecycle(member, corpus);
  } finally {
    for (const { running } of members) running.end();
  }
  if (!asked["without-feed"]) rmSync(join(cacheFolder(), "data", corpusShape.name), { recursive: true, force: true });
  return { corpus: corpusShape, members };
}

const measured = [];
for (const corpusShape of CORPORA.filter(({ name }) => isWanted(asked.corpora, name))) {
  const result = await benchCorpus(corpusShape);
  measured.push(result);
  showCorpus(result);
  if (asked.record) writeRecord(result);
}
if (!asked["without-feed"]) for (const result of measured) showLifecycles(result);
