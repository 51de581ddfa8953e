/**
 * `node bench/goals/million.mjs [--times N] [--small]`: a million documents with vectors in one group, which is split into shards over
 * buckets while it grows, searched by one thread and by two. `figures {…}`: `one thread` and `two threads`, medians in milliseconds of the
 * clock, `shards`, `fed`, documents a second of processor time until all are acknowledged, and `settled`, seconds from then until nothing is merged
 * or split any more. The ten nearest are held against those that were counted in double precision while the documents were written.
 */
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../../packages/brooklet/dist/node/threads.js";
import { packageOf } from "../application.mjs";
import { random } from "../corpus.mjs";
import { partitionsOf, rested } from "../settled.mjs";
import { figures, median, options, timed } from "./figures.mjs";

const { small, times } = options();
const DOCUMENTS = small ? 20_000 : 1_000_000;
/** What a group is split at. */
const SHARD_BYTES = small ? 4 << 20 : 96 << 20;
const DIMENSIONS = 384;
const TOP = 10;
const QUERIES = 8;
const ROUNDS = small ? 2 : 6;
const CACHE_BYTES = 1_500 << 20;
const TIMEOUT_MS = 600_000;
/** A split moves half of a large shard before segments tell of it. */
const QUIET_SECONDS = small ? 5 : 30;
/** Sums of 32 bits may order what differs in the last digits only otherwise than sums of 64. */
const NEAR_ENOUGH = 2e-6;
const SCHEMA = `schema doc {
  document doc {
    field number type int { indexing: attribute | summary }
    field cells type tensor<bfloat16>(x[${DIMENSIONS}]) {
      indexing: attribute
      attribute { distance-metric: angular }
    }
  }
  rank-profile near {
    inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }
    first-phase { expression: closeness(field, cells) }
  }
}`;

const next = random(4_711);

const cells = new Float32Array(DIMENSIONS);
const bits = new Uint32Array(cells.buffer);
/** The digits of every cell there is. */
const DIGITS = Array.from({ length: 1 << 16 }, (_, cell) => cell.toString(16).padStart(4, "0"));

/** Draws the next vector: cells of bfloat16, and their digits. */
function draw() {
  let digits = "";
  for (let at = 0; at < DIMENSIONS; at += 1) {
    cells[at] = next() + next() + next() - 1.5;
    bits[at] &= 0xffff0000;
    digits += DIGITS[bits[at] >>> 16];
  }
  return digits;
}

/** The best so far of a query, by cosine; a few more than are asked for, for those that are as near but for rounding. */
class Nearest {
  #found = [];
  constructor(digits, vector) {
    this.digits = digits;
    this.vector = Float64Array.from(vector);
    this.length = Math.hypot(...vector);
  }

  add(number, length) {
    let sum = 0;
    for (let at = 0; at < DIMENSIONS; at += 1) sum += cells[at] * this.vector[at];
    const near = sum / (length * this.length);
    if (this.#found.length === 2 * TOP && near <= this.#found.at(-1)[0]) return;
    this.#found.push([near, number]);
    this.#found.sort((left, right) => right[0] - left[0]);
    this.#found.length = Math.min(this.#found.length, 2 * TOP);
  }

  check(numbers) {
    const least = this.#found[TOP - 1][0] - NEAR_ENOUGH;
    const may = new Set(this.#found.filter(([near]) => near >= least).map(([, number]) => number));
    if (numbers.length !== TOP || !numbers.every((number) => may.has(number)))
      throw new Error(`wrong answer: ${numbers} instead of ${[...may]}`);
  }
}

/** Writes the documents as lines of a feed, and finds what is nearest to the queries. */
async function write(file) {
  const queries = Array.from({ length: QUERIES }, () => new Nearest(draw(), cells));
  const stream = createWriteStream(file);
  for (let number = 0; number < DOCUMENTS; ) {
    let piece = "";
    for (const until = Math.min(DOCUMENTS, number + 200); number < until; number += 1) {
      const digits = draw();
      let length = 0;
      for (let at = 0; at < DIMENSIONS; at += 1) length += cells[at] * cells[at];
      length = Math.sqrt(length);
      for (const query of queries) query.add(number, length);
      piece += `{"put":"id:b:doc:g=all:${number}","fields":{"number":${number},"cells":{"values":"${digits}"}}}\n`;
    }
    if (!stream.write(piece)) await new Promise((resolve) => stream.once("drain", resolve));
  }
  await new Promise((resolve, reject) => stream.end((error) => (error ? reject(error) : resolve())));
  return queries;
}

const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
const opened = (path, threads) =>
  openCluster({ path, threads, cacheBytes: CACHE_BYTES, shardBytes: SHARD_BYTES, onProblem });

async function feed(cluster, file) {
  let done = 0;
  for await (const told of cluster.feed(createReadStream(file, { highWaterMark: 1 << 18 }), {
    timeoutMs: TIMEOUT_MS,
  })) {
    for (const { outcome } of told) if (outcome.status !== 200) throw new Error(outcome.message);
    done += told.length;
  }
  if (done !== DOCUMENTS) throw new Error(`${done} of ${DOCUMENTS} documents were acknowledged`);
}

async function search(cluster, query) {
  const properties = [
    ["streaming.groupname", "all"],
    ["yql", `select number from doc where {targetHits:${TOP}}nearestNeighbor(cells,q)`],
    ["ranking", "near"],
    ["input.query(q)", query.digits],
    ["timeout", "60s"],
  ];
  const { body } = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, TIMEOUT_MS);
  const { root } = JSON.parse(new TextDecoder().decode(body));
  if (root.errors) throw new Error(JSON.stringify(root.errors));
  query.check((root.children ?? []).map((hit) => hit.fields.number));
}

async function searched(path, threads, queries) {
  const cluster = opened(path, threads);
  try {
    for (let round = 0; round < 2; round += 1) for (const query of queries) await search(cluster, query);
    const ms = [];
    for (let round = 0; round < ROUNDS; round += 1)
      for (const query of queries) ms.push((await timed(() => search(cluster, query))).ms);
    return median(ms);
  } finally {
    await cluster.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), "brooklet-million-"));
try {
  const [file, path] = [join(folder, "documents.jsonl"), join(folder, "data")];
  const queries = await write(file);
  const cluster = opened(path, 2);
  try {
    await cluster.deploy(packageOf("doc", SCHEMA));
    const { cpuMs } = await timed(() => feed(cluster, file));
    const acknowledgedMs = performance.now();
    const settled = ((await rested(path, QUIET_SECONDS)) - acknowledgedMs) / 1_000;
    const shards = partitionsOf(path);
    if (shards < 2) throw new Error("the group is one partition, which one thread searches");
    figures({ shards, fed: (1_000 * DOCUMENTS) / cpuMs, settled: Math.max(0, settled) });
  } finally {
    await cluster.close();
  }
  rmSync(file);
  for (let time = 0; time < times; time += 1)
    figures({ "one thread": await searched(path, 1, queries), "two threads": await searched(path, 2, queries) });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
