/**
 * What the gateway itself costs: the latency of a request over a kept connection to a gateway before a cluster that
 * answers at once, less that of a bare HTTP server that reads and answers the same bytes. Run it after a build:
 * `node bench/overhead.mjs [requests]`. It ends with status 1 if a median is over the budget of 0.4 ms.
 */
import { fork } from "node:child_process";
import http from "node:http";
import { startServer } from "../dist/node/index.js";

const BUDGET_US = 400;
const ANSWER = Buffer.from(
  `{"root":{"id":"toplevel","children":[${Array(10).fill('{"id":"id:ns:mail:g=u1:1","relevance":0.5,"fields":{"subject":"something"}}').join()}]}}`,
);
const VECTOR = Array.from({ length: 384 }, (_, index) => (Math.sin(index) / 20).toFixed(6));
const QUERY = JSON.stringify({
  yql: "select * from mail where {targetHits:10}nearestNeighbor(embedding, q) or userQuery()",
  query: "lease deposit",
  "input.query(q)": `[${VECTOR.join()}]`,
  "streaming.groupname": "u1",
  ranking: "hybrid",
});
const DOCUMENT = JSON.stringify({ fields: { subject: "lease", body: "who pays the deposit? ".repeat(60) } });
const PATH = "/document/v1/ns/mail/group/u1/1";
const WORK = [
  { name: "search", method: "POST", path: "/search/", body: QUERY },
  { name: "put", method: "POST", path: PATH, body: DOCUMENT },
  { name: "get", method: "GET", path: PATH, body: "" },
];

const answer = { status: 200, contentType: "application/json", body: ANSWER, bytesRead: 0, bytesScanned: 0 };
const partition = {
  apply: async () => ({ status: 200 }),
  get: async () => answer,
  search: async () => answer,
};
const application = {
  schemas: [{ name: "mail", cluster: "mail", fields: [] }],
  clusters: [],
  warnings: [],
  fingerprint: "",
};
const cluster = {
  partition: () => partition,
  search: async () => answer,
  deploy: async () => application,
  application: () => application,
  close: async () => {},
};

/** Reads all of a request and answers with fixed bytes. */
function bareServer() {
  const server = http.createServer((incoming, outgoing) => {
    incoming.resume();
    incoming.on("end", () => {
      outgoing.writeHead(200, { "content-type": "application/json", "content-length": ANSWER.length });
      outgoing.end(ANSWER);
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
}

function exchange(agent, port, work) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(work.body) };
    const request = http.request(
      { agent, port, host: "127.0.0.1", method: work.method, path: work.path, headers },
      (got) => {
        if (got.statusCode !== 200) reject(new Error(`${work.name}: status ${got.statusCode}`));
        got.resume();
        got.on("end", resolve);
      },
    );
    request.on("error", reject);
    request.end(work.body);
  });
}

/** Latencies of both servers in turns, so that a busy machine is busy for both. */
async function measure(ports, work, requests) {
  const agents = ports.map(() => new http.Agent({ keepAlive: true, maxSockets: 1 }));
  const latencies = ports.map(() => []);
  for (let index = 0; index < requests * 1.5; index += 1) {
    for (const [which, port] of ports.entries()) {
      const startedAt = performance.now();
      await exchange(agents[which], port, work);
      if (index >= requests / 2) latencies[which].push((performance.now() - startedAt) * 1_000);
    }
  }
  for (const agent of agents) agent.destroy();
  return latencies.map((all) => all.sort((left, right) => left - right));
}

const at = (sorted, part) => Math.round(sorted[Math.floor(sorted.length * part)]);

async function main() {
  const requests = Number(process.argv[2] ?? 4_000);
  const servers = ["bare", "gateway"].map((kind) => fork(new URL(import.meta.url).pathname, ["serve", kind]));
  const ports = await Promise.all(servers.map((server) => new Promise((resolve) => server.once("message", resolve))));
  let failed = false;
  for (const work of WORK) {
    const [bare, gateway] = await measure(ports, work, requests);
    const overhead = at(gateway, 0.5) - at(bare, 0.5);
    failed ||= overhead > BUDGET_US;
    const row = {
      request: work.name,
      bare_p50_us: at(bare, 0.5),
      gateway_p50_us: at(gateway, 0.5),
      overhead_p50_us: overhead,
    };
    console.log(JSON.stringify({ ...row, bare_p99_us: at(bare, 0.99), gateway_p99_us: at(gateway, 0.99) }));
  }
  for (const server of servers) server.disconnect();
  process.exitCode = failed ? 1 : 0;
}

async function serve(kind) {
  process.once("disconnect", () => process.exit(0));
  const limits = { requestsOfConnection: 10_000_000 };
  process.send(
    kind === "bare" ? await bareServer() : (await startServer(cluster, { port: 0, connectionLimits: limits })).port,
  );
}

await (process.argv[2] === "serve" ? serve(process.argv[3]) : main());
