/**
 * `npm run bench:visit`: how fast documents are visited. Small mails of many groups in a data directory: all pages read
 * in this thread (bytes a second of one core), one slice and two on two threads, and a stream over HTTP/1.1. Every run
 * must show every document once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@brooklet/gateway/node";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";

const GROUPS = Number(process.env["BROOKLET_BENCH_GROUPS"] ?? 100);
const DOCUMENTS = Number(process.env["BROOKLET_BENCH_DOCUMENTS"] ?? 1_000);
const ALL = GROUPS * DOCUMENTS;
const ROUNDS = 3;
const GOAL_BYTES = 1e9 / 8;
const GOAL_SLICES = 1.6;
const PART_BYTES = 256 * 1024;
const SCHEMA = `schema mail { document mail {
  field subject type string { indexing: summary | index }
  field sender type string { indexing: summary | attribute }
  field body type string { indexing: summary | index }
  field year type int { indexing: summary | attribute }
} }`;
const VISIT = { types: ["mail"], namespace: "", selection: "", fieldSet: "", tensorFormat: "", format: "jsonl" };
const encoder = new TextEncoder();
const folder = mkdtempSync(join(tmpdir(), "brooklet-visit-"));
const best = async (work) => {
  const rates = [];
  for (let round = 0; round < ROUNDS; round += 1) rates.push(await work());
  return rates.sort((left, right) => right.perSecond - left.perSecond)[0];
};
const megabytes = ({ bytes, perSecond }) => `${((bytes / ALL) * perSecond) / 1e6} MB/s`.replace(/(\.\d)\d*/, "$1");

try {
  await fill();
  const inProcess = await withCluster(0, (cluster) => best(() => visitSlices(cluster, 1)));
  const [one, two] = await withCluster(2, async (cluster) => [
    await best(() => visitSlices(cluster, 1)),
    await best(() => visitSlices(cluster, 2)),
  ]);
  const streamed = await withCluster(2, (cluster) => streamAll(cluster));
  const bytesPerSecond = (inProcess.bytes / ALL) * inProcess.perSecond;
  const print = (name, rate) =>
    process.stdout.write(`${name}: ${Math.round(rate.perSecond)} documents/s, ${megabytes(rate)}\n`);
  print("in this thread, JSON lines", inProcess);
  print("two threads, one slice", one);
  print("two threads, two slices", two);
  print("a stream over HTTP/1.1", streamed);
  const ratio = two.perSecond / one.perSecond;
  process.stdout.write(
    `one core: ${(bytesPerSecond / GOAL_BYTES).toFixed(2)} of 1 Gb/s; two slices: ${ratio.toFixed(2)} of one ` +
      `(goal ${GOAL_SLICES}: ${ratio >= GOAL_SLICES ? "met" : "MISSED"})\n`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function withCluster(threads, work) {
  const cluster = openCluster({ path: join(folder, "data"), threads });
  try {
    return await work(cluster);
  } finally {
    await cluster.close();
  }
}

/** All documents, in segments. */
async function fill() {
  await withCluster(0, async (cluster) => {
    await cluster.deploy(packageOf("mail", SCHEMA));
    for (let group = 0; group < GROUPS; group += 1) {
      const partition = cluster.partition(`g:g${group}`);
      await Promise.all(Array.from({ length: DOCUMENTS }, (_, number) => put(partition, group, number)));
      await cluster.maintain(`g:g${group}`);
    }
  });
}

async function put(partition, group, number) {
  const fields = {
    subject: `Lease of flat ${number}`,
    sender: `tenant${number % 50}@home.example`,
    body: `Dear tenant, the deposit for flat ${number} is due on Friday. `.repeat(4),
    year: 1990 + (number % 40),
  };
  const id = `id:bench:mail:g=g${group}:${number}`;
  const body = encoder.encode(JSON.stringify({ fields }));
  const { status } = await partition.apply(
    { kind: "put", rawPath: "", id, create: false, condition: "", body },
    60_000,
  );
  if (status !== 200) throw new Error(`put: ${status}`);
}

/** Visits all slices at a time, each a bucket after the other. */
async function visitSlices(cluster, slices) {
  const start = performance.now();
  const counts = await Promise.all(Array.from({ length: slices }, (_, slice) => visitSlice(cluster, slices, slice)));
  const seconds = (performance.now() - start) / 1_000;
  const documents = counts.reduce((sum, count) => sum + count.documents, 0);
  if (documents !== ALL) throw new Error(`${documents} of ${ALL} documents`);
  return { perSecond: documents / seconds, bytes: counts.reduce((sum, count) => sum + count.bytes, 0) };
}

async function visitSlice(cluster, slices, slice) {
  let [documents, bytes] = [0, 0];
  for (let bucket = slice; bucket < cluster.buckets; bucket += slices) {
    for (let from = { partition: 0, after: "" }; from !== undefined; ) {
      const step = { bucket, from, documentsMax: 2 ** 31 - 1, bytesMax: PART_BYTES };
      const page = await cluster.visit(VISIT, step, 250);
      documents += page.documents;
      bytes += page.body.length;
      from = page.next;
    }
  }
  return { documents, bytes };
}

async function streamAll(cluster) {
  const server = await startServer(cluster, { port: 0 });
  try {
    return await best(() => streamOnce(server.port));
  } finally {
    await server.close();
  }
}

function streamOnce(port) {
  const start = performance.now();
  const target = { port, host: "127.0.0.1", path: "/document/v1/?cluster=mail&stream=true&concurrency=2" };
  return new Promise((resolve, reject) => {
    const asked = http.get({ ...target, headers: { accept: "application/jsonl" } }, (answer) => {
      let bytes = 0;
      let end = "";
      answer.on("data", (part) => {
        bytes += part.length;
        end = (end + part.subarray(-400).toString()).slice(-400);
      });
      answer.on("end", () => {
        const count = Number(/"documentCount":(\d+)/.exec(end)?.[1]);
        if (count !== ALL) reject(new Error(`${count} of ${ALL} documents: ${end}`));
        else resolve({ perSecond: (1_000 * ALL) / (performance.now() - start), bytes });
      });
    });
    asked.on("error", reject);
  });
}
