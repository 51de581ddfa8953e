import net from "node:net";
import { tokenSecret } from "@brooklet/wire";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test, vi } from "vitest";
import { DEFAULT_LIMITS } from "../src/limits.ts";
import { HOLD_MS } from "../src/node/early-refusal.ts";
import { type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const WHY = "Rejecting execution due to overload: 99 searches already enqueued";
const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const running: RunningServer[] = [];

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(running.splice(0).map((server) => server.close(100)));
});

async function start(
  busy: readonly string[],
  options: Partial<ServerOptions> = {},
): Promise<{ readonly cluster: FakeCluster; readonly port: number; readonly counted: readonly string[] }> {
  const counted: string[] = [];
  const cluster = Object.assign(fakeCluster(), {
    overload: (key?: string) => (busy.includes(key ?? "any") ? WHY : undefined),
    countRefusal: (key?: string) => void counted.push(key ?? "any"),
  });
  const server = await startServer(cluster, { port: 0, ...options });
  running.push(server);
  return { cluster, port: server.port, counted };
}

/** A token to search one group. */
async function tokenOf(group: string): Promise<string> {
  const claims = { groups: [group], verbs: ["search"], jti: "t" };
  const token = new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).setIssuedAt().setExpirationTime("1h");
  return await token.setAudience("brooklet").sign(await tokenSecret(KEY));
}

/** The first that a server says to a request of which only the head is sent. */
function firstWords(port: number, line: string, ...headers: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: "127.0.0.1" }, () => {
      socket.write([`${line} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n"));
    });
    socket.once("data", (bytes) => {
      socket.destroy();
      resolve(bytes.toString());
    });
    socket.once("error", reject);
  });
}

const JSON_BODY = ["Content-Type: application/json", "Content-Length: 500"];
const SEARCH = "POST /search/?streaming.groupname=hot";

describe("what there is no room for is refused before its body comes", () => {
  test.each([
    ["a search of a group", ["g:hot"], SEARCH],
    ["a search whose group is in its body, when all threads are busy", ["any"], "POST /search/"],
    ["a search by what somebody typed", ["any"], "POST /brooklet/v1/search"],
    ["a retrieval", ["any"], "POST /brooklet/v1/retrieve"],
  ])("%s", async (_, busy, line) => {
    const { cluster, port, counted } = await start(busy);
    const said = await firstWords(port, line, ...JSON_BODY);
    expect(said).toMatch(/^HTTP\/1\.1 503 /);
    expect(said.toLowerCase()).toContain("\r\nretry-after: 1\r\n");
    expect(said).toContain(WHY);
    expect(said).toContain('"outcome":"not_applied"');
    expect(cluster.asked).toEqual([]);
    expect(counted).toEqual(busy);
  });

  test("with a token of that group, which need not be named", async () => {
    const { port } = await start(["g:hot"], { adminKeys: [KEY] });
    const token = await tokenOf("hot");
    const said = await firstWords(port, "POST /search/", ...JSON_BODY, `Authorization: Bearer ${token}`);
    expect(said).toMatch(/^HTTP\/1\.1 503 /);
  });

  test("not to who is not known, nor of a group that is another's: how busy it is is told to nobody else", async () => {
    const { port, counted } = await start(["g:hot"], { adminKeys: [KEY] });
    expect(await firstWords(port, SEARCH, ...JSON_BODY)).toMatch(/^HTTP\/1\.1 401 /);
    const token = await tokenOf("mine");
    const ask = async (group: string): Promise<string> => {
      const answer = await fetch(`http://127.0.0.1:${port}/search/?streaming.groupname=${group}&yql=select`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return `${answer.status} ${await answer.text()}`;
    };
    expect(await ask("hot")).toMatch(/^403 /);
    expect(await ask("hot")).toBe(await ask("cold"));
    // None of them is a search that the group's overload refused: only those keep it.
    expect(counted).toEqual([]);
  });
});

test("other groups are searched, and documents written and removed, while one group is hot", async () => {
  const { port } = await start(["g:hot"]);
  const url = `http://127.0.0.1:${port}`;
  expect((await fetch(`${url}/search/?streaming.groupname=cold&yql=select`)).status).not.toBe(503);
  expect((await fetch(`${url}/document/v1/ns/mail/group/hot/1`, { method: "POST", body: "{}" })).status).toBe(200);
  expect((await fetch(`${url}/document/v1/ns/mail/group/hot/1`, { method: "DELETE" })).status).toBe(200);
  expect((await fetch(`${url}/livez`)).status).toBe(200);
});

test("a page of another origin is told that it may not ask, not how busy it is", async () => {
  const { port, counted } = await start(["g:hot"]);
  expect(await firstWords(port, SEARCH, ...JSON_BODY, "Origin: https://evil.example")).toMatch(/^HTTP\/1\.1 403 /);
  expect(counted).toEqual([]);
});

test("operations on documents beyond the queue are refused before their bodies come, removes last", async () => {
  const documents = { running: 1, queued: 1, waitMs: 60_000 };
  const { cluster, port } = await start([], { limits: { ...DEFAULT_LIMITS, documents } });
  let open = (): void => undefined;
  cluster.gate = new Promise((resolve) => {
    open = resolve;
  });
  const url = `http://127.0.0.1:${port}/document/v1/ns/mail/group/g`;
  const put = (id: number): Promise<Response> => fetch(`${url}/${id}`, { method: "POST", body: "{}" });
  const underWay = [put(1), put(2)];
  const refused = async (): Promise<string> =>
    await firstWords(port, "POST /document/v1/ns/mail/group/g/3", ...JSON_BODY);
  await expect.poll(refused).toMatch(/^HTTP\/1\.1 429 .*Rejecting execution due to overload/s);
  open();
  expect((await Promise.all(underWay)).map(({ status }) => status)).toEqual([200, 200]);
});

test("a request that nobody can say the overload of is looked at, and ends nothing", async () => {
  const cluster = Object.assign(fakeCluster(), {
    overload: (): string | undefined => {
      throw new Error("no such name");
    },
  });
  const server = await startServer(cluster, { port: 0 });
  running.push(server);
  expect(await firstWords(server.port, "GET /search/?streaming.groupname=a%01b&yql=select")).toMatch(/^HTTP\/1\.1 \d/);
  expect((await fetch(`http://127.0.0.1:${server.port}/livez`)).status).toBe(200);
});

/** A connection on which requests are sent one after the other. */
function connection(port: number): {
  ask: (text: string) => Promise<string>;
  send: (text: string) => void;
  socket: net.Socket;
} {
  const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
  let received = "";
  let wanted: ((answer: string) => void) | undefined;
  const look = (): void => {
    const end = received.indexOf("\r\n\r\n");
    const length = Number(/content-length: (\d+)/i.exec(received.slice(0, Math.max(end, 0)))?.[1] ?? 0);
    if (end < 0 || received.length < end + 4 + length || wanted === undefined) return;
    const answer = received.slice(0, end + 4 + length);
    received = received.slice(answer.length);
    const told = wanted;
    wanted = undefined;
    told(answer);
  };
  socket.setEncoding("latin1").on("data", (text: string) => {
    received += text;
    look();
  });
  const next = (): Promise<string> =>
    new Promise((resolve) => {
      wanted = resolve;
      look();
    });
  return {
    socket,
    send: (text) => void socket.write(text),
    ask: (text) => {
      if (text !== "") socket.write(text);
      return next();
    },
  };
}

describe("on a connection that was used before, what there is no room for never comes to a parser", () => {
  const get = (path: string, ...headers: readonly string[]): string =>
    [`GET ${path} HTTP/1.1`, "Host: localhost", ...headers, "", ""].join("\r\n");
  const post = (path: string, body: string): string =>
    [`POST ${path} HTTP/1.1`, "Host: localhost", `Content-Length: ${body.length}`, "", body].join("\r\n");
  const HOT = "/search/?streaming.groupname=hot&yql=x";

  /** A server with a hot group, a connection that was used once, and how many requests a parser has seen. */
  async function used(options: Partial<ServerOptions> = {}) {
    const { port, cluster } = await start(["g:hot"], options);
    let parsed = 0;
    const [server] = running.slice(-1);
    const { take } = server?.gateway ?? {};
    if (server === undefined || take === undefined) throw new Error("no server");
    Object.assign(server.gateway, {
      take: (call: Parameters<typeof take>[0]) => {
        parsed += 1;
        take(call);
      },
    });
    const open = connection(port);
    expect(await open.ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    return { ...open, port, cluster, parsed: () => parsed };
  }

  test("the answer is the one that a parser leads to, and the connection goes on", async () => {
    const { ask, port, parsed, socket } = await used();
    const early = await ask(get(HOT));
    expect(parsed()).toBe(1);
    const usual = await connection(port).ask(get(HOT));
    expect(parsed()).toBe(2);
    const lines = (answer: string): readonly string[] =>
      answer
        .replace(/date: [^\r]*/i, "date")
        .replace(/keep-alive: [^\r]*\r\n/i, "")
        .split("\r\n")
        .map((line) => line.replace(/^[\w-]+:/, (name) => name.toLowerCase()))
        .sort();
    expect(lines(early)).toEqual(lines(usual));
    for (let turn = 0; turn < 5; turn += 1) {
      expect(await ask(get(HOT))).toMatch(/^HTTP\/1\.1 503 .*retry-after: 1\r\n/is);
      expect(await ask(get("/search/?streaming.groupname=cold&yql=select"))).not.toMatch(/^HTTP\/1\.1 503/);
    }
    expect(parsed()).toBe(7);
    socket.destroy();
  });

  test("a refusal is told a moment later, and others are answered meanwhile", async () => {
    const { ask, port, socket } = await used();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let isTold = false;
    const told = ask(get(HOT)).finally(() => {
      isTold = true;
    });
    const other = connection(port);
    for (let turn = 0; turn < 5; turn += 1) expect(await other.ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    await vi.advanceTimersByTimeAsync(HOLD_MS - 1);
    expect(await other.ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    expect(isTold).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await told).toMatch(/^HTTP\/1\.1 503 /);
    expect(await ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    other.socket.destroy();
    socket.destroy();
  });

  test("a server that is closed meanwhile tells it all the same, and one whose client has gone lives on", async () => {
    const { ask, port, socket } = await used();
    const gone = connection(port);
    await gone.ask(get("/livez"));
    gone.send(get(HOT));
    const other = connection(port);
    await other.ask(get("/livez"));
    gone.socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 2 * HOLD_MS));
    const told = ask(get(HOT));
    expect(await other.ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    other.socket.destroy();
    const closed = running.splice(-1)[0]?.close(5_000);
    expect(await told).toMatch(/^HTTP\/1\.1 503 /);
    socket.destroy();
    await closed;
  });

  test("its body is passed over, however it comes, and what comes after it is a request", async () => {
    const { ask, send, parsed, socket, cluster } = await used();
    // A body that looks like a request is none.
    const trap = `{"a":"\r\n\r\nPUT /document/v1/ns/mail/group/g/1 HTTP/1.1\r\n\r\n"}`;
    expect(await ask(post(HOT, trap))).toMatch(/^HTTP\/1\.1 503 /);
    const whole = post(HOT, trap);
    const cut = whole.length - 30;
    expect(await ask(whole.slice(0, cut))).toMatch(/^HTTP\/1\.1 503 /);
    send(whole.slice(cut));
    expect(await ask(get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    // The rest of a body, and the next request with it.
    expect(await ask(whole.slice(0, cut))).toMatch(/^HTTP\/1\.1 503 /);
    expect(await ask(whole.slice(cut) + get("/livez"))).toMatch(/^HTTP\/1\.1 200 /);
    expect(parsed()).toBe(3);
    expect(cluster.asked).toEqual([]);
    socket.destroy();
  });

  test.each([
    ["a head in pieces", (text: string) => [text.slice(0, 20), text.slice(20)]],
    ["two at once", (text: string) => [text + text]],
    [
      "a length that is said twice",
      (text: string) => [text.replace("\r\n\r\n", "\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n")],
    ],
    ["lines that end otherwise", (text: string) => [text.replace("Host: localhost\r\n", "Host: localhost\n")]],
    [
      "a connection that is to be closed",
      (text: string) => [text.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")],
    ],
    [
      "chunks",
      (text: string) => [
        text.replace("GET", "POST").replace("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      ],
    ],
  ])("%s: the parser says what that is", async (_, parts) => {
    const { ask, send, parsed, socket, port } = await used();
    const [first = "", second = ""] = parts(get(HOT));
    if (second !== "") {
      send(first);
      // As another packet.
      await fetch(`http://127.0.0.1:${port}/livez`);
    }
    const before = parsed();
    expect(await ask(second === "" ? first : second)).toMatch(/^HTTP\/1\.1 (503|400) /);
    socket.destroy();
    const isRefusedByParser = parsed() === before;
    if (!isRefusedByParser) expect(parsed()).toBeGreaterThan(before);
  });

  test("with a token that was shown before; not with none, and not for another's group", async () => {
    const { port } = await start(["g:hot"], { adminKeys: [KEY] });
    const token = `Authorization: Bearer ${await tokenOf("hot")}`;
    const mine = `Authorization: Bearer ${await tokenOf("mine")}`;
    const { ask, socket } = connection(port);
    await ask(get(HOT, token));
    await ask(get("/search/?yql=x", mine));
    expect(await ask(get(HOT, token))).toMatch(/^HTTP\/1\.1 503 /);
    expect(await ask(get(HOT, mine))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask(get(HOT))).toMatch(/^HTTP\/1\.1 401 /);
    expect(await ask(get(HOT, token))).toMatch(/^HTTP\/1\.1 503 /);
    expect(await ask(get(HOT, token, "Origin: https://evil.example"))).toMatch(/^HTTP\/1\.1 403 /);
    expect(await ask(get(HOT, token).replace("Host: localhost", "Host: evil.example"))).toMatch(/^HTTP\/1\.1 421 /);
    socket.destroy();
  });

  test("a connection carries as many requests as any (L-idle)", async () => {
    const { ask, socket } = await used({ connectionLimits: { requestsOfConnection: 4 } });
    for (const isLast of [false, false, true])
      expect(/\r\nconnection: close\r\n/i.test(await ask(get(HOT)))).toBe(isLast);
    await new Promise((closed) => socket.once("close", closed));
  });

  test("an answer that is under way is finished before the next request is refused", async () => {
    const { ask, send, cluster, socket } = await used();
    let open = (): void => undefined;
    cluster.gate = new Promise((resolve) => {
      open = resolve;
    });
    const answered = ask(get("/search/?streaming.groupname=cold&yql=select"));
    await expect.poll(() => cluster.asked.length).toBe(1);
    send(get(HOT));
    open();
    expect(await answered).not.toMatch(/^HTTP\/1\.1 503/);
    expect(await ask("")).toMatch(/^HTTP\/1\.1 503/);
    socket.destroy();
  });
});
