/**
 * `npm run bench:feed`: how fast documents with a vector of 384 floats are fed into a data directory, one by one and in
 * bulk. In this thread; and over HTTP/2 to a server in another process, beside an empty server of Node's that answers the
 * same requests with nothing done. Every answer is checked, and a sample of the documents is read back.
 *
 * `--in-process`: that alone, and only as many documents before it and one by one as take no time of their own.
 *
 * "per core" is by the processor time of the process that stores, all of its threads together: on a machine where others
 * work too, that is what can be compared. What compiling the module takes is paid before, by a first feed.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { packageOf, servicesOf } from "./application.mjs";

const DOCUMENTS = Number(process.env["BROOKLET_BENCH_DOCUMENTS"] ?? 100_000);
const inProcessOnly = process.argv.includes("--in-process");
const SINGLE = inProcessOnly ? Math.min(20_000, Math.ceil(DOCUMENTS / 5)) : Math.ceil(DOCUMENTS / 5);
const WARM_UP = inProcessOnly ? Math.min(50_000, Math.ceil(DOCUMENTS / 2)) : Math.ceil(DOCUMENTS / 2);
const DIMENSIONS = 384;
const GROUPS = 16;
const IN_FLIGHT = 512;
const SESSIONS = 8;
const SAMPLES = 50;
const BODIES = 64;
const PIECE = 16;
const GOALS = { inProcess: 40_000, overHttp: 20_000 };
const MS_PER_TICK = 10;
const SCHEMA = `schema note { document note {
  field title type string { indexing: summary | index }
  field v type tensor<float>(x[${DIMENSIONS}]) { indexing: attribute }
} }`;
const EMPTY_SERVER = `const server = require("node:http2").createServer({ settings: { maxConcurrentStreams: 1024 } });
server.on("stream", (stream) => {
  stream.resume().on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    stream.end('{"pathId":"/document/v1/b/note/group/g0/0","id":"id:b:note:g=g0:0"}');
  });
});
server.listen(0, () => console.log("Listening on http://127.0.0.1:" + server.address().port));`;
const folder = mkdtempSync(join(tmpdir(), "brooklet-feed-"));
const bodies = Array.from({ length: BODIES }, (_, number) => {
  const values = Array.from({ length: DIMENSIONS }, (_, at) => Number(Math.sin(number * 37 + at).toFixed(6)));
  return Buffer.from(JSON.stringify({ fields: { title: `Note ${number}`, v: values } }));
});
const idOf = (number) => `id:b:note:g=g${number % GROUPS}:${number}`;

try {
  process.stdout.write(
    `${bodies[0].length} bytes of JSON a document; load of the machine ${loadavg()[0].toFixed(1)}\n`,
  );
  const local = await inProcess();
  print("in process, one by one", local.single);
  print("in process, in bulk", local.bulk, GOALS.inProcess);
  if (!inProcessOnly) await besideEmptyServer();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Over HTTP/2, and what a server does that does nothing. */
async function besideEmptyServer() {
  const empty = await withServer([process.execPath, "-e", EMPTY_SERVER], (server) => singles(server, WARM_UP));
  print("HTTP/2, an empty server of Node's, one by one", empty);
  const remote = await overHttp();
  print("HTTP/2, one by one", remote.single, GOALS.overHttp);
  print("HTTP/2, in bulk, one stream", remote.bulk, GOALS.overHttp);
  const ratio = (remote.single.perCore / empty.perCore).toFixed(2);
  process.stdout.write(`one by one over HTTP/2: ${ratio} of an empty server\n`);
}

function print(name, { perSecond, perCore }, goal) {
  const met = goal === undefined ? "" : ` (goal ${goal}: ${perCore >= goal ? "met" : "MISSED"})`;
  process.stdout.write(`${name}: ${Math.round(perCore)} documents/s per core${met}, ${Math.round(perSecond)}/s seen\n`);
}

async function inProcess() {
  const cluster = openCluster({ path: join(folder, "local"), threads: 0 });
  const cpuMs = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  const feed = async (from, count) => {
    let done = 0;
    for await (const some of cluster.feed(sameLines(from, count), { timeoutMs: 60_000 })) {
      for (const { id, outcome } of some) if (outcome.status !== 200) throw new Error(`${id}: ${outcome.message}`);
      done += some.length;
    }
    if (done !== count) throw new Error(`${done} of ${count} operations were answered`);
  };
  try {
    await cluster.deploy(packageOf("note", SCHEMA));
    await feed(0, WARM_UP);
    await settled();
    const bulk = await measured(() => feed(WARM_UP, DOCUMENTS), DOCUMENTS, cpuMs);
    for (let number = 0; number < WARM_UP + DOCUMENTS; number += Math.ceil((WARM_UP + DOCUMENTS) / SAMPLES)) {
      const request = { rawPath: "", id: idOf(number), fieldSet: "", tensorFormat: "" };
      const { body } = await cluster.partition(`g:g${number % GROUPS}`).get(request, 60_000);
      const read = Buffer.from(body).toString();
      if (!read.includes(`"Note ${number % BODIES}"`)) throw new Error(`document ${number}: ${read.slice(0, 200)}`);
    }
    const put = async (number) => {
      const request = { kind: "put", rawPath: "", id: idOf(number), create: false, condition: "" };
      const partition = cluster.partition(`g:g${number % GROUPS}`);
      const { status, message } = await partition.apply({ ...request, body: bodies[number % BODIES] }, 60_000);
      if (status !== 200) throw new Error(`${status}: ${message}`);
    };
    const single = await measured(() => inFlight(put, SINGLE), SINGLE, cpuMs);
    return { single, bulk };
  } finally {
    await cluster.close();
  }
}

async function overHttp() {
  const app = join(folder, "app");
  mkdirSync(join(app, "schemas"), { recursive: true });
  writeFileSync(join(app, "services.xml"), servicesOf("note"));
  writeFileSync(join(app, "schemas/note.sd"), SCHEMA);
  const cli = fileURLToPath(new URL("../packages/brooklet/dist/cli.js", import.meta.url));
  const words = ["serve", "--app", app, "--data", join(folder, "data"), "--port", "0", "--threads", "1"];
  return await withServer([process.execPath, cli, ...words], async (server) => {
    const { url, cpuMs } = server;
    const session = http2.connect(url, { settings: { initialWindowSize: 1 << 20 } });
    try {
      await feedStream(session, 0, WARM_UP);
      await settled();
      const bulk = await measured(() => feedStream(session, WARM_UP, DOCUMENTS), DOCUMENTS, cpuMs);
      for (let number = 0; number < WARM_UP + DOCUMENTS; number += Math.ceil((WARM_UP + DOCUMENTS) / SAMPLES)) {
        const read = await send(session, number, "GET");
        if (!read.includes(`"Note ${number % BODIES}"`)) throw new Error(`document ${number}: ${read.slice(0, 200)}`);
      }
      return { bulk, single: await singles(server, WARM_UP) };
    } finally {
      session.close();
    }
  });
}

/** Runs a server and stops it. */
async function withServer([command, ...words], work) {
  const server = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await Promise.race([once(createInterface(server.stdout), "line"), once(server, "exit")]);
    const url = /Listening on (\S+)/.exec(String(line))?.[1];
    if (url === undefined) throw new Error(`the server does not start: ${line}`);
    const cpuMs = () => {
      const fields = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ");
      return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
    };
    return await work({ url, cpuMs });
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => (server.exitCode === null ? server.once("exit", resolve) : resolve(undefined)));
  }
}

/** Documents one by one, over several connections; a first round warms the server up. */
async function singles({ url, cpuMs }, from) {
  const sessions = Array.from({ length: SESSIONS }, () => http2.connect(url));
  try {
    const put = (number) => send(sessions[number % SESSIONS], from + number, "POST", bodies[(from + number) % BODIES]);
    await inFlight(put, Math.ceil(SINGLE / 4));
    return await measured(() => inFlight(put, SINGLE), SINGLE, cpuMs);
  } finally {
    for (const session of sessions) session.close();
  }
}

function send(session, number, method, body) {
  const path = `/document/v1/b/note/group/g${number % GROUPS}/${number}`;
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":method": method, ":path": path });
    let status = 0;
    let text = "";
    stream.on("response", (headers) => {
      status = headers[":status"];
    });
    stream.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    stream.on("end", () => (status === 200 ? resolve(text) : reject(new Error(`${status}: ${text}`))));
    stream.on("error", reject);
    stream.end(body);
  });
}

/** Feeds documents as JSON lines on one stream, and reads what came of each. */
async function feedStream(session, from, count) {
  const stream = session.request({ ":method": "POST", ":path": "/brooklet/v1/feed", accept: "application/jsonl" });
  const seen = new Uint8Array(count);
  let last = "";
  const answered = (async () => {
    let rest = "";
    for await (const part of stream.setEncoding("utf8")) {
      const answers = (rest + part).split("\n");
      rest = answers.pop() ?? "";
      for (const answer of answers) {
        const operation = /^\{"operation":(\d+),"id":"[^"]*","status":200\}$/.exec(answer)?.[1];
        if (operation !== undefined) seen[Number(operation)] = 1;
        last = answer;
      }
    }
  })();
  for await (const part of lines(from, count)) {
    if (!stream.write(part)) await once(stream, "drain");
  }
  stream.end();
  await answered;
  const { applied } = JSON.parse(last);
  if (applied !== count || seen.includes(0)) throw new Error(`${applied} of ${count} operations were applied: ${last}`);
}

/** Operations as JSON lines, some at a time. */
async function* lines(from, count) {
  for (let first = from; first < from + count; first += PIECE) {
    yield piece(first, Math.min(PIECE, from + count - first)).bytes;
  }
}

/**
 * The same in one buffer in which only the numbers change: it is the store that is measured, not who makes the lines, nor
 * the collection of what they leave.
 */
async function* sameLines(from, count) {
  const pieces = new Map();
  for (let first = from, size; first < from + count; first += size) {
    const digits = String(first).length;
    size = Math.min(PIECE - (first % PIECE), 10 ** digits - first, from + count - first);
    const kind = `${first % BODIES} ${digits} ${size}`;
    if (!pieces.has(kind)) pieces.set(kind, piece(first, size));
    const { bytes, places } = pieces.get(kind);
    places.forEach((place, at) => {
      for (let rest = first + at, digit = digits - 1; digit >= 0; digit -= 1, rest = Math.floor(rest / 10)) {
        bytes[place + digit] = 48 + (rest % 10);
      }
    });
    yield bytes;
  }
}

/** Some lines, and where the numbers of their documents stand. */
function piece(first, size) {
  const lines = Array.from({ length: size }, (_, at) => line(first + at));
  let length = 0;
  const places = lines.map((text) => {
    length += text.length;
    return length - text.length + text.indexOf('",') - String(first).length;
  });
  return { bytes: Buffer.from(lines.join("")), places };
}

function line(number) {
  return `{"put":"${idOf(number)}",${bodies[number % BODIES].toString().slice(1)}\n`;
}

/** Calls `work` for the numbers below `count`, a bounded number of them at a time. */
async function inFlight(work, count) {
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const number = next;
      next += 1;
      await work(number);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

async function measured(work, count, cpuMs) {
  const [start, startCpu] = [performance.now(), cpuMs()];
  await work();
  const [ms, cpu] = [performance.now() - start, cpuMs() - startCpu];
  return { perSecond: (1_000 * count) / ms, perCore: (1_000 * count) / cpu };
}

function once(emitter, event) {
  return new Promise((resolve) => emitter.once(event, (...values) => resolve(values)));
}

/** Until what the engine compiles in the background is done. */
function settled() {
  return new Promise((resolve) => setTimeout(resolve, 3_000));
}
