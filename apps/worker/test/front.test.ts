/** The port before the Worker, over both versions of HTTP, where the runtime behind it closes connections. */
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { Miniflare } from "miniflare";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../tools/free-port.mjs";
import { IDLE_MS, startFront } from "../src/node/front.ts";

interface Answered {
  readonly status: number;
  readonly type: string | undefined;
  readonly body: string;
}

/** Puts something at an address over one connection, as often as it is called. */
type Put = () => Promise<Answered>;

const BODY = JSON.stringify({ fields: { title: "the deposit" } });

/** Clients that keep their connection, by what they speak. */
const CLIENTS: Readonly<Record<string, (url: string) => Put>> = {
  "HTTP/1.1": (url) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    return async () => {
      const asked = http.request(`${url}/document`, { agent, method: "POST" });
      const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
        asked.once("response", resolve).once("error", reject).end(BODY);
      });
      return { status: answer.statusCode ?? 0, type: answer.headers["content-type"], body: await text(answer) };
    };
  },
  "HTTP/2": (url) => {
    const session = http2.connect(url);
    onTestFinished(() => session.destroy());
    return async () => {
      const stream = session.request({ ":method": "POST", ":path": "/document" });
      const head = await new Promise<http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader>((resolve, reject) => {
        stream.once("response", resolve).once("error", reject).end(BODY);
      });
      return { status: head[":status"] ?? 0, type: head["content-type"], body: await text(stream) };
    };
  },
};

/** A runtime that answers once over each connection, and keeps it or ends it when it is asked again. */
async function startRuntime(
  again: "answers" | "ends",
): Promise<{ readonly url: string; open(): number; made(): number }> {
  const connections = new Set<net.Socket>();
  let made = 0;
  const server = net.createServer((socket) => {
    connections.add(socket);
    made += 1;
    socket.once("close", () => connections.delete(socket));
    socket.on("error", () => undefined);
    let asked = 0;
    let seen = "";
    socket.on("data", (bytes) => {
      seen += bytes.toString("latin1");
      if (!seen.includes(BODY)) return;
      seen = "";
      asked += 1;
      if (asked === 1 || again === "answers") socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
      else socket.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.close();
    for (const socket of connections) socket.destroy();
  });
  const { port } = server.address() as net.AddressInfo;
  return { url: `http://127.0.0.1:${port}`, open: () => connections.size, made: () => made };
}

/** The port before a runtime; what asks there. */
async function before(url: string, client: (url: string) => Put): Promise<Put> {
  const front = await startFront(url, 0);
  onTestFinished(() => front.close());
  return client(front.url);
}

describe.each(Object.entries(CLIENTS))("asked over %s", (_, client) => {
  test("a connection that ends before an answer is told so that a feed client asks again", async () => {
    const runtime = await startRuntime("ends");
    const put = await before(runtime.url, client);
    expect(await put()).toMatchObject({ status: 200, body: "{}" });
    const unanswered = await put();
    expect(unanswered).toMatchObject({ status: 503, type: "application/json" });
    expect(JSON.parse(unanswered.body)).toMatchObject({ code: "UNAVAILABLE", outcome: "unknown" });
    // The connection to here is still there.
    expect(await put()).toMatchObject({ status: 200, body: "{}" });
  });

  test("a connection to the runtime is used again at once, and closed from here when nothing was asked for a while", async () => {
    const runtime = await startRuntime("answers");
    const put = await before(runtime.url, client);
    for (let n = 0; n < 3; n += 1) expect(await put()).toMatchObject({ status: 200, body: "{}" });
    expect(runtime.made()).toBe(1);
    await expect.poll(runtime.open).toBe(0);
    expect(await put()).toMatchObject({ status: 200, body: "{}" });
    expect(runtime.made()).toBe(2);
  });
});

test("a runtime that is not there is told in the same way", async () => {
  const port = await freePort();
  for (const client of Object.values(CLIENTS)) {
    const put = await before(`http://127.0.0.1:${port}`, client);
    expect(await put()).toMatchObject({ status: 503, type: "application/json" });
  }
});

test("the runtime keeps a connection for longer than it is left to wait from here", async () => {
  const workerd = new Miniflare({
    modules: true,
    script: "export default { fetch: () => new Response('{}') };",
    compatibilityDate: "2026-04-01",
  });
  onTestFinished(() => workerd.dispose());
  const { hostname, port } = await workerd.ready;
  const socket = net.connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const ended = new Promise((resolve) => socket.once("close", () => resolve("ended")));
  const answered = new Promise((resolve) => socket.once("data", resolve));
  socket.write(`GET / HTTP/1.1\r\nhost: ${hostname}\r\n\r\n`);
  expect(String(await answered)).toMatch(/^HTTP\/1\.1 200 /);
  expect(await Promise.race([ended, pause(3 * IDLE_MS, "kept")])).toBe("kept");
});
