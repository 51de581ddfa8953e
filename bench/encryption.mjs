/**
 * `npm run bench:encryption`: what encryption at rest costs where it costs most: searches that read every block of a group from the page cache,
 * as nothing is kept in memory; and puts, each committed alone. The same documents in two directories, each opened anew after its feed, so that
 * both read the file and neither its log; asked in turns, and answers have to be the same. Medians of CPU time, and their ratio.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";
import { place, random, word } from "./corpus.mjs";
import { median, processorMs } from "./goals/figures.mjs";

const [DOCUMENTS, TURNS, PUTS, DIMENSIONS, WORDS] = [12_000, 301, 200, 384, 60];
const TIMEOUT_MS = 600_000;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const SCHEMA = `schema doc {
  document doc {
    field body type string { indexing: summary | index }
    field vector type tensor<bfloat16>(x[${DIMENSIONS}]) {
      indexing: summary | attribute
      attribute { distance-metric: angular }
    }
  }
  rank-profile near {
    inputs { query(q) tensor<bfloat16>(x[${DIMENSIONS}]) }
    first-phase { expression: closeness(field, vector) }
  }
  rank-profile text { first-phase { expression: bm25(body) } }
}`;
const VOCABULARY = 8_000;
const next = random(7);

const anyWord = () => word(place(next, VOCABULARY));
const vector = () => Array.from({ length: DIMENSIONS }, () => Math.round((next() - 0.5) * 1_000) / 1_000);
const text = () => Array.from({ length: WORDS }, anyWord).join(" ");
const queries = [
  [
    "vectors",
    () => [
      ["yql", "select * from doc where {targetHits:10}nearestNeighbor(vector,q)"],
      ["ranking", "near"],
      ["input.query(q)", JSON.stringify(vector())],
    ],
  ],
  [
    "texts",
    () => [
      [
        "yql",
        `select * from doc where {grammar: "any", defaultIndex: "body"}userInput("${anyWord()} ${anyWord()} ${anyWord()}")`,
      ],
      ["ranking", "text"],
    ],
  ],
];

async function openSide(name, options, path = mkdtempSync(join(tmpdir(), "brooklet-encryption-"))) {
  const onProblem = (problem) => process.stderr.write(`${problem}\n`);
  // A cache that holds next to nothing: each search reads its blocks.
  const cluster = openCluster({ path, threads: 0, buckets: 1, cacheBytes: 1 << 16, onProblem, ...options });
  await cluster.deploy(packageOf("doc", SCHEMA));
  return { name, options, path, cluster };
}

async function feed(cluster, operations) {
  const input = (async function* () {
    for (const operation of operations) yield encoder.encode(`${JSON.stringify(operation)}\n`);
  })();
  for await (const told of cluster.feed(input, { timeoutMs: TIMEOUT_MS }))
    for (const { outcome } of told) if (outcome.status !== 200) throw new Error(outcome.message);
  await cluster.maintain("g:a");
}

async function cpuOf(work) {
  const before = processorMs();
  const result = await work();
  return { result, ms: processorMs() - before };
}

const sides = [await openSide("plain", {}), await openSide("encrypted", { encryptionKey: new Uint8Array(32).fill(7) })];
try {
  const operations = Array.from({ length: DOCUMENTS }, (_, number) => ({
    put: `id:b:doc:g=a:${number}`,
    fields: { body: text(), vector: { values: vector() } },
  }));
  for (const [at, { name, options, path, cluster }] of sides.entries()) {
    await feed(cluster, operations);
    await cluster.close();
    sides[at] = await openSide(name, options, path);
  }
  for (const [what, query] of queries) {
    const times = sides.map(() => []);
    let bytes = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      const properties = [...query(), ["streaming.groupname", "a"], ["timeout", "60s"]];
      const answers = [];
      for (const [at, { cluster }] of sides.entries()) {
        const { result, ms } = await cpuOf(() =>
          searchOnce(cluster, { properties, body: new Uint8Array() }, TIMEOUT_MS),
        );
        if (result.status !== 200) throw new Error(decoder.decode(result.body));
        times[at].push(ms);
        bytes = result.bytesRead;
        answers.push(JSON.stringify(JSON.parse(decoder.decode(result.body)).root.children));
      }
      if (answers[0] !== answers[1]) throw new Error(`${what}: the answers differ`);
    }
    const [plain = 0, encrypted = 0] = times.map(median);
    const read = `${(bytes / (1 << 20)).toFixed(1)} MiB read by each`;
    console.log(
      `${what}: ${plain.toFixed(2)} ms, encrypted ${encrypted.toFixed(2)} ms, ratio ${(encrypted / plain).toFixed(3)} (${read})`,
    );
  }
  const puts = [];
  for (const { cluster } of sides) {
    const times = [];
    for (let number = 0; number < PUTS; number += 1) {
      const body = encoder.encode(JSON.stringify({ fields: { body: "one more" } }));
      const request = { kind: "put", rawPath: "", id: `id:b:doc:g=b:${number}`, create: false, condition: "", body };
      const { result, ms } = await cpuOf(() => cluster.partition("g:b").apply(request, TIMEOUT_MS));
      if (result.status !== 200) throw new Error(result.message);
      times.push(ms);
    }
    puts.push(median(times));
  }
  const [plain = 0, encrypted = 0] = puts;
  console.log(
    `puts: ${plain.toFixed(3)} ms, encrypted ${encrypted.toFixed(3)} ms, ratio ${(encrypted / plain).toFixed(3)}`,
  );
} finally {
  for (const { cluster, path } of sides) {
    await cluster.close();
    rmSync(path, { recursive: true, force: true });
  }
}
