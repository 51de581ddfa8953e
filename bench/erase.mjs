/**
 * `npm run bench:erase [-- --quick]`: how long it takes until a user's documents are gone: the group erased, as `erase()` does, and
 * all documents of another one removed one by one, as `clear()` does, in the same run; how long it takes until the bytes of the
 * erased ones are gone from the files, which are read whole for it once a second; and what a reader of the same bucket waits
 * meanwhile at most, for whatever is done in it. Documents have texts and vectors. What is counted, found and stored is asserted.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { median } from "./goals/figures.mjs";

const quick = process.argv.includes("--quick");
const SIZES = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
const ROUNDS = quick ? 1 : 3;
const DIMENSIONS = 384;
const TIMEOUT_MS = 600_000;
const PATIENCE_MS = 60_000;
const REST_MS = 3_000;
const PIECE = 500;
const VECTORS = 64;
const encoder = new TextEncoder();
const SCHEMA = `schema mail { document mail {
  field subject type string { indexing: summary | index }
  field body type string { indexing: summary | index }
  field vector type tensor<bfloat16>(x[${DIMENSIONS}]) { indexing: summary | attribute }
} }`;

const vectors = Array.from({ length: VECTORS }, (_, vector) =>
  Array.from({ length: DIMENSIONS }, (_, at) => (0x3f80 + ((vector * 7 + at * 13) % 127)).toString(16)).join(""),
);
const vectorOf = (number) => vectors[number % VECTORS];
const visit = { types: ["mail"], namespace: "", selection: "", fieldSet: "[id]", tensorFormat: "", format: "json" };

async function timed(work) {
  const start = performance.now();
  const result = await work();
  return { ms: performance.now() - start, result };
}

/** A word of a group's texts alone: texts are packed, but the dictionary of an index has it as it is, for it begins like no other. */
const nameOf = (group) => `zz${group}`;

async function* linesOf(group, documents) {
  for (let from = 0; from < documents; from += PIECE) {
    let lines = "";
    for (let number = from; number < Math.min(documents, from + PIECE); number += 1) {
      const body = `Dear ${nameOf(group)}, the deposit for flat ${number} is due on Friday. `.repeat(4);
      const fields = { subject: `Lease of flat ${number}`, body, vector: { values: vectorOf(number) } };
      lines += `${JSON.stringify({ put: `id:bench:mail:g=${group}:${number}`, fields })}\n`;
    }
    yield encoder.encode(lines);
  }
}

async function feed(cluster, group, documents) {
  for await (const told of cluster.feed(linesOf(group, documents), { timeoutMs: TIMEOUT_MS }))
    for (const { outcome } of told) if (outcome.status !== 200) throw new Error(outcome.message);
}

/** What a walk through a group comes to, step by step. */
async function through(cluster, key, step) {
  let documents = 0;
  for (let from = { partition: 0, after: "" }; from !== undefined; ) {
    const bounds = { bucket: cluster.bucketOf(key), key, from, documentsMax: 2 ** 31 - 1, bytesMax: 1 << 20 };
    const outcome = await step(bounds);
    documents += outcome.documents;
    from = outcome.next;
  }
  return documents;
}

const countOf = (cluster, key) => through(cluster, key, (step) => cluster.visit(visit, step, TIMEOUT_MS));

function removeAll(cluster, key) {
  const remove = { kind: "remove", rawPath: "", body: new Uint8Array() };
  return through(cluster, key, (step) => cluster.applyWhere(visit, step, remove, TIMEOUT_MS));
}

/** Whether one of these words is anywhere in the files. */
function isStored(path, words) {
  const folder = join(path, "buckets");
  return readdirSync(folder).some((name) => {
    const bytes = readFileSync(join(folder, name));
    return words.some((word) => bytes.includes(word));
  });
}

/** Waits until words are gone from the files; how long that took, and what a read of another group waited at most. */
async function gone(cluster, path, words) {
  const start = performance.now();
  let [longestMs, lookMs] = [0, start];
  while (performance.now() - start < PATIENCE_MS) {
    const request = { rawPath: "", id: "id:bench:mail:g=other:0", fieldSet: "", tensorFormat: "" };
    const { ms, result } = await timed(() => cluster.partition("g:other").get(request, TIMEOUT_MS));
    if (result.status !== 200) throw new Error(`get: ${result.status}`);
    longestMs = Math.max(longestMs, ms);
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (performance.now() - lookMs < 1_000) continue;
    if (!isStored(path, words)) return { seconds: (performance.now() - start) / 1_000, longestMs };
    lookMs = performance.now();
  }
  throw new Error(`one of '${words.join("', '")}' is still stored after ${PATIENCE_MS} ms`);
}

function expectCount(found, expected, what) {
  if (found !== expected) throw new Error(`${what}: ${found} documents instead of ${expected}`);
}

async function round(threads, documents) {
  const path = mkdtempSync(join(tmpdir(), "brooklet-erase-"));
  const onProblem = (problem) => process.stderr.write(`${problem?.stack ?? problem}\n`);
  const cluster = openCluster({ path, threads, buckets: 1, onProblem });
  try {
    await cluster.deploy(packageOf("mail", SCHEMA));
    for (const group of ["other", "first", "removed", "erased"])
      await feed(cluster, group, ["other", "first"].includes(group) ? 1_000 : documents);
    // What a process does the first time it has to compile.
    expectCount((await cluster.erase("g:first")).documents, 1_000, "first");
    if (!isStored(path, [nameOf("erased")])) throw new Error("the files would not tell whether documents are stored");
    // What feeding left to be folded is not the erasure's.
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const erased = await timed(() => cluster.erase("g:erased"));
    expectCount(erased.result.documents, documents, "erased");
    const { seconds, longestMs } = await gone(cluster, path, ["g:erased", "g=erased", nameOf("erased")]);
    const removed = await timed(() => removeAll(cluster, "g:removed"));
    expectCount(removed.result, documents, "removed");
    for (const key of ["g:removed", "g:erased"]) expectCount(await countOf(cluster, key), 0, key);
    expectCount(await countOf(cluster, "g:other"), 1_000, "g:other");
    return { removedMs: removed.ms, erasedMs: erased.ms, seconds, longestMs };
  } finally {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}

for (const documents of SIZES) {
  for (const threads of [0, 2]) {
    const rounds = [];
    for (let count = 0; count < ROUNDS; count += 1) rounds.push(await round(threads, documents));
    const of = (name) => median(rounds.map((one) => one[name]));
    const [before, after] = [of("removedMs"), of("erasedMs")];
    process.stdout.write(
      `${documents} documents, ${threads} threads: removed one by one ${before.toFixed(0)} ms, erased ${after.toFixed(1)} ms ` +
        `(${Math.round(before / after)}×); bytes gone after ${of("seconds").toFixed(1)} s, ` +
        `a reader beside it waited ${of("longestMs").toFixed(1)} ms at most\n`,
    );
  }
}
