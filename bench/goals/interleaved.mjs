/**
 * `node bench/goals/interleaved.mjs [--times N] [--small]`: a hundred users whose documents arrive interleaved are searched by
 * `group.search` right after the last is acknowledged, and again when their partitions are settled. `figures {…}`: medians in milliseconds
 * of the clock, `right after` and `settled`. Every answer is held against the exact one.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCorpus, readCorpus } from "../peers/corpus.mjs";
import { drivers } from "../peers/drivers/brooklet.mjs";
import { cacheFolder } from "../peers/install.mjs";
import { recallOf, truthOf } from "../peers/recall.mjs";
import { warmed } from "../peers/warm.mjs";
import { figures, median, options, timed } from "./figures.mjs";

const { small, times } = options();
const shape = small
  ? { name: "v1k-few", groups: 10, documents: 1_000 }
  : { name: "v1k", groups: 100, documents: 1_000 };
const path = makeCorpus(join(cacheFolder(), "corpora"), { ...shape, vectors: true, texts: false });
const truth = truthOf(JSON.parse(readFileSync(join(path, "truth.json"), "utf8")), {}, "near");
const corpus = readCorpus(path);
/** Rounds of all queries, so many that what is read first does not decide the median. */
const ROUNDS = 9;
const WARM = small ? { windowMs: 20, mostMs: 300 } : { windowMs: 500, mostMs: 15_000 };

async function asked(peer, at) {
  const { result, ms } = await timed(() => peer.search("near", corpus.queries[at]));
  recallOf({ name: "SDK", exact: true }, "near", at, [result], truth);
  return ms;
}

async function searched(peer) {
  const ms = [];
  for (let turn = 0; turn < ROUNDS * corpus.queries.length; turn += 1)
    ms.push(await asked(peer, turn % corpus.queries.length));
  return median(ms);
}

async function fed(folder) {
  const peer = drivers.sdk({ folder, corpus });
  await peer.open(true);
  for (const documents of corpus.batches(5_000)) await peer.feed(documents);
  return peer;
}

/** What is measured of a database that was just opened and fed. */
async function ofNew(measured) {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-goals-"));
  try {
    const peer = await fed(folder);
    const told = await measured(peer);
    await peer.close();
    return told;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What V8 compiles is compiled before, by another database: who feeds users is a process that has run for a while. */
await ofNew((peer) =>
  warmed(async (from, count) => {
    const ms = [];
    for (let turn = from; turn < from + count; turn += 1) ms.push(await asked(peer, turn % corpus.queries.length));
    return { ms };
  }, WARM),
);
for (let time = 0; time < times; time += 1) {
  const told = await ofNew(async (peer) => {
    const after = await searched(peer);
    await peer.settle();
    return { "right after": after, settled: await searched(peer) };
  });
  figures(told);
}
