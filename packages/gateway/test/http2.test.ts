/** Calls over HTTP/2: whatever a stream can do that a request of HTTP/1.1 cannot, or does otherwise. */
import http2 from "node:http2";
import net from "node:net";
import type { Answer as SearchAnswer } from "@brooklet/partition";
import { expect, onTestFinished, test } from "vitest";
import { type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";
import { settled } from "./settled.ts";

const PATH = "/document/v1/ns/mail/group/u1/x";
const ID = "id:ns:mail:g=u1:x";
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = http2.constants;

interface Connected {
  readonly cluster: FakeCluster;
  readonly session: http2.ClientHttp2Session;
  readonly port: number;
}

async function connect(options: Partial<ServerOptions> = {}, cluster = fakeCluster()): Promise<Connected> {
  const server = await startServer(cluster, { port: 0, ...options });
  const session = http2.connect(`http://localhost:${server.port}`, { maxSendHeaderBlockLength: 200 << 10 });
  session.on("error", () => {});
  onTestFinished(async () => {
    session.destroy();
    await server.close(0);
  });
  return { cluster, session, port: server.port };
}

/**
 * A request without the end of its body, in frames made by hand: Node's client ends what it resets. Settles when what
 * `reset` sends was written.
 */
async function beginRequest(port: number, path: string, part: string): Promise<{ reset: () => void }> {
  const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head.set([type, flags], 3);
    head.writeUInt32BE(stream, 5);
    return Buffer.concat([head, payload]);
  };
  const fields = { ":method": "POST", ":scheme": "http", ":authority": "localhost", ":path": path };
  const block = Object.entries(fields).flatMap(([name, value]) => [
    Buffer.from([0, name.length, ...Buffer.from(name), value.length, ...Buffer.from(value)]),
  ]);
  const [DATA, HEADERS, RST_STREAM, SETTINGS, END_HEADERS] = [0, 1, 3, 4, 4];
  const socket = net.connect({ port, host: "127.0.0.1" });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)));
  socket.write(frame(HEADERS, END_HEADERS, 1, Buffer.concat(block)));
  await new Promise<void>((written) => {
    socket.write(frame(DATA, 0, 1, Buffer.from(part)), () => written());
  });
  return { reset: () => void socket.write(frame(RST_STREAM, 0, 1, Buffer.from([0, 0, 0, NGHTTP2_CANCEL]))) };
}

interface Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: string;
  readonly rstCode: number | undefined;
}

function answerOf(stream: http2.ClientHttp2Stream): Promise<Answer> {
  return new Promise((resolve) => {
    let headers: http2.IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (got) => {
      headers = got;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", () => {});
    stream.on("close", () => {
      const body = Buffer.concat(chunks).toString();
      resolve({ status: Number(headers[":status"]), headers, body, rstCode: stream.rstCode });
    });
  });
}

function ask(session: http2.ClientHttp2Session, headers: http2.OutgoingHttpHeaders, body?: string): Promise<Answer> {
  const stream = session.request(headers, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return answerOf(stream);
}

const put = { ":method": "POST", ":path": PATH };

test.each([true, false])("a large body arrives whole, its length told: %s", async (isTold) => {
  const { session, cluster } = await connect();
  const body = `{"fields":{"a":"${"y".repeat(6 << 20)}"}}`;
  const headers = isTold ? { ...put, "content-length": body.length } : put;
  expect((await ask(session, headers, body)).status).toBe(200);
  expect(cluster.stored.get("g:u1")?.get(ID)).toBe(body);
});

test("trailers of a request are passed over", async () => {
  const { session, cluster } = await connect();
  const stream = session.request(put, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "1" }));
  stream.end("{}");
  expect((await answerOf(stream)).status).toBe(200);
  expect(cluster.stored.get("g:u1")?.get(ID)).toBe("{}");
});

test("HEAD is promised what GET is given, and gets nothing; nor does OPTIONS", async () => {
  const { session } = await connect();
  const got = await ask(session, { ":path": "/state/v1/version" });
  const promised = await ask(session, { ":method": "HEAD", ":path": "/state/v1/version" });
  expect([promised.status, promised.body]).toEqual([200, ""]);
  expect(promised.headers["content-length"]).toBe(String(got.body.length));
  const options = await ask(session, { ":method": "OPTIONS", ":path": PATH });
  expect([options.status, options.body, options.headers["content-length"]]).toEqual([204, "", undefined]);
});

test("an operation whose body is broken off is not done, and its place is free", async () => {
  const documents = { running: 1, queued: 0, waitMs: 10 };
  const { session, cluster, port } = await connect({ limits: { documents } });
  const broken = await beginRequest(port, PATH, "{");
  await expect.poll(async () => (await ask(session, put, "")).status).toBe(429);
  broken.reset();
  await expect.poll(async () => (await ask(session, { ...put, ":path": `${PATH}2` }, "{}")).status).toBe(200);
  expect([...(cluster.stored.get("g:u1")?.keys() ?? [])]).toEqual([`${ID}2`]);
});

test("an operation that was taken back while it waited for a place gives its place back", async () => {
  const { session, cluster } = await connect({ limits: { documents: { running: 1, queued: 1, waitMs: 10_000 } } });
  let open = (): void => {};
  cluster.gate = new Promise((resolve) => {
    open = resolve;
  });
  const first = ask(session, put, "{}");
  await expect.poll(() => cluster.asked.length).toBe(1);
  const second = session.request({ ...put, ":path": `${PATH}2` });
  second.on("error", () => {});
  second.end("{}");
  // What is sent on a connection comes in its order: by then the second waits …
  expect((await ask(session, { ...put, ":path": `${PATH}3` }, "{}")).status).toBe(429);
  second.close(NGHTTP2_CANCEL);
  // … and was taken back.
  expect((await ask(session, { ":path": "/state/v1/version" })).status).toBe(200);
  open();
  expect((await first).status).toBe(200);
  expect((await ask(session, { ...put, ":path": `${PATH}3` }, "{}")).status).toBe(200);
  expect([...(cluster.stored.get("g:u1")?.keys() ?? [])]).toEqual([ID, `${ID}3`]);
});

test("a feed that is broken off does not look like one that ended", async () => {
  const ends: string[] = [];
  const cluster: FakeCluster = {
    ...fakeCluster(),
    feed: async function* (input) {
      try {
        for await (const bytes of input) ends.push(`${bytes.length} bytes`);
        ends.push("whole");
      } catch {
        ends.push("broken off");
      }
      yield [];
    },
  };
  const { session, port } = await connect({}, cluster);
  const feed = { ":method": "POST", ":path": "/brooklet/v1/feed" };
  const broken = await beginRequest(port, feed[":path"], "{}\n");
  await expect.poll(() => ends).toEqual(["3 bytes"]);
  broken.reset();
  await expect.poll(() => ends).toEqual(["3 bytes", "broken off"]);
  await ask(session, feed, "{}\n{}\n");
  expect(ends.slice(2)).toEqual(["6 bytes", "whole"]);
});

test.each([
  ["101 headers", Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-${at}`, "y"])), "HEADERS_TOO_LARGE"],
  ["headers of 90 KiB", { "x-1": "y".repeat(45 << 10), "x-2": "y".repeat(45 << 10) }, "HEADERS_TOO_LARGE"],
  ["a path that is none", { ":path": "/document/v1/ns/mail/x/u1/x" }, "NOT_FOUND"],
  ["an encoding of nobody's", { ":method": "POST", "content-encoding": "br" }, "UNSUPPORTED_ENCODING"],
])("%s: refused, and the session goes on", async (_, headers, code) => {
  const { session, cluster } = await connect();
  const refused = await ask(session, { ":path": PATH, ...headers });
  expect(JSON.parse(refused.body)).toMatchObject({ code, outcome: "not_applied" });
  expect(cluster.asked).toEqual([]);
  expect((await ask(session, put, "{}")).status).toBe(200);
});

test("a refusal does not wait for the body, and does not call it an error", async () => {
  const { session } = await connect();
  const stream = session.request({ ...put, "content-length": (8 << 20) + 1 });
  stream.write("{");
  const { status, rstCode } = await answerOf(stream);
  expect([status, rstCode]).toEqual([413, NGHTTP2_NO_ERROR]);
});

test.each([
  ["too large a body", { "content-length": (8 << 20) + 1 }, 413],
  ["an encoding of nobody's", { "content-encoding": "br" }, 415],
  ["a path that is none", { ":path": "/nothing" }, 404],
])(
  "%s: the answer is there before the stream ends, also for a client that sends all it has first",
  async (_, headers, expected) => {
    const { session } = await connect();
    const stream = session.request({ ...put, ...headers });
    stream.write("{");
    let status = 0;
    stream.once("response", (told) => (status = Number(told[":status"])));
    await new Promise((resolve) => stream.resume().once("end", resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([status, stream.closed]).toEqual([expected, false]);
    const closed = new Promise((resolve) => stream.once("close", resolve));
    await new Promise<void>((resolve) => stream.end(Buffer.alloc(8 << 20), resolve));
    await closed;
    expect(stream.rstCode).toBe(NGHTTP2_NO_ERROR);
  },
);

test("nor does what is refused stay for a client that never comes to its end", async () => {
  const { session } = await connect();
  const stream = session.request({ ...put, ":path": "/nothing" });
  const sending = setInterval(() => stream.writable && stream.write("{"), 50);
  onTestFinished(() => clearInterval(sending));
  const { status, rstCode } = await answerOf(stream);
  expect([status, rstCode]).toEqual([404, NGHTTP2_NO_ERROR]);
});

test("`100 Continue` is said when the body is wanted; another expectation is not met", async () => {
  const { session } = await connect();
  const stream = session.request({ ...put, expect: "100-continue" });
  const told = new Promise<string>((resolve) => {
    stream.once("continue", () => resolve("continue"));
    stream.once("response", () => resolve("response"));
  });
  expect(await told).toBe("continue");
  const answered = answerOf(stream);
  stream.end("{}");
  expect((await answered).status).toBe(200);
  const refused = await ask(session, { ...put, expect: "a miracle" }, "{}");
  expect([refused.status, JSON.parse(refused.body)]).toEqual([
    417,
    { message: "Expect 'a miracle' is not supported: only 100-continue", outcome: "not_applied", code: "UNSUPPORTED" },
  ]);
  const connecting = { ":method": "CONNECT", ":authority": "localhost" };
  expect((await ask(session, connecting)).status).toBe(405);
});

test("a client that does not read its answer loses the stream, and no other", async () => {
  const { session, cluster } = await connect({
    connectionLimits: { sendTimeoutMs: 200, sendBytesPerSecond: 64 << 20 },
  });
  const fields = `{"fields":{"a":"${"y".repeat(4 << 20)}"}}`;
  cluster.stored.set("g:u1", new Map([[ID, fields]]));
  const stream = session.request({ ":path": PATH });
  stream.on("error", () => {});
  stream.pause();
  await expect.poll(() => stream.closed).toBe(true);
  expect(stream.rstCode).toBe(NGHTTP2_INTERNAL_ERROR);
  expect((await ask(session, put, "{}")).status).toBe(200);
});

test("a search whose stream is reset is told that nobody waits for it", async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const cluster: FakeCluster = { ...fakeCluster() };
  const inner = cluster.query;
  cluster.query = (request) => {
    const query = inner(request);
    const search = async (timeoutMs: number, gone?: AbortSignal): Promise<SearchAnswer> => {
      signals.push(gone);
      if (signals.length === 1) await new Promise((resolve) => gone?.addEventListener("abort", resolve));
      return await query.search(timeoutMs);
    };
    return { ...query, search };
  };
  const { session } = await connect({}, cluster);
  const search = { ":path": "/search/?streaming.groupname=u1&yql=select" };
  const stream = session.request(search);
  stream.on("error", () => {});
  await expect.poll(() => signals.length).toBe(1);
  stream.close(NGHTTP2_CANCEL);
  await expect.poll(() => signals[0]?.aborted).toBe(true);
  expect((await ask(session, search)).status).toBe(200);
  expect(signals[1]?.aborted).toBe(false);
});

test("a visit is read as fast as its stream is, and its place is free when that is reset", async () => {
  let made = 0;
  const page = new TextEncoder().encode(`{"put":"id:ns:mail::1","fields":{"a":"${"y".repeat(100_000)}"}}\n`);
  const cluster = {
    ...fakeCluster(),
    buckets: 1,
    visit: async () => {
      made += page.length;
      return { documents: 1, body: page, next: { partition: 1, after: String(made) } };
    },
  } as FakeCluster;
  const { session } = await connect({ limits: { visits: { running: 1, queued: 0, waitMs: 10 } } }, cluster);
  const visit = { ":path": "/document/v1/?cluster=mail&stream=true", accept: "application/jsonl" };
  const stream = session.request(visit);
  stream.on("error", () => {});
  stream.pause();
  await expect.poll(() => made).toBeGreaterThan(0);
  expect(await settled(() => made)).toBeLessThan(8 << 20);
  expect((await ask(session, { ":path": "/document/v1/?cluster=mail" })).status).toBe(429);
  stream.close(NGHTTP2_CANCEL);
  await expect.poll(async () => (await ask(session, { ":path": "/document/v1/?cluster=mail" })).status).toBe(200);
});

test("a host beside the authority says the same, or the request is refused", async () => {
  const { session, port } = await connect();
  const status = (fields: http2.OutgoingHttpHeaders): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":path": PATH, ...fields });
      stream.once("response", (headers) => resolve(headers[":status"]));
      stream.once("error", reject);
      stream.resume();
    });
  const authority = `localhost:${port}`;
  expect(await status({ ":authority": authority })).toBe(404);
  expect(await status({ ":authority": authority, host: authority })).toBe(404);
  expect(await status({ ":authority": authority, host: "evil.example" })).toBe(400);
  expect(await status({ ":authority": "evil.example" })).toBe(421);
  expect(await status({ ":authority": authority, "sec-fetch-site": "cross-site" })).toBe(403);
});
