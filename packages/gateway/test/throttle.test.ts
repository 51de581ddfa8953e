/** Failures of authentication are limited by address, and lock nobody out who was let in before. */
import { createHash } from "node:crypto";
import http2 from "node:http2";
import net from "node:net";
import { networkOf, tokenSecret } from "@brooklet/wire";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { Throttle, Throttled } from "../src/authority/throttle.ts";
import type { Call, Reply } from "../src/call.ts";
import { createGateway, type GatewayOptions } from "../src/index.ts";
import { startServer } from "../src/node/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const OTHER_KEY = "b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx";
const HERE = "192.0.2.1";
const LIMITS = { failures: 10, failuresPerMinute: 10, addresses: 100 };

describe("the throttle", () => {
  test("lets an address be wrong so often, then as often as it says", () => {
    let nowMs = 5;
    const throttle = new Throttle(LIMITS, () => nowMs);
    const wrong = (): number | undefined => {
      try {
        throttle.check(HERE, "guess");
      } catch (error) {
        return (error as Throttled).retryAfterSeconds;
      }
      throttle.failed(HERE, "guess");
      return undefined;
    };
    expect(Array.from({ length: 12 }, wrong)).toEqual([...Array(10).fill(undefined), 6, 6]);
    nowMs += 5_999;
    expect(wrong()).toBe(1);
    nowMs += 1;
    expect([wrong(), wrong()]).toEqual([undefined, 6]);
    nowMs += 3_600_000;
    expect(Array.from({ length: 11 }, wrong)).toEqual([...Array(10).fill(undefined), 6]);
  });

  test("knows so many addresses and no more: who was wrong last is not forgotten", () => {
    const throttle = new Throttle({ ...LIMITS, failures: 1, addresses: 3 }, () => 0);
    const isThrottled = (address: string): boolean => {
      try {
        throttle.check(address, "x");
        return false;
      } catch {
        return true;
      }
    };
    for (const address of ["a", "b", "c", "a", "d"]) throttle.failed(address, "x");
    expect(["a", "b", "c", "d"].map(isThrottled)).toEqual([true, false, true, true]);
  });

  test("does not count what was valid once, nor where nothing is to be counted", () => {
    const throttle = new Throttle({ ...LIMITS, failures: 1 }, () => 0);
    throttle.succeeded("ended");
    for (let at = 0; at < 5; at += 1) throttle.failed(HERE, "ended");
    expect(() => throttle.check(HERE, "new")).not.toThrow();
    throttle.failed(HERE, "guess");
    expect(() => throttle.check(HERE, "new")).toThrow(Throttled);
    expect(() => throttle.check(HERE, "ended")).not.toThrow();
    const off = new Throttle({ ...LIMITS, failures: 0 }, () => 0);
    off.failed(HERE, "guess");
    expect(() => off.check(HERE, "guess")).not.toThrow();
  });

  test("knows so many that were valid and no more: the first of them is a guess again", () => {
    const throttle = new Throttle({ ...LIMITS, failures: 1 }, () => 0);
    throttle.failed(HERE, "guess");
    for (let at = 0; at < 4_096; at += 1) throttle.succeeded(`valid ${at}`);
    expect(() => throttle.check(HERE, "valid 0")).not.toThrow();
    throttle.succeeded("valid 4096");
    expect(() => throttle.check(HERE, "valid 0")).toThrow(Throttled);
    for (const at of [1, 2_000, 4_095, 4_096]) expect(() => throttle.check(HERE, `valid ${at}`)).not.toThrow();
  });

  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
  ])("%s is of the network %s", (address, network) => expect(networkOf(address)).toBe(network));
});

describe("a gateway", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  /** Asks as from an address, and counts the digests that are made of credentials. */
  function asking(options: Partial<GatewayOptions> = {}) {
    let digests = 0;
    const digest = (text: string): Uint8Array => {
      digests += 1;
      return createHash("sha256").update(text).digest();
    };
    const gateway = createGateway({ cluster: fakeCluster(), adminKeys: [KEY], digest, ...options });
    const ask = (credential: string | undefined, address: string | null = HERE): Promise<Reply> =>
      new Promise((resolve) => {
        const call: Call = {
          method: "GET",
          target: "/state/v1/health",
          headerCount: 1,
          headerBytes: 1,
          arrivedMs: performance.now(),
          address: address ?? undefined,
          header: (name) => (name === "authorization" && credential !== undefined ? `Bearer ${credential}` : undefined),
          gone: new AbortController().signal,
          body: () => Promise.resolve(new Uint8Array(0)),
          stream: async function* stream() {},
          send: resolve,
        };
        void gateway.app.fetch(new Request("http://localhost/"), { call });
      });
    return { ask, digests: () => digests };
  }

  test("A15 answers the 11th wrong key of an address with 429, before a digest is made; the right one works", async () => {
    const { ask, digests } = asking();
    expect((await ask(KEY)).status).toBe(200);
    const statuses: number[] = [];
    for (let at = 0; at < 100; at += 1) statuses.push((await ask(`${OTHER_KEY}${at}`)).status);
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(90).fill(429)]);
    // One of the admin key itself, made with the gateway; one for each that was looked at.
    expect(digests()).toBe(1 + 1 + 10);
    const { status, headers, body } = await ask(OTHER_KEY);
    expect([status, headers["retry-after"], JSON.parse(String(body))]).toEqual([
      429,
      "6",
      expect.objectContaining({ code: "OVERLOADED", outcome: "not_applied" }),
    ]);
    // It was valid before: whoever is wrong beside it does not lock it out.
    expect((await ask(KEY)).status).toBe(200);
    expect((await ask(OTHER_KEY, "192.0.2.2")).status).toBe(401);
    expect((await ask(undefined)).status).toBe(401);
  });

  test("takes a right key that it did not see before when the time is over", async () => {
    const { ask } = asking({ adminKeys: [KEY, OTHER_KEY] });
    for (let at = 0; at < 10; at += 1) await ask("x".repeat(50));
    expect((await ask(OTHER_KEY)).status).toBe(429);
    vi.advanceTimersByTime(6_000);
    expect((await ask(OTHER_KEY)).status).toBe(200);
  });

  test("counts wrong tokens and what is no credential at all, and takes seen tokens as it takes keys", async () => {
    const { ask } = asking();
    const now = Math.floor(Date.now() / 1_000);
    const claims = { groups: ["alice"], verbs: ["get"], iat: now, exp: now + 60, aud: "brooklet", jti: "1" };
    const sign = async (jti: string): Promise<string> =>
      await new SignJWT({ ...claims, jti }).setProtectedHeader({ alg: "HS256" }).sign(await tokenSecret(KEY));
    const [seen, unseen] = [await sign("1"), await sign("2")];
    // Health is the admin's: a token that is valid is refused with 403.
    expect((await ask(seen)).status).toBe(403);
    for (let at = 0; at < 5; at += 1) {
      expect((await ask(`${unseen}x`)).status).toBe(401);
      expect((await ask("a b")).status).toBe(401);
    }
    expect([(await ask(unseen)).status, (await ask(seen)).status]).toEqual([429, 403]);
    expect((await ask("y".repeat(20_000))).status).toBe(429);
  });

  test("counts nobody where the address is not known, or nothing is to be counted", async () => {
    const { ask } = asking();
    const statuses = async (asked: typeof ask, address: string | null): Promise<ReadonlySet<number>> => {
      const answers = new Set<number>();
      for (let at = 0; at < 30; at += 1) answers.add((await asked("wrong", address)).status);
      return answers;
    };
    expect(await statuses(ask, null)).toEqual(new Set([401]));
    expect(await statuses(ask, HERE)).toEqual(new Set([401, 429]));
    const { ask: askOff } = asking({
      limits: { wrongCredentials: { failures: 0, failuresPerMinute: 10, addresses: 10 } },
    });
    expect(await statuses(askOff, HERE)).toEqual(new Set([401]));
  });
});

test("on a port the address is that of the connection, by either protocol and also where a request is read twice", async () => {
  const server = await startServer(fakeCluster(), { port: 0, adminKeys: [KEY] });
  onTestFinished(() => server.close(100));
  const raw = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = net.connect(server.port, "127.0.0.1");
      let text = "";
      socket.on("data", (bytes) => {
        text += bytes.toString();
      });
      socket.on("close", () => resolve(text));
      socket.on("error", reject);
      const lines = [`GET ${path} HTTP/1.1`, "Host: localhost", "Connection: close", "Authorization: Bearer wrong"];
      socket.write(Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"));
    });
  for (let at = 0; at < 10; at += 1) expect(await raw("/")).toMatch(/^HTTP\/1.1 401/);
  expect(await raw("/")).toMatch(/^HTTP\/1.1 429 [\s\S]*retry-after: \d/i);
  expect(await raw("/\u00e9")).toMatch(/^HTTP\/1.1 429/);
  const session = http2.connect(`http://127.0.0.1:${server.port}`);
  onTestFinished(() => void session.destroy());
  const stream = session.request({ ":path": "/", ":authority": "localhost", authorization: "Bearer wrong" });
  const status = await new Promise((resolve) => stream.once("response", (headers) => resolve(headers[":status"])));
  expect(status).toBe(429);
});
