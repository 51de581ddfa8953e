/** Request lines with bytes beyond ASCII, as curl sends what is typed: they are UTF-8, and mean what they mean encoded. */
import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import type { OperationRequest, SearchRequest } from "@brooklet/partition";
import { afterEach, describe, expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { type RunningServer, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const running: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(0)));
});

async function start(): Promise<{ readonly port: number; readonly cluster: FakeCluster }> {
  const cluster = fakeCluster();
  const server = await startServer(cluster, { port: 0, connectionLimits: { idleTimeoutMs: 60_000 } });
  running.push(server);
  return { port: server.port, cluster };
}

/** A connection whose answers can be waited for. */
class Client {
  readonly socket: net.Socket;
  received = "";

  constructor(port: number) {
    this.socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    this.socket.on("data", (bytes: Buffer) => {
      this.received += bytes.toString("latin1");
    });
    this.socket.on("error", () => {});
  }

  /** Sends pieces, each in a turn of its own. */
  async send(...pieces: readonly (string | Buffer)[]): Promise<void> {
    for (const piece of pieces) {
      await new Promise((sent) => this.socket.write(piece, sent));
      await new Promise((next) => setTimeout(next, 2));
    }
  }

  async answers(count: number): Promise<readonly number[]> {
    while (this.statuses().length < count && !this.socket.closed)
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    return this.statuses();
  }

  /** The statuses of all answers, when the server has closed the connection. */
  async all(): Promise<readonly number[]> {
    if (!this.socket.closed) await once(this.socket, "close");
    return this.statuses();
  }

  statuses(): readonly number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  }
}

const request = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
const searched = ({ asked }: FakeCluster): unknown[] =>
  asked.map((one) => (one.request as SearchRequest).properties.find(([name]) => name === "query")?.[1]);
const search = (query: string): string => request(`GET /search/?query=${query}&streaming.groupname=u1`);

describe("over HTTP/1.1", () => {
  test("a query as it is typed", async () => {
    const { port, cluster } = await start();
    const client = new Client(port);
    await client.send(search("españa 日本".replace(" ", "+")));
    expect(await client.all()).toEqual([200]);
    expect(searched(cluster)).toEqual(["españa 日本"]);
    expect(client.received.toLowerCase()).toContain("connection: close");
  });

  test("in pieces of one byte", async () => {
    const { port, cluster } = await start();
    const client = new Client(port);
    await client.send(...[...Buffer.from(search("año"))].map((byte) => Buffer.from([byte])));
    expect(await client.all()).toEqual([200]);
    expect(searched(cluster)).toEqual(["año"]);
  });

  test("after other requests on the connection", async () => {
    const { port, cluster } = await start();
    const client = new Client(port);
    await client.send(search("one"));
    await client.answers(1);
    await client.send(search("two"));
    await client.answers(2);
    await client.send(search("tres años"));
    expect(await client.all()).toEqual([200, 200, 400]);
    const again = new Client(port);
    await again.send(search("one"));
    await again.answers(1);
    await again.send(search("años"));
    expect(await again.all()).toEqual([200, 200]);
    expect(searched(cluster)).toEqual(["one", "two", "one", "años"]);
  });

  test("together with requests before it, which are answered first", async () => {
    const { port, cluster } = await start();
    let open = (): void => {};
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const client = new Client(port);
    await client.send(search("one") + search("two") + search("años"));
    while (cluster.asked.length < 1) await new Promise((next) => setImmediate(next));
    open();
    expect(await client.all()).toEqual([200, 200, 200]);
    expect(searched(cluster)).toEqual(["one", "two", "años"]);
  });

  test("after others on a connection that is kept, in several packets", async () => {
    const { port, cluster } = await start();
    const target = Buffer.from(request("GET /document/v1/ns/mail/group/ñu/日"));
    const put = `{"fields":{"a":"no line ends here"}}`;
    const befores: readonly (readonly string[])[] = [
      [request("GET /document/v1/ns/mail/group/u1/1")],
      // Bodies that end without a line, as texts, as a method, as a request that is none.
      ...[put, `${put}GET`, "GET /x", "a GET "].map((body) => [
        request("POST /document/v1/ns/mail/group/u1/1", `Content-Length: ${body.length}`),
        body,
      ]),
    ];
    for (const before of befores) {
      for (const cut of [1, 4, target.indexOf("ñ"), target.indexOf("ñ") + 1]) {
        for (const isPipelined of [false, true]) {
          const client = new Client(port);
          const [first, ...rest] = [target.subarray(0, cut), target.subarray(cut, -1), target.subarray(-1)];
          if (isPipelined)
            await client.send(...before.slice(0, -1), Buffer.concat([Buffer.from(before.at(-1) ?? ""), first]));
          else {
            await client.send(...before);
            await client.answers(1);
            await client.send(first);
          }
          await client.send(...rest);
          const about = `${before.at(-1)} ${cut} ${isPipelined}`;
          expect([about, (await client.all()).length, client.received]).toEqual([
            about,
            2,
            expect.not.stringContaining("valid HTTP"),
          ]);
          const asked = cluster.asked.at(-1);
          expect([about, asked?.partition, asked?.request]).toMatchObject([
            about,
            "g:ñu",
            { id: "id:ns:mail:g=ñu:日" },
          ]);
        }
      }
    }
  });

  const body = `{"fields":{"a":"ñ\\n","b":"GET /ñ HTTP/1.1"}}`;
  const chunked = `5\r\n${body.slice(0, 5)}\r\n${(Buffer.byteLength(body) - 5).toString(16)}\r\n${body.slice(5)}\r\n0\r\n\r\n`;

  test.each([
    ["with a length", `Content-Length: ${Buffer.byteLength(body)}`, body],
    ["in chunks", "Transfer-Encoding: chunked", chunked],
  ])("a body %s comes as it is", async (_, header, sent) => {
    const { port, cluster } = await start();
    const head = request("POST /document/v1/ns/mail/group/ñu/日", header);
    const bytes = Buffer.from(sent);
    for (const before of ["", search("one")]) {
      const client = new Client(port);
      if (before !== "") {
        await client.send(before);
        await client.answers(1);
      }
      await client.send(head, bytes.subarray(0, 20), bytes.subarray(20, 40), bytes.subarray(40));
      expect((await client.all()).at(-1)).toBe(200);
      const [{ partition, request: put } = { partition: undefined, request: undefined }] = cluster.asked.slice(-1);
      expect([partition, (put as OperationRequest).id]).toEqual(["g:ñu", "id:ns:mail:g=ñu:日"]);
      expect(new TextDecoder().decode((put as OperationRequest).body)).toBe(body);
    }
  });

  test("what is no UTF-8, or no request, is refused as ever", async () => {
    const { port, cluster } = await start();
    const refused = async (bytes: Buffer): Promise<readonly number[]> => {
      const client = new Client(port);
      await client.send(bytes);
      return await client.all();
    };
    expect(await refused(Buffer.from(search("españa"), "latin1"))).toEqual([400]);
    expect(await refused(Buffer.from([0x16, 0x03, 0x01, 0xff, 0x0a, 0xff]))).toEqual([400]);
    expect(await refused(Buffer.from("GET ñ ñ HTTP/1.1\r\n\r\n"))).toEqual([400]);
    expect(cluster.asked).toEqual([]);
  });
});

test("over HTTP/2", async () => {
  const { port, cluster } = await start();
  const session = http2.connect(`http://localhost:${port}`);
  const path = Buffer.from("/search/?query=españa+日&streaming.groupname=u1").toString("latin1");
  const stream = session.request({ ":method": "GET", ":path": path });
  const [headers] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  session.destroy();
  expect([headers[":status"], searched(cluster)]).toEqual([200, ["españa 日"]]);
});

test("in process, and in a form", async () => {
  const cluster = fakeCluster();
  const gateway = createGateway({ cluster });
  const address = "http://localhost/search/?streaming.groupname=u1";
  expect((await gateway.fetch(`${address}&query=españa+日`)).status).toBe(200);
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  expect((await gateway.fetch(address, { method: "POST", headers, body: "query=españa+日" })).status).toBe(200);
  expect(searched(cluster)).toEqual(["españa 日", "españa 日"]);
});
