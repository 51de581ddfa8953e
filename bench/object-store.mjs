/**
 * `npm run bench:object-store [-- --quick]`: databases over an object store, a real S3 service on this machine (versitygw over a folder;
 * `node tools/versitygw.mjs` builds it). How many writes are acknowledged a second and how many requests that takes, by 1, 64 and 1,024
 * writers at once; what a search takes beside one of a data directory with the same documents, asked in turns; the first search of a
 * database that has nothing yet; a hundred thousand groups, a snapshot of all of them, and a fork of that; and
 * what two gateways write a second beside one, each in the buckets that it owns and each held to the same share of a processor, so that
 * the service and they do not take it from each other. Answers are compared, what is counted is asserted. The service
 * answers from this machine's memory: what a request takes elsewhere comes on top, once for a strict search, once for a write.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { int, open, schema, text, vector } from "../packages/brooklet/dist/index.js";
import { forkStore, removeSnapshot, s3, takeSnapshot } from "../packages/brooklet/dist/object-store.js";
import { bucketOf } from "../packages/store/dist/index.js";
import { startS3Service } from "../tools/s3-service.mjs";

const quick = process.argv.includes("--quick");
const DIMENSIONS = 384;
const WRITING_MS = quick ? 1_500 : 4_000;
const SEARCHED = 1_000;
const ROUNDS = quick ? 3 : 9;
const QUERIES = 50;
/** Rounds before those that count: what waits for requests is optimised later than what does not. */
const WARMING = 40;
const COLD = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
const GROUPS = quick ? 5_000 : 100_000;
const GATEWAY_WRITERS = 1_024;
const BUCKETS = 8;
/** Of a processor, for each gateway: what two of them leave is enough for the service. */
const GATEWAY_SHARE = 0.3;
const PERIOD_US = 100_000;
const CONTROL_GROUPS = "/sys/fs/cgroup";
const GATEWAY = "--gateway";
const STRICT = "strict";
const BESIDE = "in a data directory with a request beside it";
const WORDS = ["river", "stone", "light", "paper", "winter", "garden", "letter", "bridge", "morning", "silver"];

const note = schema("note", { title: text(), n: int(), vec: vector(DIMENSIONS).optional() });
/** Documents of which no two are near each other, however many there are: their cells look random. */
function cellOf(seed, at) {
  const first = Math.imul((seed * DIMENSIONS + at) ^ 0x9e37_79b1, 0x85eb_ca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2_ae35);
  return ((second ^ (second >>> 16)) >>> 8) / (1 << 23) - 1;
}
const vectorOf = (seed) => Array.from({ length: DIMENSIONS }, (_, at) => cellOf(seed, at));
const titleOf = (n) => `${WORDS[n % 10]} ${WORDS[(n * 7 + 3) % 10]} ${n}`;

function equal(what, seen, expected) {
  if (JSON.stringify(seen) !== JSON.stringify(expected))
    throw new Error(`${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(expected)}`);
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
const median = (values) =>
  quantile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

/** What is asked of a store meanwhile. */
function counted(store) {
  const { puts, gets, bytesRead } = store.costs;
  return () => ({
    puts: store.costs.puts - puts,
    gets: store.costs.gets - gets,
    bytesRead: store.costs.bytesRead - bytesRead,
  });
}

/** Writers that each put one document after another. */
async function writing(db, store, writers) {
  const since = counted(store);
  const took = [];
  let next = 0;
  const endMs = performance.now() + WRITING_MS;
  const write = async (writer) => {
    const group = db.group(`w${writer % 64}`);
    while (performance.now() < endMs) {
      const n = next++;
      const beganMs = performance.now();
      await group.put(note, `n${n}`, { title: titleOf(n), n });
      took.push(performance.now() - beganMs);
    }
  };
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  const seconds = (performance.now() - beganMs) / 1_000;
  took.sort((a, b) => a - b);
  const { puts } = since();
  if (writers > 1 && puts >= took.length)
    throw new Error(`${puts} requests for ${took.length} writes that came together`);
  console.log(
    `${writers} writers: ${(took.length / seconds).toFixed(0)} writes/s acknowledged by ${(puts / seconds).toFixed(0)} PUTs/s, ` +
      `p50 ${quantile(took, 0.5).toFixed(1)} ms, p99 ${quantile(took, 0.99).toFixed(1)} ms`,
  );
}

const documentsOf = (count) =>
  Array.from({ length: count }, (_, n) => ({ id: String(n), fields: { title: titleOf(n), n, vec: vectorOf(n) } }));

const asked = (n) => ({ text: WORDS[n % 10], near: { field: "vec", vector: vectorOf(n * 31) }, limit: 10 });

/** Processor time and wall time of a search, each the median of rounds in turns, of several databases that answer alike. */
async function searching(ways) {
  const figures = new Map(ways.map(({ name }) => [name, { cpu: [], wall: [] }]));
  let expected;
  for (let round = -WARMING; round < ROUNDS; round += 1)
    for (const { name, search } of ways) {
      const answers = [];
      const [cpu, beganMs] = [process.cpuUsage(), performance.now()];
      for (let n = 0; n < QUERIES; n += 1) answers.push(await search(n));
      const { user, system } = process.cpuUsage(cpu);
      expected ??= answers;
      equal(name, answers, expected);
      if (round < 0) continue;
      figures.get(name).cpu.push((user + system) / 1_000 / QUERIES);
      figures.get(name).wall.push((performance.now() - beganMs) / QUERIES);
    }
  const embedded = figures.get(ways[0].name);
  for (const [name, { cpu, wall }] of figures)
    console.log(
      `a search of ${SEARCHED} documents, ${name}: ${median(cpu).toFixed(2)} ms of CPU (${(median(cpu) / median(embedded.cpu)).toFixed(2)} times), ` +
        `${median(wall).toFixed(2)} ms, ${(median(wall) - median(embedded.wall)).toFixed(2)} ms more`,
    );
  const times = median(figures.get(STRICT).cpu) / median(figures.get(BESIDE).cpu);
  console.log(`${STRICT}, over one ${BESIDE}: ${times.toFixed(2)} times`);
}

/** The first search of a database that has nothing of the store yet. */
async function cold(options, documents) {
  const prefix = `cold-${documents}`;
  const db = await open({ store: s3({ ...options, prefix }), schemas: [note] });
  equal("fed", (await db.group("alice").feed(note, documentsOf(documents))).applied, documents);
  await db.close();
  const store = s3({ ...options, prefix });
  const beganMs = performance.now();
  const again = await open({ store, schemas: [note] });
  const openedMs = performance.now();
  const since = counted(store);
  const { hits } = await again.group("alice").search(note, { near: { field: "vec", vector: vectorOf(7) }, limit: 1 });
  equal("the nearest", hits[0]?.id, "7");
  const firstMs = performance.now() - openedMs;
  const { gets, bytesRead } = since();
  const warmMs = performance.now();
  await again.group("alice").search(note, { near: { field: "vec", vector: vectorOf(9) }, limit: 1 });
  console.log(
    `${documents} documents, nothing here yet: opened in ${(openedMs - beganMs).toFixed(0)} ms, the first search ${firstMs.toFixed(0)} ms with ` +
      `${gets} GETs of ${(bytesRead / 1e6).toFixed(1)} MB, the next ${(performance.now() - warmMs).toFixed(1)} ms`,
  );
  await again.close();
}

/** Very many groups. */
async function manyGroups(options) {
  const store = s3({ ...options, prefix: "groups" });
  const db = await open({ store, schemas: [note] });
  const beganMs = performance.now();
  const since = counted(store);
  const put = async (from) => {
    for (let n = from; n < GROUPS; n += 512) await db.group(`g${n}`).put(note, "1", { title: titleOf(n), n });
  };
  await Promise.all(Array.from({ length: 512 }, (_, from) => put(from)));
  const seconds = (performance.now() - beganMs) / 1_000;
  const { puts } = since();
  await db.close();
  const other = s3({ ...options, prefix: "groups" });
  const again = await open({ store: other, schemas: [note] });
  const [reading, coldMs] = [counted(other), performance.now()];
  equal("of one group", (await again.group(`g${GROUPS - 1}`).get(note, "1"))?.n, GROUPS - 1);
  const { gets, bytesRead } = reading();
  console.log(
    `${GROUPS} groups: written in ${seconds.toFixed(0)} s with ${puts} PUTs; one of them, nothing here yet: ` +
      `${(performance.now() - coldMs).toFixed(0)} ms, ${gets} GETs of ${(bytesRead / 1e3).toFixed(0)} kB`,
  );
  await again.close();
  await snapshotAndFork(options);
}

/** A snapshot of very many groups, and a store that is made of it. */
async function snapshotAndFork(options) {
  const [source, target] = ["groups", "forked"].map((prefix) => s3({ ...options, prefix }));
  const [taking, beganMs] = [counted(source), performance.now()];
  const { id } = await takeSnapshot(source);
  const [takenMs, { puts, gets, bytesRead }] = [performance.now(), taking()];
  const { bytes } = await forkStore(source, target, { snapshot: id });
  const forkedMs = performance.now();
  equal("removed", await removeSnapshot(source, id), true);
  const fork = await open({ store: target, schemas: [note] });
  equal("of one group of the fork", (await fork.group(`g${GROUPS - 1}`).get(note, "1"))?.n, GROUPS - 1);
  await fork.close();
  console.log(
    `a snapshot of ${GROUPS} groups: ${((takenMs - beganMs) / 1_000).toFixed(1)} s, ${puts} PUTs, ${gets} GETs of ${(bytesRead / 1e6).toFixed(0)} MB; ` +
      `a fork of it: ${((forkedMs - takenMs) / 1_000).toFixed(1)} s for ${(bytes / 1e6).toFixed(0)} MB`,
  );
}

/** A gateway in a process of its own: once it owns its share of the buckets it waits for a word, and writes; how many writes were acknowledged. */
async function gateway({ options, share, shares }) {
  const db = await open({ store: s3({ ...options, prefix: `gateways-${shares}` }), schemas: [note] });
  const all = Array.from({ length: 512 }, (_, number) => `g${number}`);
  const groups = all.filter((name) => bucketOf(`g:${name}`, BUCKETS) % shares === share);
  for (const name of groups) await db.group(name).put(note, "first", { title: "first", n: 0 });
  process.send("ready");
  await once(process, "message");
  const endMs = performance.now() + WRITING_MS;
  let written = 0;
  const write = async (writer) => {
    const group = db.group(groups[writer % groups.length]);
    for (let n = 0; performance.now() < endMs; n += 1) {
      await group.put(note, `${writer}-${n}`, { title: titleOf(n), n });
      written += 1;
    }
  };
  await Promise.all(Array.from({ length: GATEWAY_WRITERS / shares }, (_, writer) => write(writer)));
  process.send(written);
  await db.close();
  process.disconnect();
}

/** Holds a process to a share of a processor, by a control group of Linux, whichever version; what ends that. Nothing where it may not be made. */
function held(pid, share) {
  const old = existsSync(join(CONTROL_GROUPS, "cpu"));
  const group = join(CONTROL_GROUPS, ...(old ? ["cpu"] : []), `brooklet-bench-${pid}`);
  const quota = String(share * PERIOD_US);
  try {
    mkdirSync(group);
    if (old) writeFileSync(join(group, "cpu.cfs_period_us"), String(PERIOD_US));
    writeFileSync(join(group, old ? "cpu.cfs_quota_us" : "cpu.max"), old ? quota : `${quota} ${PERIOD_US}`);
    writeFileSync(join(group, "cgroup.procs"), String(pid));
  } catch {
    return undefined;
  }
  return () => rmdirSync(group);
}

/** Writes a second of so many gateways, over whose buckets all groups are spread. */
async function gateways(options, shares) {
  const children = Array.from({ length: shares }, (_, share) =>
    fork(import.meta.filename, [GATEWAY, JSON.stringify({ options, share, shares }), ...(quick ? ["--quick"] : [])]),
  );
  for (const child of children) await once(child, "message");
  const ends = children.map(({ pid }) => held(pid, GATEWAY_SHARE));
  for (const child of children) child.send("write");
  const counts = await Promise.all(children.map(async (child) => (await once(child, "message"))[0]));
  await Promise.all(children.map((child) => child.exitCode ?? once(child, "exit")));
  for (const end of ends) end?.();
  return {
    rate: counts.reduce((sum, count) => sum + count, 0) / (WRITING_MS / 1_000),
    isHeld: !ends.includes(undefined),
  };
}

if (process.argv[2] === GATEWAY) {
  await gateway(JSON.parse(process.argv[3]));
  process.exit();
}

const folder = mkdtempSync(join(tmpdir(), "brooklet-bench-s3-"));
const { end, ...options } = await startS3Service(folder);
try {
  const store = s3({ ...options, prefix: "writing" });
  const db = await open({ store, schemas: [note] });
  for (const writers of [1, 64, 1_024]) await writing(db, store, writers);
  await db.close();

  const embedded = await open({ path: join(folder, "embedded"), threads: false, schemas: [note] });
  const shared = await open({ store: s3({ ...options, prefix: "searching" }), schemas: [note] });
  for (const one of [embedded, shared])
    equal("fed", (await one.group("alice").feed(note, documentsOf(SEARCHED))).applied, SEARCHED);
  const hitsOf = ({ hits }) => hits.map(({ id, relevance }) => [id, relevance]);
  const yql = "select * from note where userQuery() or ({targetHits: 100}nearestNeighbor(vec, vec))";
  const search = (of, more) => async (n) => {
    const { text: query, near } = asked(n);
    const parameters = { query, "ranking.profile": "hybrid_vec", "input.query(vec)": near.vector, ...more };
    return hitsOf(await of.group("alice").searchYql(note, yql, { parameters, limit: 10 }));
  };
  // A strict search is one and a request. What it takes itself is seen beside who makes the same request while it searches.
  const { log } = s3({ ...options, prefix: "searching" });
  const inDirectory = search(embedded, {});
  const beside = async (n) => (await Promise.all([inDirectory(n), log.read("nobody's", n)]))[0];
  await searching([
    { name: "in a data directory", search: inDirectory },
    { name: BESIDE, search: beside },
    { name: STRICT, search: search(shared, {}) },
    { name: "eventual", search: search(shared, { consistency: "eventual" }) },
  ]);
  await embedded.close();
  await shared.close();
  for (const documents of COLD) await cold(options, documents);
  await manyGroups(options);
  const [one, two] = [await gateways(options, 1), await gateways(options, 2)];
  const share = two.isHeld
    ? `held to ${GATEWAY_SHARE} of a processor each`
    : "that could not be held to a share of a processor";
  console.log(
    `two gateways, ${share}, on ${availableParallelism()} processors, which the service is on too: ` +
      `${two.rate.toFixed(0)} writes/s, ${(two.rate / one.rate).toFixed(2)} times as many as one`,
  );
} finally {
  end();
  rmSync(folder, { recursive: true, force: true });
}
