import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startServer } from "../src/node/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const CLIENTS = 100;
/** Far above what it takes, however busy the machine is: what is not done by then is cut. */
const PATIENCE_MS = 60_000;
const PATH = "/document/v1/ns/mail/group/u1/x";

/** How often each of what happened to a client did. */
type Tally = Record<string, number>;

function count(tally: Tally, what: string): void {
  tally[what] = (tally[what] ?? 0) + 1;
}

/** Asks again and again on one connection, until it is told that this was the last answer there. */
async function untilTold(port: number, tally: Tally, isStopping: () => boolean, served: () => void): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  for (;;) {
    const isLast = await new Promise<boolean>((resolve) => {
      const asked = http.request({ host: "127.0.0.1", port, path: PATH, method: "POST", agent }, (incoming) => {
        incoming.resume().once("end", () => {
          count(tally, String(incoming.statusCode));
          served();
          resolve(incoming.headers.connection === "close");
        });
      });
      asked.once("error", (error: NodeJS.ErrnoException) => {
        count(tally, error.code ?? error.message);
        resolve(true);
      });
      asked.end("{}");
    });
    if (isLast) break;
    await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 40));
  }
  agent.destroy();
  count(tally, isStopping() ? "told" : "told too early");
}

test("of many clients that ask on and on none loses a request when the server stops", async () => {
  const server = await startServer(fakeCluster(), { port: 0 });
  let isStopping = false;
  const tally: Tally = {};
  const served = new Set<number>();
  const clients = Array.from({ length: CLIENTS }, (_, at) =>
    untilTold(
      server.port,
      tally,
      () => isStopping,
      () => served.add(at),
    ),
  );
  // Each is connected by then: who only begins to may be refused.
  await expect.poll(() => served.size).toBe(CLIENTS);
  isStopping = true;
  const closed = server.close(PATIENCE_MS);
  await Promise.all(clients);
  await closed;
  expect(Object.keys(tally).sort()).toEqual(["200", "told"]);
  expect(tally["told"]).toBe(CLIENTS);
});

test("a request that comes while a server that stops has no turn is answered", async () => {
  const server = await startServer(fakeCluster(), { port: 0 });
  const socket = net.connect(server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const ask = async (): Promise<string> => {
    socket.write(`GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return String((await once(socket, "data"))[0]);
  };
  expect(await ask()).toMatch(/^HTTP\/1\.1 200 /);
  const closed = server.close(PATIENCE_MS);
  const answer = ask();
  // Both are of this process: for half a second nobody reads what was sent.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
  expect(await answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
  await closed;
});

test("a client of HTTP/2 hears that it should go before it has to, and what it asks until then is answered", async () => {
  const server = await startServer(fakeCluster(), { port: 0 });
  const session = http2.connect(`http://127.0.0.1:${server.port}`);
  onTestFinished(() => void session.destroy());
  let lastStream = -1;
  session.on("goaway", (_code, last: number) => {
    if (lastStream < 0) lastStream = last;
  });
  const ask = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ":method": "POST", ":path": PATH, ":authority": "localhost" });
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
      stream.once("error", reject);
      stream.resume().end("{}");
    });
  expect(await ask()).toBe(200);
  const asked = [ask(), ask(), ask()];
  // They are on their way when the server says goodbye.
  await new Promise((resolve) => setImmediate(resolve));
  const closed = server.close(PATIENCE_MS);
  expect(await Promise.all(asked)).toEqual([200, 200, 200]);
  await closed;
  expect(lastStream).toBe(2 ** 31 - 1);
});

test("a server that nobody asks any more stops soon, whatever it was given to stop", async () => {
  const server = await startServer(fakeCluster(), { port: 0 });
  await (await fetch(`http://127.0.0.1:${server.port}/livez`)).text();
  const begun = performance.now();
  await server.close();
  expect(performance.now() - begun).toBeLessThan(25_000);
});
