/**
 * Who is asked when the edge is measured: the Worker in workerd, servers on Node, and places that do nothing with requests and answers as
 * long as these. What each spends is read from /proc, so it needs Linux.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import process from "node:process";
import { createInterface } from "node:readline";
import { addressOf, FIRST, startWorkerd } from "../../apps/worker/dist/node/workerd.js";

// It belongs to the Worker.
const { Miniflare } = createRequire(new URL("../../apps/worker/package.json", import.meta.url))("miniflare");

/** What the kernel counts the time of a whole process in. */
const TICK_MS = 10;
const NS_PER_MS = 1e6;
/** Bytes of an answer of ten hits. */
const ANSWER_BYTES = 5_000;

/** Processor time of a process since it began, in milliseconds. */
export function spentMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Processor time of the threads that a process has, in milliseconds; to the nanosecond, but without those that ended. */
export function threadsMs(pid) {
  let spent = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    try {
      spent += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    } catch (error) {
      if (error.code !== "ENOENT" && error.code !== "ESRCH") throw error;
    }
  }
  return spent / NS_PER_MS;
}

/** The workerd that this process started last. */
export function workerdPid() {
  const children = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const [head, rest] = readFileSync(`/proc/${name}/stat`, "utf8").split(") ");
      return head.includes("(workerd") && Number(rest.split(" ")[1]) === process.pid;
    } catch {
      return false;
    }
  });
  return Math.max(...children.map(Number));
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

/** Sends a request, by one connection that is kept for each place; the bytes of its answer. */
export function send(url, target, body) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = http.request(url + target, { agent, method: "POST", headers }, async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const answer = Buffer.concat(chunks);
      if (response.statusCode === 200) resolve(answer);
      else reject(new Error(`${response.statusCode}: ${answer}`));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** A program of Node that prints an address, in a process of its own. */
export async function startProcess(program, flags = []) {
  const child = spawn(process.execPath, [...flags, "--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { url, pid: child.pid, end: () => child.kill() };
}

/** A server on Node with one thread. */
export function startNode(flags) {
  const built = JSON.stringify(new URL("../../packages/brooklet/dist/index.js", import.meta.url).href);
  const program = `const { serve } = await import(${built});
    const service = await serve({ port: 0, threads: 1 });
    console.log(service.url);`;
  return startProcess(program, flags);
}

/** A server on Node that reads a body and answers bytes. */
export function startEmptyNode() {
  return startProcess(`import { createServer } from "node:http";
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.end(Buffer.alloc(${ANSWER_BYTES})));
    });
    server.listen(0, "127.0.0.1", () => console.log("http://127.0.0.1:" + server.address().port));`);
}

/** The Worker with its objects, as it is deployed: one script. It is reached without the Worker of the simulator that stands before it. */
export async function startEdge() {
  const workerd = startWorkerd();
  return { url: await addressOf(workerd, FIRST), pid: workerdPid(), end: () => workerd.dispose() };
}

/** A Worker that hands a body to an object, which answers bytes; one script, reached as ours is. */
export async function startEmptyEdge() {
  const script = `import { DurableObject } from "cloudflare:workers";
    export class Empty extends DurableObject { search() { return new Uint8Array(${ANSWER_BYTES}); } }
    export default { fetch: async (request, env) =>
      new Response(await env.EMPTY.getByName("one").search(new Uint8Array(await request.arrayBuffer()))) };`;
  return await startScript({
    modules: true,
    script,
    compatibilityDate: "2026-04-01",
    durableObjects: { EMPTY: { className: "Empty", useSQLite: true } },
  });
}

/** A Worker with its objects, which is reached directly. */
export async function startScript(options) {
  const name = "direct";
  const unsafeDirectSockets = [{ host: "127.0.0.1", port: 0 }];
  const workerd = new Miniflare({ workers: [{ name, ...options, unsafeDirectSockets }] });
  const { origin } = await workerd.unsafeGetDirectURL(name);
  return { url: origin, pid: workerdPid(), end: () => workerd.dispose() };
}

/** A Worker that does nothing, as the simulator starts it. */
export const startNothing = () =>
  new Miniflare({
    modules: true,
    script: "export default { fetch: () => new Response('') }",
    compatibilityDate: "2026-04-01",
  });

/** Lets go of all connections. */
export const endConnections = () => agent.destroy();
