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
import { figures, median, options, timed } from "./figures.mjs";

const { small, times } = options();
const shape = small
  ? { name: "v1k-few", groups: 10, documents: 1_000 }
  : { name: "v1k", groups: 100, documents: 1_000 };
const path = makeCorpus(join(cacheFolder(), "corpora"), { ...shape, vectors: true, texts: false });
const truth = truthOf(JSON.parse(readFileSync(join(path, "truth.json"), "utf8")), {}, "near");
const corpus = readCorpus(path);
/** Rounds of all queries, so that most find in memory what they read. What V8 compiles is compiled before, by another database. */
const ROUNDS = 3;

async function searched(peer) {
  const ms = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, query] of corpus.queries.entries()) {
      const { result, ms: took } = await timed(() => peer.search("near", query));
      recallOf({ name: "SDK", exact: true }, "near", at, [result], truth);
      ms.push(took);
    }
  }
  return median(ms);
}

async function fed(folder) {
  const peer = drivers.sdk({ folder, corpus });
  await peer.open(true);
  for (const documents of corpus.batches(5_000)) await peer.feed(documents);
  return peer;
}

async function measure() {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-goals-"));
  try {
    const peer = await fed(folder);
    const after = await searched(peer);
    await peer.settle();
    const settled = await searched(peer);
    await peer.close();
    return { "right after": after, settled };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await measure();
for (let time = 0; time < times; time += 1) figures(await measure());
