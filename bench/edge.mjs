/**
 * `npm run bench:edge [-- --quick] [-- starts own gateway]`: what the edge costs in processor time.
 *
 * `gateway`: the Worker in workerd and a server on Node have the same 1,000 documents, and are asked the same queries over HTTP. Every answer of the
 * Worker has to be the bytes that Node answers. A request at the edge is two, one to the Worker and one to the object: what a Worker and an
 * object take that do nothing with requests and answers as long as these, and a server on Node that does nothing, is measured beside. A
 * second server on Node has every access of the core's memory checked by instructions, as workerd has it: V8's way of having the processor
 * check it is not switched on there. The goal is for what is above an empty request, which is what is ours, and for the whole of a query that
 * takes long enough on Node to be able to keep it. `own`: searches in a database of somebody's own object, which no request is between, beside the same
 * in a process of Node. Both in turns of several fresh processes each (`edge/turns.mjs`).
 *
 * `starts`: what the Worker costs until its first answer over a Worker that is empty, what making an instance of the core costs, what an
 * object takes that is woken for a search, and what is uploaded. Goals that are missed are said, and make it fail. Needs a build.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { addressOf, startWorkerd } from "../apps/worker/dist/node/workerd.js";
import { connect } from "../packages/brooklet/dist/index.js";
import { DOCUMENTS, documentOf, HITS, note, numbers, QUERIES, SEARCHES, wordsOf } from "./edge/notes.mjs";
import { startOwnObject, startOwnProcess } from "./edge/own-object.mjs";
import {
  endConnections,
  send,
  spentMs,
  startEdge,
  startEmptyEdge,
  startEmptyNode,
  startNode,
  startNothing,
  workerdPid,
} from "./edge/places.mjs";
import { Answers, inTurns, spread } from "./edge/turns.mjs";

const PARTS = ["starts", "own", "gateway"];
const { values: told, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false }, processes: { type: "string", default: "3" } },
  allowPositionals: true,
});
const { quick } = told;
const parts = positionals.length === 0 ? PARTS : positionals;
/** Times that all processes are started anew. */
const PROCESSES = quick ? 1 : Number(told.processes);
const HOW = quick
  ? { turns: 3, warm: { windowMs: 50, mostMs: 1_000 } }
  : { turns: 7, warm: { windowMs: 250, mostMs: 8_000 } };
const STARTS = quick ? 2 : 5;
/** Processes that make an instance: what is said is the least of them, since a machine with others on it may double what one takes. */
const INSTANCES = 11;
const RATIO_MAX = 1.2;
const INSTANTIATE_MS_MAX = 50;
const BUNDLE_BYTES_MAX = 2_600_000;
/** After so long what was fed is folded everywhere. */
const REST_MS = 10_000;
const GROUP = "alice";
/** What is asked: requests for `/search/`, by the name of what they show. */
const NEAR = "{targetHits: 100}nearestNeighbor(vec, vec)";
const QUESTIONS = {
  text: (n) => ({ yql: "select * from note where userInput(@text)", "ranking.profile": "default", text: wordsOf(n) }),
  vectors: (n) => ({
    yql: `select * from note where (${NEAR})`,
    "ranking.profile": "near_vec",
    "input.query(vec)": numbers(n),
  }),
  both: (n) => ({
    yql: `select * from note where (userInput(@text) or (${NEAR}))`,
    "ranking.profile": "hybrid_vec",
    text: wordsOf(n),
    "input.query(vec)": numbers(n),
  }),
};

/** Deploys, and feeds all documents in one request. */
async function fill(url, group = GROUP) {
  const client = connect({ url, schemas: [note] });
  await client;
  const lines = Array.from({ length: DOCUMENTS }, (_, n) => {
    const { id, fields } = documentOf(n);
    return JSON.stringify({ put: `id:note:note:g=${group}:${id}`, fields });
  });
  const told = `${await send(url, "/brooklet/v1/feed", lines.join("\n"))}`.trimEnd().split("\n").at(-1);
  if (JSON.parse(told).applied !== DOCUMENTS) throw new Error(told);
}

function bodies(question, group = GROUP) {
  return Array.from({ length: QUERIES }, (_, n) =>
    JSON.stringify({ ...question(n), "streaming.groupname": group, hits: HITS, timeout: "60s" }),
  );
}

/** Processor time until a Worker has answered once: the least of some starts. */
async function startMs(start, target) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < STARTS; round += 1) {
    const workerd = start();
    const url = await addressOf(workerd);
    await fetch(url + target).then((response) => response.arrayBuffer());
    least = Math.min(least, spentMs(workerdPid()));
    await workerd.dispose();
  }
  return least;
}

/** Processor time of compiling the core and making an instance, over what a process costs that does neither. */
async function instantiateMs() {
  const core = JSON.stringify(new URL("../packages/core/wasm/core_bg.wasm", import.meta.url).pathname);
  const work = `const module = new WebAssembly.Module(bytes);
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module)) (imports[from] ??= {})[name] = () => undefined;
    new WebAssembly.Instance(module, imports);`;
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < INSTANCES; round += 1) {
    const program = `import { readFileSync } from "node:fs";
      const bytes = readFileSync(${core});
      const before = process.cpuUsage();
      ${work}
      const { user, system } = process.cpuUsage(before);
      console.log((user + system) / 1_000);`;
    // Functions are compiled when they are called first, as in workerd.
    const child = spawn(process.execPath, ["--wasm-lazy-compilation", "--input-type=module", "--eval", program]);
    const chunks = [];
    for await (const chunk of child.stdout) chunks.push(chunk);
    least = Math.min(least, Number(Buffer.concat(chunks).toString()));
  }
  return least;
}

/** Rows and wall time of the first search of objects that sleep, in an isolate that is awake: the most rows, the median of the times. */
async function woken() {
  const persist = mkdtempSync(join(tmpdir(), "brooklet-edge-"));
  const groups = ["awake", ...Array.from({ length: STARTS }, (_, n) => `asleep ${n}`)];
  try {
    const first = startWorkerd({ persist });
    for (const group of groups) await fill(await addressOf(first), group);
    await first.dispose();
    const second = startWorkerd({ persist });
    const [url, objects] = [await addressOf(second), await second.getDurableObjectNamespace("GROUP")];
    let rows = 0;
    const times = [];
    for (const group of groups) {
      const began = performance.now();
      await send(url, "/search/", bodies(QUESTIONS.both, group)[0]);
      times.push(performance.now() - began);
      rows = Math.max(rows, (await objects.get(objects.idFromName(`g:${group}`)).billed()).read);
    }
    await second.dispose();
    return { rows, ms: times.slice(1).sort((a, b) => a - b)[STARTS >> 1] };
  } finally {
    rmSync(persist, { recursive: true });
  }
}

const missed = [];
function report(what, value, unit, goal) {
  if (goal !== undefined && value > goal) missed.push(what);
  console.log(`${what}: ${value.toFixed(2)}${unit}${goal === undefined ? "" : ` (goal: at most ${goal})`}`);
}

/** Tells how often what one place took is what another took: the median of all turns, and between what half of them are. */
function reportTimes(what, turns, of, goal) {
  const { median, low, high, count } = spread(turns, of);
  report(what, median, ` times, ${low.toFixed(2)} to ${high.toFixed(2)} in half of ${count} turns`, goal);
}

/** What a query took at a place, as it is told. */
const ms = (turns, of) => spread(turns, of).median.toFixed(3);

/** Searches by `group.search` of a database in an own object, over the same of one in a process of Node. */
async function reportOwnObject() {
  const turns = Object.fromEntries(Object.keys(SEARCHES).map((name) => [name, []]));
  for (let time = 0; time < PROCESSES; time += 1) {
    const places = { node: await startOwnProcess(), edge: await startOwnObject() };
    try {
      for (const { url } of Object.values(places)) await send(url, "/", JSON.stringify(["fill"]));
      await setTimeout(REST_MS);
      for (const name of Object.keys(SEARCHES)) {
        const answers = new Answers();
        const ask = async ({ url }, from, count) => {
          const found = JSON.parse(await send(url, "/", JSON.stringify(["recall", name, from, count])));
          for (const [at, answer] of found.entries()) answers.note((from + at) % QUERIES, JSON.stringify(answer));
        };
        turns[name].push(...(await inTurns(places, ask, HOW)));
      }
    } finally {
      await endAll(places);
    }
  }
  for (const [name, all] of Object.entries(turns)) {
    console.log(
      `${name} by group.search: ${ms(all, ({ node }) => node)} ms of CPU a query on Node, ${ms(all, ({ edge }) => edge)} in an own object`,
    );
    reportTimes(`${name} by group.search: an own object over Node`, all, ({ edge, node }) => edge / node, RATIO_MAX);
  }
}

async function endAll(places) {
  endConnections();
  for (const { end } of Object.values(places)) await end();
}

/** What a query takes over HTTP, in turns of all places. */
async function gatewayTurns() {
  const turns = Object.fromEntries(Object.keys(QUESTIONS).map((name) => [name, []]));
  for (let time = 0; time < PROCESSES; time += 1) {
    const full = {
      node: await startNode(),
      checking: await startNode(["--wasm-enforce-bounds-checks"]),
      edge: await startEdge(),
    };
    const places = { ...full, emptyNode: await startEmptyNode(), emptyEdge: await startEmptyEdge() };
    const isFull = new Set(Object.values(full));
    try {
      for (const { url } of isFull) await fill(url);
      await setTimeout(REST_MS);
      for (const [name, question] of Object.entries(QUESTIONS)) {
        const asked = bodies(question);
        const answers = new Answers();
        const ask = async (place, from, count) => {
          for (let n = from; n < from + count; n += 1) {
            const answer = await send(place.url, "/search/", asked[n % QUERIES]);
            if (isFull.has(place)) answers.note(n % QUERIES, answer);
          }
        };
        turns[name].push(...(await inTurns(places, ask, HOW)));
      }
    } finally {
      await endAll(places);
    }
  }
  return turns;
}

async function reportGateway() {
  for (const [name, turns] of Object.entries(await gatewayTurns())) {
    const of = (place) => ms(turns, (turn) => turn[place]);
    console.log(
      `${name}: ${of("node")} ms of CPU a query on Node, ${of("checking")} where memory is checked, ${of("edge")} in workerd; ` +
        `a request that does nothing ${of("emptyNode")} and ${of("emptyEdge")}`,
    );
    // As much work as on Node, and the requests of the platform: what is cheaper than this on Node cannot keep the goal with them.
    const reachable = spread(turns, ({ emptyEdge, emptyNode }) => (emptyEdge - emptyNode) / (RATIO_MAX - 1)).median;
    const isReachable = spread(turns, ({ node }) => node).median >= reachable;
    const raw = `${name}: workerd over Node, the platform's requests with it`;
    reportTimes(
      isReachable ? raw : `${raw} (no goal: those alone are more, below ${reachable.toFixed(2)} ms on Node)`,
      turns,
      ({ edge, node }) => edge / node,
      isReachable ? RATIO_MAX : undefined,
    );
    reportTimes(
      `${name}: Node where memory is checked, with the platform's requests, over Node`,
      turns,
      ({ checking, emptyNode, emptyEdge, node }) => (checking - emptyNode + emptyEdge) / node,
    );
    reportTimes(
      `${name}: the platform's requests alone, over a query on Node`,
      turns,
      ({ emptyEdge, emptyNode, node }) => (emptyEdge - emptyNode) / node,
    );
    const above = ({ edge, emptyEdge }) => edge - emptyEdge;
    reportTimes(
      `${name}: above a request that does nothing`,
      turns,
      (turn) => above(turn) / (turn.node - turn.emptyNode),
      RATIO_MAX,
    );
    reportTimes(
      `${name}: the same over Node where memory is checked`,
      turns,
      (turn) => above(turn) / (turn.checking - turn.emptyNode),
    );
  }
}

async function reportStarts() {
  const bundle = fileURLToPath(new URL("../apps/worker/dist/bundle/", import.meta.url));
  const uploaded = readdirSync(bundle).filter((name) => !name.endsWith(".map"));
  const sizes = uploaded.map((name) => gzipSync(readFileSync(bundle + name), { level: 9 }).length);
  report(
    "uploaded, compressed",
    sizes.reduce((sum, size) => sum + size, 0),
    " bytes",
    BUNDLE_BYTES_MAX,
  );
  report("compiling the core and making an instance", await instantiateMs(), " ms of CPU", INSTANTIATE_MS_MAX);
  const [empty, ours] = [await startMs(startNothing, "/"), await startMs(() => startWorkerd(), "/state/v1/health")];
  report("start of workerd and first answer, over an empty Worker", ours - empty, ` ms of CPU (${ours} and ${empty})`);
  const { rows, ms: wokenMs } = await woken();
  report("rows that an object reads for its first search", rows, "");
  report("an object that is woken for a search answers after", wokenMs, " ms");
}

const REPORTS = { starts: reportStarts, own: reportOwnObject, gateway: reportGateway };
for (const part of parts) await REPORTS[part]();
endConnections();
if (missed.length > 0) {
  console.error(`missed: ${missed.join(", ")}`);
  process.exitCode = 1;
}
