/**
 * `node bench/goals/beside.mjs vectors|texts|hybrid [--times N] [--small]`: brooklet at its doors beside the peers that goals name, by the
 * drivers and corpora of `bench/peers`. Each is fed once; then, so many times, each has a new process that is warmed (`bench/peers/warm.mjs`), all
 * are asked in turns, and a line `figures {…}` has the medians of the turns: `CORPUS KIND PEER cpu` and `… p95`, milliseconds. Answers are held
 * against the exact ones.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeCorpus } from "../peers/corpus.mjs";
import { cacheFolder, installed } from "../peers/install.mjs";
import { PEERS } from "../peers/list.mjs";
import { startPeer } from "../peers/peer.mjs";
import { recallOf, truthOf } from "../peers/recall.mjs";
import { warmed } from "../peers/warm.mjs";
import { figures, median, options } from "./figures.mjs";

const { small, times, words } = options();
const shape = (name, groups, documents, of) => ({ name, groups, documents, vectors: of !== "t", texts: of !== "v" });
const DOORS = ["core", "SDK"];
const PARTS = {
  vectors: [
    { corpus: shape("v1k", 100, 1_000, "v"), kinds: ["near"], peers: [...DOORS, "sqlite-vec f32", "faiss flat"] },
    {
      corpus: shape("v10k", 10, 10_000, "v"),
      kinds: ["near", "near-filter"],
      peers: [...DOORS, "core, page cache", "sqlite-vec f32", "faiss flat"],
    },
  ],
  texts: [
    { corpus: shape("t1k", 20, 1_000, "t"), kinds: ["words-2", "words-4"], peers: [...DOORS, "FTS5", "tantivy"] },
  ],
  hybrid: [
    {
      corpus: shape("h10k", 2, 10_000, "b"),
      kinds: ["hybrid"],
      peers: [...DOORS, "core, page cache", "FTS5 and sqlite-vec"],
    },
  ],
};
/** The same with fewer documents, to see that it runs. */
const SMALL = {
  v1k: shape("v1k-few", 10, 1_000, "v"),
  v10k: shape("v10k-few", 3, 10_000, "v"),
  t1k: shape("t1k-few", 2, 1_000, "t"),
  h10k: shape("h1k-few", 2, 1_000, "b"),
};
/** How long a window of the warm-up is, and all of it at most. */
const WARM = small ? { windowMs: 20, mostMs: 300 } : { windowMs: 500, mostMs: 15_000 };
const TURN_MS = small ? 50 : 300;
const TURNS = small ? 3 : 7;

const at = (values, share) => [...values].sort((left, right) => left - right)[Math.floor(values.length * share)];

/** Feeds a peer in a process of its own. */
async function feed(peer, path, folder) {
  mkdirSync(folder, { recursive: true });
  const feeding = startPeer(peer, path, folder);
  try {
    await feeding.ask({ do: "feed" });
    await feeding.ask({ do: "close" });
  } finally {
    feeding.end();
  }
}

/** A peer that can be asked. One that is not installed leaves its rows without figures. */
async function opened({ peer, folder }, path) {
  const running = startPeer(peer, path, folder);
  try {
    await running.ask({ do: "open" });
    return { peer, running };
  } catch (error) {
    running.end();
    throw error;
  }
}

async function asked({ peer, running }, kind, truth, from, count) {
  const told = await running.ask({ do: "search", kind, from, count });
  recallOf(peer, kind, from, told.answers, truthOf(truth, peer, kind));
  return told;
}

/** Medians of the turns of all peers for one kind of search. */
async function measured(kind, members, truth) {
  const turns = [];
  for (const member of members) {
    const ms = await warmed((from, count) => asked(member, kind, truth, from, count), WARM);
    const count = Math.max(5, Math.min(1_000, Math.round(TURN_MS / ms)));
    turns.push({ member, count, cpu: [], p95: [] });
  }
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const { member, count, cpu, p95 } of turns) {
      const { ms, cpuMs } = await asked(member, kind, truth, turn * count, count);
      cpu.push(cpuMs / count);
      p95.push(at(ms, 0.95));
    }
  }
  return turns.map(({ member: { peer }, cpu, p95 }) => [peer.name, { cpu: median(cpu), p95: median(p95) }]);
}

async function benchPart({ corpus: whole, kinds, peers }) {
  const corpus = small ? SMALL[whole.name] : whole;
  const path = makeCorpus(join(cacheFolder(), "corpora"), corpus);
  const truth = JSON.parse(readFileSync(join(path, "truth.json"), "utf8"));
  const data = join(cacheFolder(), "data", `goals-${corpus.name}`);
  rmSync(data, { recursive: true, force: true });
  try {
    const fed = [];
    for (const peer of PEERS.filter(({ name }) => peers.includes(name))) {
      const absence = peer.needs && installed(peer.needs);
      if (absence) {
        process.stdout.write(`${peer.name} is left out: ${absence}\n`);
        continue;
      }
      const folder = join(data, peer.name.replace(/\W+/g, "-"));
      await feed(peer, path, folder);
      fed.push({ peer, folder });
    }
    for (let time = 0; time < times; time += 1) {
      const members = [];
      try {
        for (const one of fed) members.push(await opened(one, path));
        for (const kind of kinds) {
          for (const [name, of] of await measured(kind, members, truth))
            for (const [figure, ms] of Object.entries(of)) figures({ [`${whole.name} ${kind} ${name} ${figure}`]: ms });
        }
      } finally {
        for (const { running } of members) running.end();
      }
    }
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

for (const part of PARTS[words[0]] ?? []) await benchPart(part);
if (PARTS[words[0]] === undefined) throw new Error(`say ${Object.keys(PARTS).join(", ")}`);
