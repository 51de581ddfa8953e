/** Callers that go away in the middle of a request, and those that write in the middle of a deployment. */
import net from "node:net";
import { fileURLToPath } from "node:url";
import { bool, connect, int, schema, text } from "brooklet";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { workerModules } from "../../../tools/worker.mjs";
import { addressOf, FIRST } from "../src/node/workerd.ts";
import { objectOf, startModules } from "./objects.ts";

const WORKER = fileURLToPath(new URL("held-worker.ts", import.meta.url));
const BODY_BYTES = 4 << 20;
/** As many bodies as there is room for, and one more. */
const BODIES = 5;
/** As many feeds as there are places, and one more. */
const FEEDS = 5;
const note = schema("note", { title: text() });

/** What the registry of `held-worker.ts` is told; its types are the platform's. */
interface HeldRegistry {
  hold(): Promise<void>;
  held(): Promise<boolean>;
  release(): Promise<void>;
  endNext(times: number): Promise<void>;
}

let workerd: Miniflare;
let url: URL;

beforeAll(async () => {
  workerd = startModules(await workerModules(WORKER), ["GROUP", "DIRECTORY", "REGISTRY"]);
  // The simulator's own Worker before it would wait for the answer.
  url = new URL(await addressOf(workerd, FIRST));
});

afterAll(() => workerd.dispose());

/** Begins a request. What it gives takes its connection away without a word, when `isThere`. */
function begun(
  target: string,
  headers: readonly string[],
  said = "",
  method = "POST",
): (isThere: () => Promise<boolean>) => Promise<void> {
  const socket = net.connect(Number(url.port), url.hostname);
  socket.on("error", () => undefined).resume();
  socket.write([`${method} ${target} HTTP/1.1`, "Host: worker", ...headers, "", said].join("\r\n"));
  return async (isThere) => {
    await expect.poll(isThere).toBe(true);
    socket.resetAndDestroy();
  };
}

async function figure(name: string): Promise<number> {
  const told = await (await fetch(new URL("/metrics", url))).text();
  const line = told.split("\n").find((one) => one.startsWith(`brooklet_${name} `));
  return Number(line?.split(" ").at(-1));
}

test("the first request of an isolate is told to ask again where the registry was moved", async () => {
  // One that nobody asked yet.
  const fresh = startModules(await workerModules(WORKER), ["GROUP", "DIRECTORY", "REGISTRY"]);
  onTestFinished(() => fresh.dispose());
  const status = new URL("/ApplicationStatus", await addressOf(fresh, FIRST));
  // Once more than it is asked again.
  await objectOf<HeldRegistry>(fresh, "REGISTRY", "registry").endNext(2);
  const answer = await fetch(status);
  expect(await answer.json()).toMatchObject({ code: "UNAVAILABLE", outcome: "not_applied" });
  expect(answer.status).toBe(503);
  const next = await fetch(status);
  await next.arrayBuffer();
  expect(next.status).not.toBe(500);
});

test("a Worker opens though who asked first went away meanwhile", async () => {
  const registry = objectOf<HeldRegistry>(workerd, "REGISTRY", "registry");
  await registry.hold();
  await begun("/search/", ["Content-Length: 0"])(() => registry.held());
  // What is asked now is asked after that.
  const [answer] = await Promise.all([
    fetch(new URL("/state/v1/health", url), { signal: AbortSignal.timeout(10_000) }),
    registry.release(),
  ]);
  expect(answer.status).toBe(200);
});

test("bodies that do not come to their end leave room for others", async () => {
  const client = await connect({ url: url.origin, schemas: [note], retry: { attempts: 1 } });
  for (let count = 0; count < BODIES; count += 1) {
    const headers = ["Content-Type: application/json", `Content-Length: ${BODY_BYTES}`];
    const before = await figure("request_body_bytes");
    const leave = begun("/document/v1/note/note/group/a/1", headers, '{"fields":');
    await leave(async () => (await figure("request_body_bytes")) > before);
    await expect.poll(() => figure("request_body_bytes")).toBe(0);
  }
  await client.group("a").put(note, "1", { title: "red balloon" });
});

test("a feed whose answer nobody reads gives its place back", async () => {
  await connect({ url: url.origin, schemas: [note] });
  const running = 'admission_running{queue="feeds"}';
  for (let count = 0; count < FEEDS; count += 1) {
    const headers = ["Content-Type: application/jsonl", "Accept: application/jsonl", "Transfer-Encoding: chunked"];
    const leave = begun("/brooklet/v1/feed", headers, "1\r\n\n\r\n");
    await leave(async () => (await figure(running)) === 1);
    await expect.poll(() => figure(running)).toBe(0);
  }
});

test.each([
  ["GET", ""],
  ["GET", "&stream=true"],
  ["PUT", ""],
  ["DELETE", ""],
  ["POST", "&destinationCluster=documents"],
])("%s of many documents ends when its caller goes, and gives its place back%s", async (method, more) => {
  const client = await connect({ url: url.origin, schemas: [note] });
  await client.group("endless").put(note, "1", { title: "red" });
  const running = 'admission_running{queue="visits"}';
  const body = method === "PUT" ? '{"fields":{}}' : "";
  const target = `/document/v1/note/note/docid/?cluster=documents&selection=true${more}`;
  const leave = begun(target, [`Content-Length: ${body.length}`], body, method);
  await leave(async () => (await figure(running)) === 1);
  await expect.poll(() => figure(running)).toBe(0);
  // Nobody else is to look through it.
  await client.group("endless").erase();
});

test("what is written while a deployment changes a type is refused until it is stored, and decided by it then", async () => {
  const registry = objectOf<HeldRegistry>(workerd, "REGISTRY", "registry");
  const counted = schema("counted", { title: text(), n: int() });
  const client = await connect({ url: url.origin, schemas: [note, counted], retry: { attempts: 1 } });
  const group = client.group("late");
  await group.put(note, "1", { title: "red" });
  await registry.hold();
  const deployment = client.deploy([note, schema("counted", { title: text(), n: bool() })]);
  await expect.poll(() => registry.held()).toBe(true);
  const written = group.put(counted, "1", { title: "red", n: 5 });
  await expect(written).rejects.toMatchObject({ status: 503, outcome: "not_applied" });
  await registry.release();
  await deployment;
  await group.put(counted, "1", { title: "red", n: 5 });
  const shown = await fetch(new URL("/document/v1/counted/counted/group/late/1", url));
  expect(await shown.json()).toMatchObject({ fields: { n: false } });
});
