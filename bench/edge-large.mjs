/**
 * `npm run bench:edge-large [-- --documents N]`: one group of a million documents at the edge, in workerd. It is fed while it is
 * split into objects again and again, and while a writer and a reader go on; then every document has to be there once, and
 * counts, words, nearest neighbours and pages have to be those that the documents were made for. What it printed of rows, processor time
 * and memory is of one run. Needs Linux, for /proc, a build, and about 2 GB on disk.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { addressOf, startWorkerd } from "../apps/worker/dist/node/workerd.js";
import { connect, int, schema, string, text, vector } from "../packages/brooklet/dist/index.js";

const { values } = parseArgs({
  options: { documents: { type: "string", default: "1000000" }, "shard-bytes": { type: "string" } },
});
const DOCUMENTS = Number(values.documents);
const DIMENSIONS = 16;
const FOLDERS = 1_000;
const FED_AT_ONCE = 20_000;
const QUERIES = 20;
const TICK_MS = 10;
/** Most shards that a group may have. */
const SHARDS_MAX = 64;
/** Quiet for so long, a group has folded what was written and split what is too large. */
const QUIET_MS = 20_000;
const PATIENCE_MS = 1_800_000;
const GROUP = "large";
const LONG = { timeoutMs: 120_000 };

const note = schema("note", { title: text(), folder: string(), n: int(), vec: vector(DIMENSIONS) });
const folderOf = (n) => `f${(n * 7_919) % FOLDERS}`;
/** No two are alike: the first values are the bytes of the number, by which the others look random. */
const byteOf = (n, at) => (at < 4 ? n >>> (8 * at) : Math.imul(n + 1, 2 * at + 0x9e3779b1) >>> 24) & 0xff;
const vectorOf = (n) => Array.from({ length: DIMENSIONS }, (_, at) => byteOf(n, at) / 128 - 1);
const documentOf = (n) => ({
  id: `n${n}`,
  fields: { title: `note about word${n % 50_021} of ${folderOf(n)}`, folder: folderOf(n), n, vec: vectorOf(n) },
});

function demand(isSo, what, seen) {
  if (!isSo) throw new Error(`${what}: ${JSON.stringify(seen)}`);
}

/** Processor time, in milliseconds, and memory, in MB, of the workerd that this process started. */
function processOf() {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [head, rest] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ");
      const fields = rest.split(" ");
      if (!head.includes("(workerd") || Number(fields[1]) !== process.pid) continue;
      const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
      return { cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS, memoryMB: Math.round(Number(rss) / 1_024) };
    } catch {
      // It ended meanwhile.
    }
  }
  throw new Error("there is no workerd");
}

async function spent(work) {
  const before = processOf().cpuMs;
  const result = await work();
  return { result, cpuMs: processOf().cpuMs - before };
}

const persist = mkdtempSync(join(tmpdir(), "brooklet-edge-large-"));
const variables = values["shard-bytes"] === undefined ? {} : { SHARD_BYTES: values["shard-bytes"] };
const workerd = startWorkerd({ persist, variables });
try {
  const url = await addressOf(workerd);
  await connect({ url, schemas: [note] });
  const client = connect({ url });
  const group = client.group(GROUP);
  const objects = await workerd.getDurableObjectNamespace("GROUP");
  const objectOf = (shard) => objects.get(objects.idFromName(shard === 0 ? `g:${GROUP}` : `g:${GROUP}\u0001${shard}`));
  /** The rows of each object that has any. Asking wakes an object, and writes nothing. */
  const rows = async () => {
    const counts = [];
    for (let shard = 0; shard < SHARDS_MAX; shard += 1) counts.push((await objectOf(shard).billed()).written);
    return {
      written: counts.reduce((sum, count) => sum + count, 0),
      shards: counts.filter((count) => count > 0).length,
    };
  };

  // A writer changes documents of its own, and a reader counts and visits, for as long as it is fed.
  let isFed = false;
  let [updates, reads] = [0, 0];
  const write = async () => {
    for (; !isFed; updates += 1) {
      await group.put(note, `own${updates % 100}`, { ...documentOf(updates).fields, folder: "own", n: -1 - updates });
    }
  };
  const read = async () => {
    for (let least = 0; !isFed; reads += 1) {
      const count = await group.count(note, (it) => it.n.ge(0), LONG);
      demand(count >= least && count <= DOCUMENTS, "documents that were fed are not counted any more", [count, least]);
      least = count;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  };
  const others = [write(), read()];
  const fed = await spent(async () => {
    for (let from = 0; from < DOCUMENTS; from += FED_AT_ONCE) {
      const count = Math.min(FED_AT_ONCE, DOCUMENTS - from);
      const some = Array.from({ length: count }, (_, index) => documentOf(from + index));
      const told = await group.feed(note, some);
      demand(told.applied === count, "not all were fed", told);
      if ((from / FED_AT_ONCE) % 5 === 0) console.error(`${from + count} fed, ${processOf().memoryMB} MB`);
    }
  });
  isFed = true;
  await Promise.all(others);
  console.log(
    `fed: ${DOCUMENTS} documents, ${(fed.cpuMs / DOCUMENTS).toFixed(4)} ms of CPU each, with ${updates} puts and ${reads} counts beside`,
  );

  const settled = await spent(async () => {
    const endMs = Date.now() + PATIENCE_MS;
    for (let before = await rows(); Date.now() < endMs; ) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      const after = await rows();
      console.error(`${after.shards} shards, ${after.written} rows`);
      if (after.written === before.written) return after;
      before = after;
    }
    throw new Error("the group does not come to rest");
  });
  const { written, shards } = settled.result;
  console.log(
    `at rest: ${shards} objects, ${(written / DOCUMENTS).toFixed(4)} rows written a document, ${(settled.cpuMs / DOCUMENTS).toFixed(4)} ms of CPU each after the feed`,
  );
  demand(shards > 1 || DOCUMENTS < 500_000, "the group was not split", shards);

  const own = Math.min(updates, 100);
  demand((await group.count(note, undefined, LONG)) === DOCUMENTS + own, "the count", await group.count(note));
  const seen = new Uint8Array(DOCUMENTS);
  let ownVisited = 0;
  const visited = await spent(async () => {
    for await (const { id } of group.visit(note, { pageSize: 1_000, fields: ["n"] })) {
      if (id.startsWith("own")) ownVisited += 1;
      else seen[Number(id.slice(1))] += 1;
    }
  });
  demand(seen.every((times) => times === 1) && ownVisited === own, "a document was not visited once", ownVisited);
  console.log(`visited: each once, ${(visited.cpuMs / DOCUMENTS).toFixed(4)} ms of CPU each`);

  const asked = await spent(async () => {
    for (let n = 0; n < QUERIES; n += 1) {
      const which = Math.floor((n * DOCUMENTS) / QUERIES);
      const words = await group.search(note, { text: `word${which % 50_021}`, limit: 3, ...LONG });
      const expected = Math.floor((DOCUMENTS - 1 - (which % 50_021)) / 50_021) + 1;
      demand(words.totalCount >= expected && words.totalCount <= expected + own, "documents with a word", [
        words.totalCount,
        expected,
      ]);
      const near = await group.search(note, { near: { field: "vec", vector: vectorOf(which) }, limit: 1, ...LONG });
      demand(near.hits[0]?.fields.n === which || near.hits[0]?.fields.n < 0, "the nearest", near);
      const count = await group.count(note, (it) => it.folder.is(folderOf(which)), LONG);
      demand(Math.abs(count - DOCUMENTS / FOLDERS) <= 1, "documents of a folder", count);
    }
  });
  console.log(`searched: ${(asked.cpuMs / QUERIES).toFixed(0)} ms of CPU for words, a vector and a count together`);
  console.log(
    `memory of the process: ${processOf().memoryMB} MB; of the cores of an isolate: ${Math.round((await objectOf(0).coreBytes()) / 1e6)} MB`,
  );
} finally {
  await workerd.dispose();
  rmSync(persist, { recursive: true, force: true });
}
