import http2 from "node:http2";
import net from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const running: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(100)));
});

interface Started {
  readonly server: RunningServer;
  readonly cluster: FakeCluster;
  readonly port: number;
}

async function start(options: Partial<ServerOptions> = {}): Promise<Started> {
  const cluster = fakeCluster();
  const server = await startServer(cluster, { port: 0, ...options });
  running.push(server);
  return { server, cluster, port: server.port };
}

/** Everything a server sends to a connection that sends `parts`, each after a pause, until the connection closes. */
function converse(port: number, parts: readonly (string | Buffer)[], pauseMs = 5): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("close", () => resolve(Buffer.concat(received).toString()));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    void (async () => {
      for (const part of parts) {
        if (socket.writable) socket.write(part);
        await new Promise((next) => setTimeout(next, pauseMs));
      }
    })();
  });
}

/** A connection that asks nothing, once it is there; `end` settles when it is closed, with what came. */
async function silent(port: number): Promise<{ readonly end: Promise<string> }> {
  const socket = net.connect({ port, host: "127.0.0.1" });
  const received: Buffer[] = [];
  const end = new Promise<string>((resolve) => socket.on("close", () => resolve(Buffer.concat(received).toString())));
  socket.on("data", (chunk) => received.push(chunk));
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return { end };
}

const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", ""].join("\r\n");

const statusOf = (answer: string): number => Number(answer.split(" ")[1]);
const bodyOf = (answer: string): Record<string, unknown> => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
const PATH = "/document/v1/ns/mail/group/u1/x";
const put = (path: string, body = "{}"): string => head(`POST ${path}`, `Content-Length: ${body.length}`) + body;

describe("raw paths over HTTP/1.1", () => {
  test.each([
    ["/document/v1/ns/mail/group/u1/../u2/x", "id:ns:mail:g=u1:../u2/x"],
    ["/document/v1/ns/mail/group/u1/%2e%2e/u2/x", "id:ns:mail:g=u1:../u2/x"],
    ["/document/v1/ns/mail/group/u1/./x", "id:ns:mail:g=u1:./x"],
    ["/document/v1/ns/mail/group/u1/a\\..\\b", "id:ns:mail:g=u1:a\\..\\b"],
    ["/document/v1/ns/mail/group/u1/x#/../../u2/x", "id:ns:mail:g=u1:x"],
    ["/document/v1/ns/mail/group/u1/x%23y", "id:ns:mail:g=u1:x#y"],
    ["http://localhost/document/v1/ns/mail/group/u1/../x", "id:ns:mail:g=u1:../x"],
  ])("%s", async (target, id) => {
    const { port, cluster } = await start();
    const answer = await converse(port, [put(target)]);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(bodyOf(answer)["id"]).toBe(id);
    expect([...cluster.stored.keys()]).toEqual(["g:u1"]);
  });

  test.each(["/document//v1/ns/mail/group/u1/x", "/document/./v1/ns/mail/group/u1/x", "/../document/v1/", "*"])(
    "%s is nothing",
    async (target) => {
      const { port } = await start();
      const answer = await converse(port, [head(`OPTIONS ${target}`)]);
      expect(statusOf(answer)).toBe(404);
    },
  );

  test("a group can not be left by a path", async () => {
    const { port, cluster } = await start();
    expect(statusOf(await converse(port, [put("/document/v1/ns/mail/group/../group/u2/x")]))).toBe(400);
    expect(cluster.asked).toEqual([]);
  });
});

test.each([
  ["the host of the request", [head(`GET http://LOCALHOST${PATH}`)]],
  ["no other host beside it", [`GET http://localhost${PATH} HTTP/1.0\r\n\r\n`]],
  ["who typed the address", [head(`GET ${PATH}`, "Sec-Fetch-Site: none")]],
  ["a page of this server", [head(`GET ${PATH}`, "Sec-Fetch-Site: same-origin")]],
])("what is asked by %s is answered", async (_, parts) => {
  const { port } = await start();
  expect(statusOf(await converse(port, parts))).toBe(404);
});

test("a page of an origin that is allowed may be of another site", async () => {
  const { port } = await start({ allowedOrigins: ["https://notes.example.com"] });
  const asked = ["Sec-Fetch-Site: cross-site", "Origin: https://notes.example.com"];
  expect(statusOf(await converse(port, [head(`GET ${PATH}`, ...asked)]))).toBe(404);
  expect(statusOf(await converse(port, [head(`GET ${PATH}`, "Sec-Fetch-Site: cross-site")]))).toBe(403);
});

test("two hosts and targets of another are refused where any host is served, too", async () => {
  const { port } = await start({ host: "0.0.0.0", insecureAllowAnonymous: true });
  expect(statusOf(await converse(port, [head(`GET ${PATH}`)]))).toBe(404);
  expect(statusOf(await converse(port, [head(`GET ${PATH}`, "Host: other")]))).toBe(400);
  expect(statusOf(await converse(port, [head(`GET http://other${PATH}`)]))).toBe(421);
});

describe("limits of HTTP/1.1", () => {
  const many = Array.from({ length: 101 }, (_, index) => `x-${index}: y`);
  const big = "9".repeat(8 << 20);
  const gzipped = (bytes: Buffer): Buffer => {
    const body = gzipSync(bytes);
    return Buffer.concat([
      Buffer.from(head(`POST ${PATH}`, "Content-Encoding: gzip", `Content-Length: ${body.length}`)),
      body,
    ]);
  };
  const cases: readonly (readonly [string, readonly (string | Buffer)[], number, string])[] = [
    ["H1 a request line of 65 KiB", [head(`GET ${PATH}?${"a".repeat(65 << 10)}`)], 414, "TARGET_TOO_LONG"],
    ["H2 101 headers", [head(`GET ${PATH}`, ...many)], 431, "HEADERS_TOO_LARGE"],
    ["H2 a header of 100 KiB", [head(`GET ${PATH}`, `x: ${"y".repeat(100 << 10)}`)], 431, "HEADERS_TOO_LARGE"],
    ["headers beyond everything", [head(`GET ${PATH}`, `x: ${"y".repeat(300 << 10)}`)], 431, "HEADERS_TOO_LARGE"],
    ["H3 a length beyond the limit", [head(`POST ${PATH}`, `Content-Length: ${(8 << 20) + 1}`)], 413, "TOO_LARGE"],
    [
      "H4 chunks beyond the limit",
      [
        head(`POST ${PATH}`, "Transfer-Encoding: chunked"),
        `${big.length.toString(16)}\r\n${big}\r\n`,
        "1\r\nx\r\n0\r\n\r\n",
      ],
      413,
      "TOO_LARGE",
    ],
    [
      "H6 another encoding",
      [`${head(`POST ${PATH}`, "Content-Encoding: br", "Content-Length: 1")}x`],
      415,
      "UNSUPPORTED_ENCODING",
    ],
    [
      "H6 two layers",
      [`${head(`POST ${PATH}`, "Content-Encoding: gzip, gzip", "Content-Length: 1")}x`],
      415,
      "UNSUPPORTED_ENCODING",
    ],
    ["H7 a gzip bomb", [gzipped(Buffer.alloc(64 << 20))], 413, "TOO_LARGE"],
    ["H8 not gzip", [`${head(`POST ${PATH}`, "Content-Encoding: gzip", "Content-Length: 4")}junk`], 400, "BAD_REQUEST"],
    ["H14 another host", [`GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`], 421, "MISDIRECTED"],
    ["H15 another origin", [head("GET /", "Origin: https://evil.example")], 403, "ORIGIN_REFUSED"],
    ["H15 an origin without a name", [head(`POST ${PATH}?dryRun=true`, "Origin: null")], 403, "ORIGIN_REFUSED"],
    ["two hosts", [head("GET /", "Host: evil.example")], 400, "BAD_REQUEST"],
    ["one host twice", [head("GET /", "HOST: localhost")], 400, "BAD_REQUEST"],
    [
      "a host and a list of them",
      ["GET / HTTP/1.1\r\nHost: localhost, evil\r\nConnection: close\r\n\r\n"],
      400,
      "BAD_REQUEST",
    ],
    ["a target of another host", [head(`GET http://evil.example${PATH}`)], 421, "MISDIRECTED"],
    ["a target of another port", [head(`GET http://localhost:9${PATH}`)], 421, "MISDIRECTED"],
    ["a target with a name in it", [head(`GET http://localhost@evil.example${PATH}`)], 421, "MISDIRECTED"],
    ["a target of another host, by itself", [`GET http://evil.example${PATH} HTTP/1.0\r\n\r\n`], 421, "MISDIRECTED"],
    ["a page of another site", [head(`GET ${PATH}`, "Sec-Fetch-Site: cross-site")], 403, "ORIGIN_REFUSED"],
    ["a page of a neighbour", [head(`GET ${PATH}`, "Sec-Fetch-Site: same-site")], 403, "ORIGIN_REFUSED"],
    ["a page of who knows", [head(`GET ${PATH}`, "Sec-Fetch-Site: same-origin, none")], 403, "ORIGIN_REFUSED"],
    ["a line that is not HTTP", ["NONSENSE\r\n\r\n"], 400, "BAD_REQUEST"],
    ["a path with bytes that are not UTF-8", [Buffer.from(head(`GET ${PATH}é`), "latin1")], 400, "BAD_REQUEST"],
  ];

  test.each(cases)("%s", async (_, parts, status, code) => {
    const { port, cluster } = await start();
    const answer = await converse(port, parts);
    expect(statusOf(answer)).toBe(status);
    expect(bodyOf(answer)).toMatchObject({ outcome: "not_applied", code });
    expect(cluster.asked).toEqual([]);
  });

  test("a refused encoding lists those that are accepted", async () => {
    const { port } = await start();
    const answer = await converse(port, [`${head(`POST ${PATH}`, "Content-Encoding: br", "Content-Length: 1")}x`]);
    expect(answer.toLowerCase()).toContain("accept-encoding: gzip, identity");
  });

  test("H7 what a bomb inflates to is bounded, whatever it would come to", async () => {
    const { port } = await start();
    const before = process.memoryUsage().rss;
    const body = gzipSync(Buffer.alloc(256 << 20));
    const request = head(`POST ${PATH}`, "Content-Encoding: gzip", `Content-Length: ${body.length}`);
    const peaks = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const answer = await converse(port, [Buffer.concat([Buffer.from(request), body])]);
        return [statusOf(answer), process.memoryUsage().rss - before];
      }),
    );
    expect(peaks.map(([status]) => status)).toEqual([413, 413, 413, 413]);
    expect(Math.max(...peaks.map(([, grown]) => grown ?? 0))).toBeLessThan(128 << 20);
  });

  test("an honest gzip body is inflated", async () => {
    const { port, cluster } = await start();
    const answer = await converse(port, [gzipped(Buffer.from('{"fields":{"a":1}}'))]);
    expect(statusOf(answer)).toBe(200);
    expect(cluster.stored.get("g:u1")?.get("id:ns:mail:g=u1:x")).toBe('{"fields":{"a":1}}');
  });

  test("H5 a body that does not come is given up", async () => {
    const { port } = await start({ connectionLimits: { requestTimeoutMs: 300, headersTimeoutMs: 200 } });
    const answer = await converse(port, [`${head(`POST ${PATH}`, "Content-Length: 100")}{`]);
    expect([statusOf(answer), bodyOf(answer)["code"]]).toEqual([408, "REQUEST_TIMEOUT"]);
  });

  test("H16 headers that come too slowly close the connection, also before the first byte", async () => {
    const { port } = await start({ connectionLimits: { headersTimeoutMs: 200 } });
    const slow = ["GET / HT", ..."TP/1.1\r\nHost: localhost\r\nx-slow: aaaaaaaaaaaaaaaaaaaa".split("")];
    const answers = await Promise.all([converse(port, slow, 50), converse(port, [])]);
    expect([statusOf(answers[0]), answers[1]]).toEqual([408, ""]);
  });

  test("what is refused before it becomes a request is counted", async () => {
    const {
      port,
      server: { gateway },
    } = await start({ connectionLimits: { headersTimeoutMs: 200 } });
    const counted = async (): Promise<number> => {
      const text = await (await gateway.fetch("http://localhost/metrics")).text();
      return Number(/requests_total\{kind="other",status="4xx"\} (\d+)/.exec(text)?.[1] ?? 0);
    };
    expect(await counted()).toBe(0);
    const refused: readonly (readonly [status: number, parts: readonly string[]])[] = [
      [431, [head(`GET ${PATH}`, `x: ${"y".repeat(300 << 10)}`)]],
      [408, ["GET / HT"]],
      [400, ["GET / HTTP/1.1\r\nHost: localhost\r\n: nameless\r\n\r\n"]],
      [400, ["GET / HTTP/1.1\r\n\r\n"]],
      [417, [head(`POST ${PATH}`, "Expect: 200-ok", "Content-Length: 1")]],
    ];
    for (const [index, [status, parts]] of refused.entries()) {
      expect(statusOf(await converse(port, parts))).toBe(status);
      expect(await counted()).toBe(index + 1);
    }
    // Who says nothing is told nothing.
    expect(await converse(port, [])).toBe("");
    expect(await counted()).toBe(refused.length);
  });

  test("H17 a client that does not read its answer loses the connection", async () => {
    // One connection at a time: another is served when the first is gone.
    const limits = { sendTimeoutMs: 2_000, sendBytesPerSecond: 64 << 20, connectionsOfAddress: 1 };
    const { port, cluster } = await start({ connectionLimits: limits });
    const fields = `{"fields":{"a":"${"y".repeat(16 << 20)}"}}`;
    cluster.stored.set("g:u1", new Map([["id:ns:mail:g=u1:x", fields]]));
    const socket = net.connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    socket.write(head(`GET ${PATH}`));
    await new Promise((next) => socket.once("connect", next));
    await expect.poll(async () => statusOf(await converse(port, [head("GET /livez")]))).toBe(200);
    let received = 0;
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    await new Promise((closed) => socket.once("close", closed));
    expect(received).toBeGreaterThan(0);
    expect(received).toBeLessThan(fields.length);
    // One that reads gets all of it in the same time.
    await expect.poll(async () => (await converse(port, [head(`GET ${PATH}`)])).length).toBeGreaterThan(fields.length);
  });

  test("H19 no `100 Continue` for a body that is too large, one for a good one", async () => {
    const { port } = await start();
    const refused = await converse(port, [head(`POST ${PATH}`, "Expect: 100-continue", "Content-Length: 99999999")]);
    expect(refused).toMatch(/^HTTP\/1\.1 413 /);
    const accepted = await converse(
      port,
      [head(`POST ${PATH}`, "Expect: 100-continue", "Content-Length: 2"), "{}"],
      50,
    );
    expect(accepted).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
  });

  test("what Node would refuse without a word is refused as everything else: no host, an unknown expectation", async () => {
    const { port, cluster } = await start();
    const noHost = await converse(port, ["GET /livez HTTP/1.1\r\n\r\n"]);
    expect(noHost).toMatch(/^HTTP\/1\.1 400 .*connection: close/is);
    expect(bodyOf(noHost)).toEqual({
      message: "The request has no Host header",
      outcome: "not_applied",
      code: "BAD_REQUEST",
    });
    const expecting = await converse(port, [head(`POST ${PATH}`, "Expect: a miracle", "Content-Length: 2"), "{}"]);
    expect(expecting).toMatch(/^HTTP\/1\.1 417 /);
    expect(bodyOf(expecting)).toMatchObject({ message: expect.stringContaining("'a miracle'"), code: "UNSUPPORTED" });
    expect(cluster.asked).toEqual([]);
  });

  test("H2 the connection goes on after a refusal that read the whole request", async () => {
    const { port } = await start();
    const keep = (line: string): string => `${line} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const answer = await converse(port, [keep("GET /nosuch"), keep("PATCH /search/"), head("GET /livez")], 30);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual(["404", "405", "200"]);
  });

  test("every answer has the headers that protect it, and no version", async () => {
    const { port } = await start();
    for (const target of ["/", "/nosuch", PATH, "/search/?streaming.groupname=u1", "/application/v2/x"]) {
      const answer = (await converse(port, [head(`GET ${target}`)])).toLowerCase();
      expect(answer).toContain("x-content-type-options: nosniff");
      expect(answer).toContain("cache-control: no-store");
      expect(answer).not.toMatch(/^(server|x-powered-by):/m);
    }
  });

  test("L-conn more connections of one address than allowed are closed", async () => {
    const { port } = await start({ connectionLimits: { connectionsOfAddress: 2 } });
    const first = [await silent(port), await silent(port)];
    expect(await converse(port, [head("GET /livez")])).toBe("");
    running.splice(0).map((server) => server.close(0));
    await Promise.all(first.map(({ end }) => end));
  });
});

interface Http2Answer {
  readonly status: number;
  readonly headers: http2.IncomingHttpHeaders;
  readonly body: string;
}

function request(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let answer: http2.IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (got) => {
      answer = got;
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () =>
      resolve({ status: Number(answer[":status"]), headers: answer, body: Buffer.concat(chunks).toString() }),
    );
    if (body !== undefined) stream.end(body);
  });
}

async function withSession(port: number, use: (session: http2.ClientHttp2Session) => Promise<void>): Promise<void> {
  const session = http2.connect(`http://localhost:${port}`);
  session.on("error", () => {});
  try {
    await use(session);
  } finally {
    session.close();
  }
}

describe("HTTP/2 without TLS on the same port", () => {
  test("the handshake of the Java feed client", async () => {
    const { port } = await start();
    await withSession(port, async (session) => {
      const path = "/document/v1/feeder/handshake/docid/dummy?dryRun=true";
      expect((await request(session, { ":method": "POST", ":path": path })).status).toBe(200);
      expect((await request(session, { ":method": "POST", ":path": path }, "")).status).toBe(200);
    });
  });

  test("200 operations at a time, gzip bodies, raw paths", async () => {
    const { port, cluster } = await start();
    await withSession(port, async (session) => {
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => {
          const headers = {
            ":method": "POST",
            ":path": `/document/v1/ns/mail/group/u1/../${index}`,
            "content-encoding": "gzip",
          };
          return request(session, headers, gzipSync(`{"fields":{"a":${index}}}`));
        }),
      );
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([200]));
      expect(cluster.stored.get("g:u1")?.size).toBe(200);
      expect(cluster.stored.get("g:u1")?.get("id:ns:mail:g=u1:../7")).toBe('{"fields":{"a":7}}');
    });
  });

  test("an answer has no header of a connection, and the session outlives a refused body", async () => {
    const { port } = await start();
    await withSession(port, async (session) => {
      const refused = await request(session, { ":method": "POST", ":path": PATH }, Buffer.alloc((8 << 20) + 1));
      expect(refused.status).toBe(413);
      const answer = await request(session, { ":path": "/search/?streaming.groupname=u1" });
      expect([answer.status, JSON.parse(answer.body).root.group]).toEqual([200, "g:u1"]);
      for (const name of ["connection", "transfer-encoding", "keep-alive"])
        expect(answer.headers[name]).toBeUndefined();
    });
  });

  test("the authority is the host", async () => {
    const { port } = await start();
    await withSession(port, async (session) => {
      expect((await request(session, { ":path": "/", ":authority": "evil.example" })).status).toBe(421);
      expect((await request(session, { ":path": "/", ":authority": "127.0.0.1:1" })).status).toBe(200);
      expect((await request(session, { ":path": "/", ":method": "HEAD" })).body).toBe("");
    });
  });

  test("a client that only resets its streams is sent away", async () => {
    const { port, cluster } = await start({ connectionLimits: { streamResets: 20 } });
    cluster.gate = new Promise(() => {});
    const session = http2.connect(`http://localhost:${port}`);
    session.on("error", () => {});
    const goneAway = new Promise<number>((resolve) => session.on("goaway", resolve));
    for (let index = 0; index < 100 && !session.destroyed; index += 1) {
      const stream = session.request({ ":path": PATH });
      stream.on("error", () => {});
      setImmediate(() => stream.close(http2.constants.NGHTTP2_CANCEL));
      await new Promise((next) => setTimeout(next, 1));
    }
    expect(await goneAway).toBe(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  });

  test("the preface may come byte by byte", async () => {
    const { port } = await start();
    const preface = Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
    ]);
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    const first = new Promise<Buffer>((resolve) => socket.once("data", resolve));
    for (const byte of preface) {
      socket.write(Buffer.of(byte));
      await new Promise((next) => setTimeout(next, 1));
    }
    // The first frame of a server is its settings: type 4.
    expect((await first)[3]).toBe(4);
    socket.destroy();
  });

  test("so may HTTP/1.1, also a method that begins like the preface", async () => {
    const { port } = await start();
    expect(statusOf(await converse(port, head("GET /livez").split(""), 1))).toBe(200);
    expect(statusOf(await converse(port, ["P", put(PATH).slice(1)], 20))).toBe(200);
    expect(
      statusOf(await converse(port, ["PR", "OPFIND / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"], 20)),
    ).toBe(405);
  });
});

describe("overload", () => {
  test("a document operation that finds the queue full is told to slow down", async () => {
    const documents = { running: 1, queued: 1, waitMs: 10_000 };
    const { port, cluster } = await start({ limits: { documents } });
    let open = (): void => {};
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const first = converse(port, [put(PATH)]);
    await expect.poll(() => cluster.asked.length).toBe(1);
    // One of two waits, whichever comes first.
    const both = [converse(port, [put(PATH)]), converse(port, [put(PATH)])];
    const refused = await Promise.race(both);
    expect([statusOf(refused), bodyOf(refused)["message"]]).toEqual([
      429,
      "Rejecting execution due to overload: 1 requests already enqueued",
    ]);
    expect(refused.toLowerCase()).toContain("retry-after: 1");
    open();
    const statuses = (await Promise.all([first, ...both])).map(statusOf);
    expect(statuses.sort()).toEqual([200, 200, 429]);
  });

  test("searches wait a little for a place, then are refused; another group is served meanwhile", async () => {
    // As long as may be told as a 503.
    const searchesOfPartition = { running: 1, queued: 1, waitMs: 999 };
    const { port, cluster } = await start({ limits: { searchesOfPartition } });
    let open = (): void => {};
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const search = (group: string): Promise<string> =>
      converse(port, [head(`GET /search/?streaming.groupname=${group}`)]);
    const first = search("u1");
    await expect.poll(() => cluster.asked.length).toBe(1);
    // One of two waits, whichever comes first.
    const both = await Promise.all([search("u1"), search("u1")]);
    expect(both.map(statusOf).sort()).toEqual([429, 503]);
    const other = search("u2");
    open();
    expect([statusOf(await first), statusOf(await other)]).toEqual([200, 200]);
    expect(statusOf(await search("u1"))).toBe(200);
  });
});

describe("start and end", () => {
  test("another port for deployments, which serves the same", async () => {
    const { server, port } = await start({ configPort: 0 });
    expect(server.configPort).not.toBe(port);
    const target =
      "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/serviceconverge";
    const answer = bodyOf(await converse(server.configPort ?? 0, [head(`GET ${target}`)]));
    expect(answer["services"]).toEqual([{ clusterName: "default", type: "container", host: "localhost", port }]);
  });

  test("E14 a port in use is named, and nothing stays open", async () => {
    const { port } = await start();
    await expect(startServer(fakeCluster(), { port })).rejects.toThrow(`Port ${port} of 127.0.0.1 is in use`);
    await expect(startServer(fakeCluster(), { port: 0, configPort: port })).rejects.toThrow("is in use");
  });

  test("S-13 others may not reach a server that asks nobody for a key", async () => {
    await expect(startServer(fakeCluster(), { port: 0, host: "0.0.0.0" })).rejects.toThrow(
      "--insecure-allow-anonymous",
    );
    const open = await startServer(fakeCluster(), { port: 0, host: "0.0.0.0", insecureAllowAnonymous: true });
    running.push(open);
    const answer = await converse(open.port, ["GET /livez HTTP/1.1\r\nHost: box.lan\r\nConnection: close\r\n\r\n"]);
    expect(statusOf(answer)).toBe(200);
  });

  test("closing lets a request finish, on both protocols, answers who still comes, and then accepts no more", async () => {
    const { server, cluster, port } = await start();
    let open = (): void => {};
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const keepAlive = put(PATH).replace("Connection: close\r\n", "");
    const http1 = converse(port, [keepAlive]);
    await withSession(port, async (session) => {
      const http2Answer = request(session, { ":method": "POST", ":path": PATH }, "{}");
      await expect.poll(() => cluster.asked.length).toBe(2);
      const idle = await silent(port);
      const closed = server.close(60_000);
      const last = await converse(port, ["GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"]);
      expect(last).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is);
      const isRefused = (): Promise<boolean> =>
        converse(port, [head("GET /livez")]).then(
          () => false,
          (error: Error) => error.message.includes("ECONNREFUSED"),
        );
      await expect.poll(isRefused, { interval: 100 }).toBe(true);
      open();
      expect((await http2Answer).status).toBe(200);
      expect(await http1).toMatch(/^HTTP\/1\.1 200 /);
      expect(await idle.end).toBe("");
      await closed;
    });
  });

  test("closing cuts what does not finish", async () => {
    const { server, cluster, port } = await start();
    cluster.gate = new Promise(() => {});
    const stuck = converse(port, [put(PATH)]);
    await expect.poll(() => cluster.asked.length).toBe(1);
    await server.close(50);
    expect(await stuck).toBe("");
  });
});

test("requests that are sent ahead are done one after the other", async () => {
  const { cluster, port } = await start();
  const put = (name: string): string => {
    const body = `{"fields":{"subject":"${name}"}}`;
    const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    return `POST /document/v1/a/mail/docid/${name} HTTP/1.1\r\n${head}\r\n\r\n${body}`;
  };
  const bare = (method: string, name: string): string =>
    `${method} /document/v1/a/mail/docid/${name} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  // Of a put the body has to be read first, of the others there is nothing to read.
  const ahead = put("1") + bare("GET", "1") + bare("DELETE", "1") + put("2") + bare("DELETE", "2");
  const last = bare("GET", "2").replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
  const text = await converse(port, [ahead + last]);
  expect(text.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(["200", "200", "200", "200", "200", "404"]);
  expect([...cluster.stored.values()].map((documents) => documents.size)).toEqual([0]);
});
