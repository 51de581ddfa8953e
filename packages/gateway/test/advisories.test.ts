/**
 * Weaknesses that were published of what the gateway stands on, or of what is like it, each tried against the gateway (S-35). An
 * upgrade of a library runs against all of them. Those of a part that is not used are named by what is used in its place.
 */
import { tokenSecret } from "@brooklet/wire";
import { Hono } from "hono";
import { CompactEncrypt, SignJWT } from "jose";
import { afterEach, describe, expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { type RunningServer, type ServerOptions, startServer } from "../src/node/index.ts";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const DOCUMENT = "/document/v1/mail/mail/group/bob/1";
const MIB = 1 << 20;
const running: RunningServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close(100)));
});

async function start(options: Partial<ServerOptions> = {}): Promise<{ port: number; cluster: FakeCluster }> {
  const cluster = fakeCluster();
  const server = await startServer(cluster, { port: 0, ...options });
  running.push(server);
  return { port: server.port, cluster };
}

/** What a server answers to bytes as they are, without anybody who looks at them first. */
async function send(port: number, bytes: Buffer | string): Promise<string> {
  const { connect } = await import("node:net");
  return await new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const received: Buffer[] = [];
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", () => {});
    socket.on("close", () => resolve(Buffer.concat(received).toString()));
    socket.write(bytes);
  });
}

const statusOf = (answer: string): number => Number(answer.split(" ")[1]);
const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers, "", ""].join("\r\n");

async function token(scheme: string): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  const claims = {
    groups: ["alice"],
    verbs: ["get"],
    iat: now,
    exp: now + 600,
    aud: "brooklet",
    jti: crypto.randomUUID(),
  };
  const signed = new SignJWT(claims).setProtectedHeader({ alg: "HS256", typ: "JWT" });
  return `${scheme} ${await signed.sign(await tokenSecret(KEY))}`;
}

/** Ways to write a path that some router or file server takes for the same as the plain one. */
function spellings(path: string): readonly string[] {
  const [, first = "", ...rest] = path.split("/");
  const after = rest.join("/");
  const hex = (character: string): string => `%${character.charCodeAt(0).toString(16)}`;
  return [
    `/${path}`,
    `//${first}//${after}`,
    `/${first}%2F${after}`,
    `/${first}%2f${after}`,
    `/${first}%5C${after}`,
    `/${first}\\${after}`,
    `/${hex(first.charAt(0))}${first.slice(1)}/${after}`,
    `/%25${hex(first.charAt(0)).slice(1)}${first.slice(1)}/${after}`,
    `/${first.toUpperCase()}/${after}`,
    `/./${first}/${after}`,
    `/livez/../${first}/${after}`,
    `/livez/%2e%2e/${first}/${after}`,
    `/livez%2F..%2F${first}/${after}`,
    `/livez;/../${first}/${after}`,
    `/livez?/${first}/${after}`,
    `/livez#/${first}/${after}`,
    `/${first}/${after}/`,
    `/${first}/${after}/.`,
    `/${first};livez/${after}`,
    `/${first}%00/${after}`,
    `/\u00e9/../${first}/${after}`,
  ];
}

const PROTECTED: readonly (readonly [string, string])[] = [
  ["GET", DOCUMENT],
  ["DELETE", DOCUMENT],
  ["GET", "/search/?yql=select%20*%20from%20mail%20where%20true&streaming.groupname=bob"],
  ["GET", "/brooklet/v1/groups"],
  ["DELETE", "/brooklet/v1/groups/bob"],
  ["GET", "/metrics"],
  ["POST", "/application/v2/tenant/default/prepareandactivate"],
];

describe("a path that is written otherwise (CVE-2026-29045, CVE-2026-39407, CVE-2026-54286: what guards and what serves read it differently)", () => {
  test("reaches nothing without a key or token", async () => {
    const { port, cluster } = await start({ adminKeys: [KEY] });
    for (const [method, path] of PROTECTED)
      for (const target of spellings(path)) {
        const answer = await send(port, Buffer.from(head(`${method} ${target}`)));
        // What is /livez however it goes on is answered, as /livez is.
        const isAlive = /^\/livez[?#]/.test(target) && method === "GET";
        expect([method, target, [400, 401, 404, 405, 421].includes(statusOf(answer)) || isAlive]).toEqual([
          method,
          target,
          true,
        ]);
      }
    expect([cluster.asked, cluster.packages]).toEqual([[], []]);
  });

  test("reaches no group that a token does not", async () => {
    const { port, cluster } = await start({ adminKeys: [KEY] });
    cluster.stored.set("g:bob", new Map([["id:mail:mail:g=bob:1", '{"fields":{"subject":"of bob"}}']]));
    const authorization = `Authorization: ${await token("Bearer")}`;
    for (const target of [
      DOCUMENT,
      ...spellings(DOCUMENT),
      ...spellings(DOCUMENT.replace("group/bob", "group/alice/../bob")),
    ]) {
      const answer = await send(port, Buffer.from(head(`GET ${target}`, authorization)));
      expect([target, answer.includes("of bob")]).toEqual([target, false]);
    }
    expect(cluster.asked.map(({ partition }) => partition).filter((key) => key !== "g:alice")).toEqual([]);
  });

  test("is the same path to who mounts the gateway (CVE-2026-47676: a prefix that is cut off where it does not end)", async () => {
    const cluster = fakeCluster();
    cluster.stored.set("g:alice", new Map([["id:mail:mail:g=alice:1", '{"fields":{"subject":"of alice"}}']]));
    cluster.stored.set("g:bob", new Map([["id:mail:mail:g=bob:1", '{"fields":{"subject":"of bob"}}']]));
    const gateway = createGateway({ cluster, authorise: () => ({ groups: ["alice"], verbs: ["get"] }) });
    const host = new Hono().mount("/s\u00fcche", gateway.fetch);
    for (const prefix of ["/s\u00fcche", "/s%C3%BCche", "/s%c3%bcche"]) {
      const of = async (group: string): Promise<Response> =>
        await host.request(`http://localhost${prefix}/document/v1/mail/mail/group/${group}/1`);
      const [own, foreign] = [await of("alice"), await of("bob")];
      expect([prefix, own.status, (await own.text()).includes("of alice")]).toEqual([prefix, 200, true]);
      expect([prefix, foreign.status, (await foreign.text()).includes("of bob")]).toEqual([prefix, 403, false]);
    }
  });
});

describe("a body", () => {
  const chunk = (bytes: number): Buffer =>
    Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), Buffer.alloc(bytes, "x"), Buffer.from("\r\n")]);
  const POSTS = [DOCUMENT, "/search/", "/brooklet/v1/search", "/brooklet/v1/retrieve"];

  test.each(POSTS)(
    "of no length is refused by what comes, before it is acted on: %s (CVE-2026-44456)",
    async (path) => {
      const { port, cluster } = await start();
      const body = Buffer.concat([...Array.from({ length: 80 }, () => chunk(MIB)), Buffer.from("0\r\n\r\n")]);
      const opening = head(`POST ${path}`, "Content-Type: application/json", "Transfer-Encoding: chunked");
      const answer = await send(port, Buffer.concat([Buffer.from(opening), body]));
      // Who sends on after a refusal may lose it with the connection.
      expect(["", "413"]).toContain(answer.slice(9, 12));
      expect(cluster.asked).toEqual([]);
    },
  );

  test.each([
    ["a length and chunks", ["Content-Length: 4", "Transfer-Encoding: chunked"], "0\r\n\r\n"],
    ["chunks and a length", ["Transfer-Encoding: chunked", "Content-Length: 4"], "0\r\n\r\n"],
    ["two lengths", ["Content-Length: 2", "Content-Length: 40"], "{}"],
    ["a length with a sign", ["Content-Length: +2"], "{}"],
    ["chunks by another name", ["Transfer-Encoding: chunked, identity"], "0\r\n\r\n"],
    ["chunks behind a tab", ["Transfer-Encoding:\tchunked", "Content-Length: 4"], "0\r\n\r\n"],
  ])("that ends in two places is none: %s (GHSA-92vj-g62v-jqhh)", async (_, headers, body) => {
    const { port, cluster } = await start();
    const inner = head(`DELETE ${DOCUMENT}`);
    const answer = await send(port, head(`POST ${DOCUMENT}`, ...headers) + body + inner);
    expect(statusOf(answer)).toBe(400);
    expect(cluster.asked).toEqual([]);
  });

  test("is counted itself where no listener did (CVE-2026-54288: a length that understates it)", async () => {
    const cluster = fakeCluster();
    const { fetch } = createGateway({ cluster });
    const headers = { "content-type": "application/json", "content-length": "2" };
    for (const path of POSTS) {
      const response = await fetch(
        new Request(`http://localhost${path}`, { method: "POST", headers, body: "x".repeat(80 * MIB) }),
      );
      expect([path, response.status]).toEqual([path, 413]);
    }
    expect(cluster.asked).toEqual([]);
  });
});

describe("a credential", () => {
  const answered = async (authorization: string): Promise<number> => {
    const { fetch } = createGateway({ cluster: fakeCluster(), adminKeys: [KEY] });
    const target = DOCUMENT.replace("bob", "alice");
    return (await fetch(new Request(`http://localhost${target}`, { headers: { authorization } }))).status;
  };

  test("is a bearer's (CVE-2026-47673: any scheme was taken)", async () => {
    expect(await answered(await token("Bearer"))).toBe(404);
    for (const scheme of ["Basic", "Token", "JWT", "DPoP", "Bearer Bearer", "Bearer,", "Bearer:", ""])
      expect([scheme, await answered(await token(scheme))]).toEqual([scheme, 401]);
  });

  test("that is encrypted is none, and nothing of it is inflated (CVE-2024-28176)", async () => {
    const secret = crypto.getRandomValues(new Uint8Array(32));
    const encrypted = await new CompactEncrypt(new Uint8Array(4_000))
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .encrypt(secret);
    expect(encrypted.split(".")).toHaveLength(5);
    expect(await answered(`Bearer ${encrypted}`)).toBe(401);
  });
});
