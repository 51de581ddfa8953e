/**
 * `npm run bench:memory [-- --documents N]`: feeds documents and prints what the process holds as their number grows.
 * Nothing is resident per document: after the cache is full, memory does not follow the number of documents.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf } from "./application.mjs";

const at = process.argv.indexOf("--documents");
const documents = at > 0 ? Number(process.argv[at + 1]) : 1_000_000;
const GROUPS = 200;
const CACHE_BYTES = 64 << 20;
const encoder = new TextEncoder();
const SCHEMA = `schema note { document note {
  field title type string { indexing: summary | index }
  field year type int { indexing: summary | attribute }
} }`;

const path = mkdtempSync(join(tmpdir(), "brooklet-memory-"));
const cluster = openCluster({
  path,
  threads: 0,
  cacheBytes: CACHE_BYTES,
  onProblem: (problem) => process.stderr.write(`${problem}\n`),
});
const sizes = [];
try {
  await cluster.deploy(packageOf("note", SCHEMA));
  const start = performance.now();
  const step = documents / 10;
  for (let fed = 0; fed < documents; ) {
    const pending = [];
    for (let i = 0; i < 512; i += 1, fed += 1) {
      const group = fed % GROUPS;
      const body = encoder.encode(
        `{"fields":{"title":"note ${fed} about topic ${fed % 977}","year":${1990 + (fed % 40)}}}`,
      );
      const request = {
        kind: "put",
        rawPath: "",
        id: `id:b:note:g=g${group}:${fed}`,
        create: false,
        condition: "",
        body,
      };
      pending.push(cluster.partition(`g:g${group}`).apply(request, 60_000));
    }
    for (const { status, message } of await Promise.all(pending)) if (status !== 200) throw new Error(message);
    if (Math.floor(fed / step) > sizes.length) await sample(fed, start);
  }
  const early = sizes[Math.floor(sizes.length / 2) - 1];
  const late = sizes.at(-1);
  process.stdout.write(
    `second half: ${((late - early) / 2 ** 20).toFixed(1)} MiB for ${documents / 2} documents, cache ${CACHE_BYTES >> 20} MiB\n`,
  );
} finally {
  await cluster.close();
  rmSync(path, { recursive: true, force: true });
}

/** Asks every group something, then looks at the process. */
async function sample(fed, start) {
  for (let group = 0; group < GROUPS; group += 1) {
    const properties = [
      ["streaming.groupname", `g${group}`],
      ["yql", "select * from note where title contains 'topic' and year > 2020"],
      ["timeout", "30s"],
      ["hits", "1"],
    ];
    const answer = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, 60_000);
    if (answer.status !== 200) throw new Error(new TextDecoder().decode(answer.body));
  }
  if (globalThis.gc) globalThis.gc();
  const resident = process.memoryUsage.rss();
  sizes.push(resident);
  const stored = readdirSync(path, { recursive: true })
    .map((file) => statSync(join(path, file)))
    .reduce((sum, it) => sum + (it.isFile() ? it.size : 0), 0);
  const rate = fed / ((performance.now() - start) / 1_000);
  process.stdout.write(
    `${fed} documents: ${(resident / 2 ** 20).toFixed(0)} MiB resident, ${(stored / 2 ** 20).toFixed(0)} MiB stored, ${Math.round(rate)}/s so far\n`,
  );
}
