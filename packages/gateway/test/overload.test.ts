import net from "node:net";
import { tokenSecret } from "@brooklet/wire";
import { SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../src/limits.ts";
import { type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const WHY = "Rejecting execution due to overload: 99 searches already enqueued";
const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const running: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(100)));
});

async function start(
  busy: readonly string[],
  options: Partial<ServerOptions> = {},
): Promise<{ readonly cluster: FakeCluster; readonly port: number }> {
  const cluster = Object.assign(fakeCluster(), {
    overload: (key?: string) => (busy.includes(key ?? "any") ? WHY : undefined),
  });
  const server = await startServer(cluster, { port: 0, ...options });
  running.push(server);
  return { cluster, port: server.port };
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
    const { cluster, port } = await start(busy);
    const said = await firstWords(port, line, ...JSON_BODY);
    expect(said).toMatch(/^HTTP\/1\.1 503 /);
    expect(said.toLowerCase()).toContain("\r\nretry-after: 1\r\n");
    expect(said).toContain(WHY);
    expect(said).toContain('"outcome":"not_applied"');
    expect(cluster.asked).toEqual([]);
  });

  test("with a token of that group, which need not be named", async () => {
    const { port } = await start(["g:hot"], { adminKeys: [KEY] });
    const token = await tokenOf("hot");
    const said = await firstWords(port, "POST /search/", ...JSON_BODY, `Authorization: Bearer ${token}`);
    expect(said).toMatch(/^HTTP\/1\.1 503 /);
  });

  test("not to who is not known, nor of a group that is another's: how busy it is is told to nobody else", async () => {
    const { port } = await start(["g:hot"], { adminKeys: [KEY] });
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
  const { port } = await start(["g:hot"]);
  expect(await firstWords(port, SEARCH, ...JSON_BODY, "Origin: https://evil.example")).toMatch(/^HTTP\/1\.1 403 /);
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
