/**
 * `npm run bench:sdk [-- --quick]`: what the typed client of a database in this process adds to the core. The same searches are
 * asked of copies of one directory by `group.search` and by the core's own parameters, in turns; ids are compared with each other, and the
 * nearest with a plain scan written here. Then what `group.feed` and `group.put` store. Figures are processor time.
 */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { searchOnce } from "@brooklet/partition";
import { int, open, query, schema, text, vector } from "../packages/brooklet/dist/index.js";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { random } from "./corpus.mjs";
import { median, processorMs } from "./goals/figures.mjs";
import { standsStill } from "./peers/warm.mjs";

const DIMENSIONS = 384;
const TOP = 10;
const TIMEOUT_MS = 60_000;
const quick = process.argv.includes("--quick");
const ROUNDS = 9;
/** Rounds before those that count, at least and at most: until both stand still, for the engine compiles what it runs often. */
const [WARM_ROUNDS_MIN, WARM_ROUNDS_MAX] = quick ? [1, 1] : [20, 60];
const SETTLE_MS = 5_000;
const decoder = new TextDecoder();

const note = schema("note", { title: text(), year: int(), vec: vector(DIMENSIONS) });

function vectorOf(next) {
  return Float32Array.from({ length: DIMENSIONS }, () => next() + next() + next() + next() - 2);
}

/** Words of which the first are in many documents and the last in few, as in texts that people write. */
const wordOf = (next) => `word${Math.floor(1_000 * next() ** 3)}`;

function documentOf(number, next) {
  const title = Array.from({ length: 12 }, () => wordOf(next)).join(" ");
  return { id: `n${number}`, fields: { title, year: 1990 + (number % 40), vec: vectorOf(next) } };
}

/** The ids that a plain scan in double precision finds nearest. */
function plainScan(documents, query) {
  const norm = (cells) => Math.sqrt(cells.reduce((sum, cell) => sum + cell * cell, 0));
  const length = norm(query);
  const scored = documents.map(({ id, fields: { vec } }) => {
    let dot = 0;
    for (let at = 0; at < DIMENSIONS; at += 1) dot += vec[at] * query[at];
    return [dot / (norm(vec) * length), id];
  });
  return scored
    .sort((a, b) => b[0] - a[0])
    .slice(0, TOP)
    .map(([, id]) => id);
}

/** The searches that are measured: what the client is asked. */
const SEARCHES = {
  "nearest of a vector": (next) => ({ near: { field: "vec", vector: vectorOf(next) }, fields: ["year"] }),
  "text of 2 words": (next) => ({ text: `${wordOf(next)} ${wordOf(next)}`, fields: ["year"] }),
  "text of 4 words": (next) => ({ text: Array.from({ length: 4 }, () => wordOf(next)).join(" "), fields: ["year"] }),
  hybrid: (next) => ({
    text: `${wordOf(next)} ${wordOf(next)}`,
    near: { field: "vec", vector: vectorOf(next) },
    fields: ["year"],
  }),
};

/** Asks the core what the client would: the same YQL and parameters, vectors as digits. */
async function ask(cluster, { properties }) {
  const { body } = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
  return body;
}

function coreRequest(group, options) {
  const { yql, parameters } = query(note, options);
  const properties = Object.entries({ yql, ...parameters, "streaming.groupname": group }).map(([name, value]) => [
    name,
    String(value),
  ]);
  return { properties };
}

const idsOf = (body) => (JSON.parse(decoder.decode(body)).root.children ?? []).map(({ id }) => id.replace(/^.*:/, ""));

/** Milliseconds of a search in each round, of both. */
class Rounds {
  core = [];
  client = [];
  standStill = () => standsStill(this.core) && standsStill(this.client);
}

async function measureSearches(cluster, database, documents, count) {
  const name = `g${count}`;
  const group = database.group(name);
  for (const [what, make] of Object.entries(SEARCHES)) {
    const next = random(4_711);
    const asked = Array.from({ length: quick ? 60 : 200 }, () => make(next));
    const requests = asked.map((options) => coreRequest(name, options));
    for (const [at, options] of asked.entries()) {
      const { hits } = await group.search(note, options);
      const shown = hits.map(({ id }) => id);
      const found = idsOf(await ask(cluster, requests[at]));
      if (shown.join() !== found.join()) throw new Error(`${what}: the client shows ${shown}, the core ${found}`);
      if (what === "nearest of a vector" && at % 20 === 0) same(shown, plainScan(documents, options.near.vector));
    }
    const turn = async (rounds) => {
      const before = processorMs();
      for (const request of requests) await ask(cluster, request);
      const between = processorMs();
      for (const options of asked) await group.search(note, options);
      rounds.core.push((between - before) / asked.length);
      rounds.client.push((processorMs() - between) / asked.length);
    };
    const [warming, rounds] = [new Rounds(), new Rounds()];
    const isWarm = () => warming.core.length >= WARM_ROUNDS_MIN && warming.standStill();
    while (warming.core.length < WARM_ROUNDS_MAX && !isWarm()) await turn(warming);
    while (rounds.core.length < ROUNDS) await turn(rounds);
    const [core, sdk] = [median(rounds.core), median(rounds.client)];
    process.stdout.write(
      `${count} documents, ${what}: core ${core.toFixed(3)} ms, group.search ${sdk.toFixed(3)} ms (+${(sdk - core).toFixed(3)} ms, ${(sdk / core).toFixed(2)}×)\n`,
    );
  }
}

function same(found, wanted) {
  // Sums of 32 bits may order what differs in the last digits only otherwise than sums of 64.
  if (found.length !== wanted.length || found.some((id) => !wanted.includes(id)))
    throw new Error(`wrong answer: ${found} instead of ${wanted}`);
}

async function measureSearching() {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-sdk-"));
  const [path, copy] = [join(folder, "client"), join(folder, "core")];
  let database = await open({ path, schemas: [note] });
  let cluster;
  try {
    const stored = new Map();
    for (const count of [1_000, 10_000]) {
      const next = random(count);
      const documents = Array.from({ length: count }, (_, number) => documentOf(number, next));
      const { applied } = await database.group(`g${count}`).feed(note, documents);
      if (applied !== count) throw new Error(`${applied} of ${count} documents are stored`);
      stored.set(count, documents);
    }
    // Tails are folded when they were quiet for some seconds.
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    await database.close();
    cpSync(path, copy, { recursive: true });
    database = await open({ path, schemas: [note] });
    cluster = openCluster({ path: copy, threads: 0 });
    for (const [count, documents] of stored) await measureSearches(cluster, database, documents, count);
  } finally {
    await database.close();
    await cluster?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureWriting() {
  const path = mkdtempSync(join(tmpdir(), "brooklet-sdk-"));
  const database = await open({ path, schemas: [note] });
  const count = quick ? 5_000 : 20_000;
  const next = random(1);
  const documents = Array.from({ length: 2 * count }, (_, number) => documentOf(number, next));
  const feed = async (from) => {
    const { applied } = await database.group("fed").feed(note, documents.slice(from, from + count));
    if (applied !== count) throw new Error(`${applied} of ${count} documents are stored`);
  };
  const put = async (from) => {
    const group = database.group("put");
    let at = from;
    const worker = async () => {
      while (at < from + count) {
        const { id, fields } = documents[at++];
        await group.put(note, id, fields);
      }
    };
    await Promise.all(Array.from({ length: 64 }, worker));
  };
  try {
    for (const [what, store] of Object.entries({ "group.feed": feed, "group.put, 64 at a time": put })) {
      // What compiles code is paid by the first half.
      await store(0);
      const begin = processorMs();
      await store(count);
      process.stdout.write(`${what}: ${Math.round((1_000 * count) / (processorMs() - begin))} documents/s per core\n`);
    }
    for (const name of ["fed", "put"]) {
      if ((await database.group(name).count(note)) !== 2 * count) throw new Error(`documents of ${name} are missing`);
    }
  } finally {
    await database.close();
    rmSync(path, { recursive: true, force: true });
  }
}

await measureSearching();
await measureWriting();
