/**
 * Embedding with the real model: latency and throughput over the number of clients, for (a) sessions that use every core,
 * (b) sessions on one core each, (c) the pool that adapts. Each client asks for one text after another. The three take
 * turns at every number of clients, so that what else the machine does hits all; medians over the rounds are printed.
 *
 *     npm run bench -- --models            (or npm run bench:models)
 *     npm run bench:models -- --record     adds the figures to `bench/record/`, which the site draws
 *
 * BROOKLET_MINILM: the model's folder, if it is not to be made. BROOKLET_BENCH_ROUND_MS, BROOKLET_BENCH_ROUNDS: how long each
 * round is, and how many there are: 1,500 and 3, so that all of it takes a minute and a half. BROOKLET_BENCH_CLIENTS: the numbers of clients, as in 1,32.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { deadlineIn } from "../packages/models/dist/index.js";
import { OnnxEmbedder } from "../packages/models/dist/node.js";
import { median } from "./goals/figures.mjs";
import { writeModelRecord } from "./peers/record.mjs";

const CLIENTS = (process.env["BROOKLET_BENCH_CLIENTS"] ?? "1,2,4,8,16").split(",").map(Number);
const ROUNDS = Number(process.env["BROOKLET_BENCH_ROUNDS"] ?? 3);
const ROUND_MS = Number(process.env["BROOKLET_BENCH_ROUND_MS"] ?? 1500);
const MODES = ["wide", "narrow", "adaptive"];
const DIMENSIONS = 384;

const WORDS = "the meeting about our budget moved to next week please bring every invoice you still have".split(" ");
/** Texts of 4 to 60 words, always the same ones. */
const TEXTS = Array.from({ length: 64 }, (_, index) =>
  Array.from({ length: 4 + ((index * 37) % 57) }, (_, word) => WORDS[(index * 7 + word * 3) % WORDS.length]).join(" "),
);

const maker = fileURLToPath(new URL("../tools/models/minilm.mjs", import.meta.url));
const folder = process.env["BROOKLET_MINILM"] ?? execFileSync(process.execPath, [maker], { encoding: "utf8" }).trim();
const recipe = {
  model: join(folder, "model.onnx"),
  tokenizer: join(folder, "tokenizer.json"),
  tokensMax: 256,
  prepend: { document: "", query: "" },
  inputIds: "input_ids",
  attentionMask: "attention_mask",
  tokenTypeIds: "token_type_ids",
  output: "last_hidden_state",
  reduction: { kind: "pool", strategy: "mean", normalize: true },
};

const embed = async (embedder, text) => {
  const deadline = deadlineIn(60_000);
  const [embedding] = await embedder.embed({ texts: [text], purpose: "query", dimensions: DIMENSIONS, deadline });
  return embedding.values;
};
const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];

/** Clients that ask for ROUND_MS, after a few texts that are not counted. */
async function round(embedder, clients) {
  let until = Number.POSITIVE_INFINITY;
  const latencies = [];
  const client = async (number, count, counted) => {
    for (let index = 0; index < count && performance.now() < until; index += 1) {
      const began = performance.now();
      await embed(embedder, TEXTS[(number * 11 + index) % TEXTS.length]);
      if (counted) latencies.push(performance.now() - began);
    }
  };
  const all = (count, counted) =>
    Promise.all(Array.from({ length: clients }, (_, number) => client(number, count, counted)));
  await all(4, false);
  const usedBefore = process.cpuUsage();
  const began = performance.now();
  until = began + ROUND_MS;
  await all(Number.POSITIVE_INFINITY, true);
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(usedBefore);
  return {
    p50: percentile(latencies, 0.5),
    p95: percentile(latencies, 0.95),
    rate: latencies.length / seconds,
    cpu: (user + system) / 1000 / latencies.length,
  };
}

const rss = () => Math.round(process.memoryUsage().rss / 2 ** 20);
console.log(`all-MiniLM-L6-v2, ${availableParallelism()} cores, ${TEXTS.length} texts of 4 to 60 words`);

const embedders = {};
let expected;
for (const mode of MODES) {
  const before = rss();
  const began = performance.now();
  embedders[mode] = new OnnxEmbedder({ id: mode, recipe, mode });
  const first = await embed(embedders[mode], TEXTS[0]);
  const coldMs = performance.now() - began;
  expected ??= first;
  const similarity = first.reduce((sum, value, index) => sum + value * expected[index], 0);
  assert.ok(similarity > 0.9999, `${mode} answers otherwise`);
  console.log(`${mode}: first answer after ${coldMs.toFixed(0)} ms, ${rss() - before} MiB with one session`);
}

const table = [];
const measured = [];
for (const clients of CLIENTS) {
  const seen = Object.fromEntries(MODES.map((mode) => [mode, []]));
  for (let number = 0; number < ROUNDS; number += 1) {
    for (const mode of MODES) seen[mode].push(await round(embedders[mode], clients));
  }
  const of = (mode, what) => median(seen[mode].map((one) => one[what]));
  for (const mode of MODES) {
    const figures = Object.fromEntries(["cpu", "p50", "p95", "rate"].map((what) => [what, of(mode, what)]));
    measured.push({ mode, callers: clients, ...figures });
    table.push({
      clients,
      mode,
      "CPU ms": figures.cpu.toFixed(1),
      "p50 ms": of(mode, "p50").toFixed(1),
      "p95 ms": of(mode, "p95").toFixed(1),
      "texts/s": of(mode, "rate").toFixed(0),
      "p50 / wide": (of(mode, "p50") / of("wide", "p50")).toFixed(2),
      "rate / narrow": (of(mode, "rate") / of("narrow", "rate")).toFixed(2),
    });
  }
}
console.table(table);
for (const mode of MODES) {
  const { runners, wideBatches, narrowBatches, jobs } = embedders[mode].statistics();
  const batches = wideBatches + narrowBatches;
  console.log(
    `${mode}: ${runners} sessions, ${(jobs / batches).toFixed(2)} texts a batch, ${wideBatches} wide batches`,
  );
  await embedders[mode].close();
}
if (process.argv.includes("--record")) {
  const { version } = createRequire(import.meta.url)("onnxruntime-node/package.json");
  writeModelRecord({ model: "all-MiniLM-L6-v2", version: `onnxruntime ${version}`, texts: TEXTS.length, measured });
}
