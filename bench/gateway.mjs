/**
 * `npm run bench:gateway`: what the gateway adds to a query. The same queries go to a cluster in this process and, over
 * HTTP/1.1 keep-alive, to a gateway with worker threads in another; every answer is compared.
 */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { searchOnce } from "@brooklet/partition";
import { openCluster } from "../packages/brooklet/dist/node/threads.js";
import { freePort } from "../tools/free-port.mjs";
import { packageOf, servicesOf } from "./application.mjs";
import { median } from "./goals/figures.mjs";

const DOCUMENTS = 1_000;
const QUERIES = 3_000;
const GOAL_MS = 0.4;
const SCHEMA = `schema note { document note {
  field title type string { indexing: summary | index }
  field year type int { indexing: summary | attribute }
} rank-profile text { first-phase { expression: bm25(title) } } }`;
const encoder = new TextEncoder();
const words = ["river", "stone", "light", "paper", "winter", "garden", "letter", "bridge", "morning", "silver"];
const titleOf = (number) => `${words[number % 10]} ${words[(number * 7 + 3) % 10]} ${number}`;

const folder = mkdtempSync(join(tmpdir(), "brooklet-gateway-"));
const app = join(folder, "app");
mkdirSync(join(app, "schemas"), { recursive: true });
writeFileSync(join(app, "services.xml"), servicesOf("note"));
writeFileSync(join(app, "schemas/note.sd"), SCHEMA);
const [port, configPort] = [await freePort(), await freePort()];
const cli = fileURLToPath(new URL("../packages/brooklet/dist/cli.js", import.meta.url));
const server = spawn(
  process.execPath,
  [cli, "serve", "--app", app, "--data", join(folder, "data"), "--port", port, "--config-port", configPort],
  { stdio: ["ignore", "ignore", "inherit"] },
);
const cluster = openCluster({ path: join(folder, "local"), threads: 0 });
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
try {
  await ready();
  await cluster.deploy(packageOf("note", SCHEMA));
  for (let first = 0; first < DOCUMENTS; first += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => put(first + i)));
  }
  const [inProcess, overHttp] = [[], []];
  for (let turn = -200; turn < QUERIES; turn += 1) {
    const query = `select * from note where title contains "${words[Math.abs(turn) % 10]}" and year > ${2000 + (Math.abs(turn) % 20)}`;
    const [local, localMs] = await timed(() => searchHere(query));
    const [remote, remoteMs] = await timed(() => searchThere(query));
    if (local !== remote) throw new Error(`answers differ: ${local} and ${remote}`);
    if (turn >= 0) {
      inProcess.push(localMs);
      overHttp.push(remoteMs);
    }
  }
  const added = median(overHttp) - median(inProcess);
  process.stdout.write(
    `in process p50 ${median(inProcess).toFixed(3)} ms; over HTTP/1.1 keep-alive p50 ${median(overHttp).toFixed(3)} ms; ` +
      `the gateway adds ${added.toFixed(3)} ms (goal ${GOAL_MS} ms: ${added <= GOAL_MS ? "met" : "MISSED"})\n`,
  );
} finally {
  agent.destroy();
  await cluster.close();
  server.kill("SIGTERM");
  await new Promise((resolve) => server.once("exit", resolve));
  rmSync(folder, { recursive: true, force: true });
}

async function timed(work) {
  const start = performance.now();
  const result = await work();
  return [result, performance.now() - start];
}

async function put(number) {
  const body = JSON.stringify({ fields: { title: titleOf(number), year: 1990 + (number % 40) } });
  const id = `id:b:note:g=g:${number}`;
  const here = await cluster
    .partition("g:g")
    .apply({ kind: "put", rawPath: "", id, create: false, condition: "", body: encoder.encode(body) }, 60_000);
  const there = await fetch(`http://127.0.0.1:${port}/document/v1/b/note/group/g/${number}`, { method: "POST", body });
  await there.text();
  if (here.status !== 200 || there.status !== 200) throw new Error(`put: ${here.status}, ${there.status}`);
}

async function searchHere(yql) {
  const properties = [
    ["yql", yql],
    ["streaming.groupname", "g"],
    ["ranking", "text"],
    ["timeout", "20s"],
  ];
  const answer = await searchOnce(cluster, { properties, body: new Uint8Array(0) }, 60_000);
  return new TextDecoder().decode(answer.body);
}

function searchThere(yql) {
  const query = new URLSearchParams({ yql, "streaming.groupname": "g", ranking: "text", timeout: "20s" });
  return new Promise((resolve, reject) => {
    const request = http.get({ host: "127.0.0.1", port, path: `/search/?${query}`, agent }, (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks).toString()));
    });
    request.on("error", reject);
  });
}

async function ready() {
  for (let turn = 0; turn < 200; turn += 1) {
    const up = await fetch(`http://127.0.0.1:${port}/state/v1/health`).then(
      (it) => it.ok,
      () => false,
    );
    if (up) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the gateway does not start");
}
