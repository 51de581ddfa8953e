/**
 * Bodies that are read as they come: a feed may take as long as it makes progress, and whatever ends one after the first
 * operation that was done, what it answers is not that nothing was.
 */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { text as bodyText } from "node:stream/consumers";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const FEED = "/brooklet/v1/feed";
const line = (name: string): string => `{"put":"id:a:mail::${name}"}\n`;
const running: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

async function start(
  connectionLimits: ServerOptions["connectionLimits"] = {},
  cluster: FakeCluster = fakeCluster(),
): Promise<RunningServer> {
  const server = await startServer(cluster, { port: 0, connectionLimits });
  running.push(server);
  return server;
}

/** A request whose body is sent by and by. */
interface Slow {
  write(text: string): void;
  end(): void;
  readonly answer: Promise<{ readonly status: number; readonly text: string }>;
}

type Open = (port: number, path: string, headers?: Readonly<Record<string, string>>) => Slow;

const overHttp1: Open = (port, path, headers = {}) => {
  const request = http.request({ host: "127.0.0.1", port, path, method: "POST", headers });
  request.flushHeaders();
  const answer = once(request, "response").then(async ([incoming]: http.IncomingMessage[]) => {
    let text = "";
    for await (const part of incoming ?? []) text += part;
    return { status: incoming?.statusCode ?? 0, text };
  });
  request.on("error", () => {});
  return { write: (text) => void request.write(text), end: () => void request.end(), answer };
};

const overHttp2: Open = (port, path, headers = {}) => {
  const session = http2.connect(`http://localhost:${port}`);
  session.on("error", () => {});
  const stream = session.request({ ":method": "POST", ":path": path, ...headers }, { endStream: false });
  stream.on("error", () => {});
  const answer = once(stream, "response").then(async ([told]: http2.IncomingHttpHeaders[]) => {
    let text = "";
    for await (const part of stream) text += part;
    session.destroy();
    return { status: Number(told?.[":status"]), text };
  });
  return { write: (text) => void stream.write(text), end: () => void stream.end(), answer };
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const BOTH: readonly (readonly [string, Open])[] = [
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
];

test.each(BOTH)("%s: a feed that goes on takes longer than a request may", async (_, open) => {
  const { port } = await start({ requestTimeoutMs: 1_000, headersTimeoutMs: 900, streamTimeoutMs: 60_000 });
  const feed = open(port, FEED);
  for (const name of ["1", "2", "3", "4"]) {
    feed.write(line(name));
    await pause(300);
  }
  feed.end();
  const { status, text } = await feed.answer;
  expect([status, JSON.parse(text)]).toEqual([200, { operations: 4, applied: 4, failed: 0, ignored: 0, failures: [] }]);
});

const TOO_SLOW = { status: 408, code: "REQUEST_TIMEOUT", message: expect.stringContaining("L-slow") };

test.each(BOTH)("%s: a feed of which nothing more comes is ended, with what was done", async (_, open) => {
  const { port } = await start({ streamTimeoutMs: 600 });
  const begun = open(port, FEED);
  begun.write(line("1"));
  const { status, text } = await begun.answer;
  const counts = { operations: 1, applied: 1, failed: 0, ignored: 0 };
  expect([status, JSON.parse(text)]).toEqual([408, { ...counts, ...TOO_SLOW, outcome: "unknown", failures: [] }]);
  const untouched = await open(port, FEED).answer;
  expect([untouched.status, JSON.parse(untouched.text)]).toMatchObject([408, { applied: 0, outcome: "not_applied" }]);
  const lines = open(port, FEED, { accept: "application/jsonl" });
  lines.write(line("1"));
  const told = (await lines.answer).text.trimEnd().split("\n");
  expect(JSON.parse(told.at(-1) ?? "")).toEqual({ ...counts, ...TOO_SLOW, outcome: "unknown" });
});

test.each(BOTH)("%s: a body that is wanted whole has one time for all of it", async (_, open) => {
  const { port } = await start({ requestTimeoutMs: 200, streamTimeoutMs: 60_000 });
  const put = open(port, "/document/v1/ns/mail/group/u1/x");
  put.write("{");
  const { status, text } = await put.answer;
  expect([status, JSON.parse(text)]).toMatchObject([408, { code: "REQUEST_TIMEOUT", outcome: "not_applied" }]);
});

test("the rest of a body that nobody reads is not waited for without end", async () => {
  const { port } = await start({ requestTimeoutMs: 200, streamTimeoutMs: 60_000 });
  const agent = new http.Agent({ keepAlive: true });
  const options = { host: "127.0.0.1", port, path: "/nothing", method: "POST", agent };
  const request = http.request({ ...options, headers: { "content-length": "10" } });
  request.on("error", () => {});
  const closed = once(request, "close");
  request.write("12345");
  const [incoming] = (await once(request, "response")) as [http.IncomingMessage];
  expect(incoming.statusCode).toBe(404);
  incoming.resume();
  await closed;
  agent.destroy();
});

test("a feed that is answered before its end, as lines, keeps no connection", async () => {
  const { port } = await start({ idleTimeoutMs: 900_000, requestTimeoutMs: 900_000 });
  const socket = net.connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const body = `${line("1")}broken`;
  const head = `POST ${FEED} HTTP/1.1\r\nhost: localhost\r\naccept: application/jsonl\r\ntransfer-encoding: chunked`;
  socket.write(`${head}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n`);
  expect(await bodyText(socket)).toContain("should begin");
});

test.each(BOTH)("%s: a server that stops tells what was done of a feed", async (_, open) => {
  const cluster = fakeCluster();
  const server = await start({}, cluster);
  const feed = open(server.port, FEED, { accept: "application/jsonl" });
  feed.write(line("1"));
  feed.write(line("2"));
  await expect.poll(() => cluster.fed.length).toBe(2);
  const closed = server.close(500);
  const told = (await feed.answer).text.trimEnd().split("\n");
  expect(JSON.parse(told.at(-1) ?? "")).toMatchObject({ applied: 2, code: "UNAVAILABLE", outcome: "unknown" });
  await closed;
});
