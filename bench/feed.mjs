/**
 * `npm run bench:feed`: how fast documents with a vector of 384 floats are fed into a data directory. In this thread, put
 * by put; and over HTTP/2 to a server in another process, by the number of its threads. Every answer is checked, and a
 * sample of the documents is read back.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Writer } from "@brooklet/core";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";

const DOCUMENTS = Number(process.env["BROOKLET_BENCH_DOCUMENTS"] ?? 20_000);
const DIMENSIONS = 384;
const GROUPS = 16;
const IN_FLIGHT = 512;
const GOALS = { inProcess: 40_000, overHttp: 20_000 };
const SERVICES = `<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container>
<content id="note" version="1.0"><redundancy>1</redundancy><documents><document type="note" mode="streaming"/></documents>
<nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
const SCHEMA = `schema note { document note {
  field title type string { indexing: summary | index }
  field v type tensor<float>(x[${DIMENSIONS}]) { indexing: attribute }
} }`;
const encoder = new TextEncoder();
const folder = mkdtempSync(join(tmpdir(), "brooklet-feed-"));
const bodies = Array.from({ length: 64 }, (_, number) => {
  const values = Array.from({ length: DIMENSIONS }, (_, at) => Number(Math.sin(number * 37 + at).toFixed(6)));
  return encoder.encode(JSON.stringify({ fields: { title: `Note ${number}`, v: values } }));
});

try {
  const local = await inProcess();
  const remote = await overHttp();
  const print = (name, rate, goal) =>
    process.stdout.write(
      `${name}: ${Math.round(rate)} documents/s (goal ${goal}: ${rate >= goal ? "met" : "MISSED"})\n`,
    );
  process.stdout.write(`${bodies[0].length} bytes of JSON a document\n`);
  print("in process, one thread", local, GOALS.inProcess);
  print("over HTTP/2, one thread of buckets", remote, GOALS.overHttp);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function inProcess() {
  const cluster = openCluster({ path: join(folder, "local"), threads: 0 });
  try {
    await cluster.deploy(
      new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/note.sd").text(SCHEMA).finish(),
    );
    return await timed(async (number) => {
      const id = `id:b:note:g=g${number % GROUPS}:${number}`;
      const request = { kind: "put", rawPath: "", id, create: false, condition: "", body: bodies[number % 64] };
      const { status, message } = await cluster.partition(`g:g${number % GROUPS}`).apply(request, 60_000);
      if (status !== 200) throw new Error(`${status}: ${message}`);
    });
  } finally {
    await cluster.close();
  }
}

async function overHttp() {
  const app = join(folder, "app");
  mkdirSync(join(app, "schemas"), { recursive: true });
  writeFileSync(join(app, "services.xml"), SERVICES);
  writeFileSync(join(app, "schemas/note.sd"), SCHEMA);
  const cli = fileURLToPath(new URL("../packages/brooklet/dist/cli.js", import.meta.url));
  const words = [cli, "serve", "--app", app, "--data", join(folder, "data"), "--port", "0", "--threads", "1"];
  const server = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await Promise.race([once(createInterface(server.stdout), "line"), once(server, "exit")]);
    const url = /Listening on (\S+)/.exec(String(line))?.[1];
    if (url === undefined) throw new Error(`the server does not start: ${line}`);
    const sessions = Array.from({ length: 8 }, () => http2.connect(url));
    const rate = await timed((number) => send(sessions[number % 8], number, "POST", bodies[number % 64]));
    for (let number = 0; number < DOCUMENTS; number += 997) {
      const read = await send(sessions[0], number, "GET");
      if (!read.includes(`"Note ${number % 64}"`)) throw new Error(`document ${number}: ${read.slice(0, 200)}`);
    }
    for (const session of sessions) session.close();
    return rate;
  } finally {
    server.kill("SIGTERM");
    await new Promise((resolve) => (server.exitCode === null ? server.once("exit", resolve) : resolve(undefined)));
  }
}

function once(emitter, event) {
  return new Promise((resolve) => emitter.once(event, (...values) => resolve(values)));
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

/** Documents a second, with a bounded number in flight. */
async function timed(put) {
  let next = 0;
  const start = performance.now();
  const worker = async () => {
    while (next < DOCUMENTS) {
      const number = next;
      next += 1;
      await put(number);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return (1_000 * DOCUMENTS) / (performance.now() - start);
}
