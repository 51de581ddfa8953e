/**
 * The process of one peer whose driver is JavaScript: `node child.mjs DRIVER VARIANT CORPUS FOLDER` obeys a line of JSON at a time on its
 * standard input, and answers each with a line that begins with `@`. So do the drivers in other languages (`faiss_peer.py`, `tantivy/`).
 *
 * | request | answer |
 * |---|---|
 * | `{ "do": "feed" }` | `{ documents, ms, cpuMs, settledMs, peakMiB }`: all documents of the corpus, durable |
 * | `{ "do": "open" }` | `{ ms, version }` |
 * | `{ "do": "search", "kind", "from", "count" }` | `{ ms: […], cpuMs, answers: [[number…]…] }` |
 * | `{ "do": "put", "count" }` | `{ ms: […], seen }`: new documents, each searched for after it |
 * | `{ "do": "erase", "group" }` | `{ ms, left }` |
 * | `{ "do": "memory" }` | `{ rssMiB, anonymousMiB }` |
 * | `{ "do": "close" }` | `{}`, and the process ends |
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { readCorpus } from "./corpus.mjs";

/** The words of a query of a kind; one by words and vectors asks for those of a query of two words. */
const wordsAsked = ({ words }, kind) => words?.[kind === "hybrid" ? "words-2" : kind];

const [, , driver, variant, corpusPath, folder] = process.argv;
const { drivers } = await import(`./drivers/${driver}.mjs`);
const corpus = readCorpus(corpusPath);
const peer = drivers[variant]({ folder, corpus });
const NEW_NUMBERS = 10_000_000;
let added = 0;

function memory() {
  const status = readFileSync("/proc/self/status", "utf8");
  const mebibytes = (name) => Math.round(Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))?.[1] ?? 0) / 1_024);
  return { rssMiB: mebibytes("VmRSS"), anonymousMiB: mebibytes("RssAnon"), peakMiB: mebibytes("VmHWM") };
}

function processor() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function timed(work) {
  const [start, cpu] = [performance.now(), processor()];
  const value = await work();
  return { value, ms: performance.now() - start, cpuMs: processor() - cpu };
}

/** The vector of a new document, which is the nearest of itself. */
function shifted(vector, by) {
  return vector?.map((cell, at) => (at === by % vector.length ? cell + 0.25 : cell));
}

const requests = {
  async feed() {
    const start = performance.now();
    const cpu = processor();
    await peer.open(true);
    for (const documents of corpus.batches(peer.batch ?? 5_000)) await peer.feed(documents);
    await peer.finish?.();
    const ms = performance.now() - start;
    const cpuMs = processor() - cpu;
    await peer.settle?.();
    const settledMs = performance.now() - start;
    await peer.close();
    return { documents: corpus.count, ms, cpuMs, settledMs, peakMiB: memory().peakMiB };
  },
  async open() {
    const { ms } = await timed(() => peer.open(false));
    return { ms, version: peer.version };
  },
  async search({ kind, from, count }) {
    const [ms, answers] = [[], []];
    const cpu = processor();
    for (let turn = from; turn < from + count; turn += 1) {
      const query = corpus.queries[turn % corpus.queries.length];
      const start = performance.now();
      const found = await peer.search(kind, { ...query, words: wordsAsked(query, kind) });
      ms.push(performance.now() - start);
      answers.push(found);
    }
    return { ms, cpuMs: processor() - cpu, answers };
  },
  async put({ count, kind }) {
    const ms = [];
    let seen = 0;
    for (let turn = 0; turn < count; turn += 1) {
      const query = corpus.queries[turn % corpus.queries.length];
      const number = NEW_NUMBERS + added;
      added += 1;
      const word = `zzq${String(number).replace(/\d/g, (digit) => "abcdefghij"[digit])}`;
      const vector = shifted(query.vector, number);
      const document = {
        number,
        group: query.group,
        time: 500_000,
        vector,
        body: corpus.texts ? `${word} and some other words` : undefined,
      };
      ms.push((await timed(() => peer.put(document))).ms);
      const found = await peer.search(kind, { ...query, vector, words: [word] });
      if (found[0] === number) seen += 1;
    }
    return { ms, seen };
  },
  async erase({ group, kind }) {
    const { ms } = await timed(() => peer.erase(group));
    const query = corpus.queries.find((one) => one.group === group);
    const left = await peer.search(kind, { ...query, words: wordsAsked(query, kind) });
    return { ms, left: left.length };
  },
  memory: async () => memory(),
  close: async () => {
    await peer.close();
    return {};
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = await requests[request.do](request);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`@${JSON.stringify(answer)}\n`);
  if (request.do === "close") break;
}
process.exit(0);
