/**
 * `npm run bench -- --peers [--quick] [--record] [--only NAME,…] [--corpora NAME,…] [--without-feed]`: brooklet beside what else there is, on the same
 * documents and queries. Installs the peers into a folder of their own (`bench/peers/install.mjs`), makes the corpora there, and gives
 * each peer a process. Each is warmed by the same rule (`bench/peers/warm.mjs`), then all are asked in turns, a few queries at a time, so that
 * all find the machine as it is; the figures are medians of the turns. Every answer is held against the exact one; a peer that is exact and misses a document fails the bench. Ratios come first:
 * how many times the processor's time of each peer a search of brooklet's saves. `--record` adds the figures to `bench/record/`.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { median } from "./goals/figures.mjs";
import { makeCorpus, readCorpus } from "./peers/corpus.mjs";
import { cacheFolder, installed } from "./peers/install.mjs";
import { BOTH, PEERS, TEXTS, VECTORS } from "./peers/list.mjs";
import { startPeer } from "./peers/peer.mjs";
import { recallOf, truthOf } from "./peers/recall.mjs";
import { writeRecord } from "./peers/record.mjs";
import { showCorpus, showLifecycles } from "./peers/table.mjs";
import { warmed } from "./peers/warm.mjs";

const { values: asked } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    "without-feed": { type: "boolean", default: false },
    only: { type: "string" },
    corpora: { type: "string" },
  },
});

const shape = (name, groups, documents, of) => ({ name, groups, documents, vectors: of !== "t", texts: of !== "v" });
const CORPORA = asked.quick
  ? [
      shape("v1k-few", 10, 1_000, "v"),
      shape("v10k-few", 3, 10_000, "v"),
      shape("t10k-few", 2, 10_000, "t"),
      shape("h1k-few", 2, 1_000, "b"),
    ]
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
/** How long a window of the warm-up is, and all of it at most. */
const WARM = { windowMs: 500, mostMs: asked.quick ? 5_000 : 25_000 };
const PUTS = 10;

const isWanted = (list, name) => list === undefined || list.split(",").includes(name);
const at = (values, share) => [...values].sort((left, right) => left - right)[Math.floor(values.length * share)];

/** Bytes of all files of a folder, as they are on the disk. */
function bytesOf(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath ?? entry.path, entry.name)))
    .reduce((sum, { size, blocks }) => sum + Math.min(size, blocks * 512), 0);
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
    const ms = await warmed(async (from, count) => {
      const told = await member.running.ask({ do: "search", kind, from, count });
      recallOf(member.peer, kind, from, told.answers, truthOf(truth, member.peer, kind));
      return told;
    }, WARM);
    sizes.set(member, Math.max(5, Math.min(500, Math.round(TURN_MS / ms))));
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
      of.recalls.push(recallOf(member.peer, kind, from, answers, truthOf(truth, member.peer, kind)));
    }
  }
  for (const member of members) {
    const { p50s, p95s, cpus, recalls } = member.kinds[kind];
    const recall = recalls.reduce((sum, one) => sum + one, 0) / recalls.length;
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
      await measure(kind, able, truth);
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
