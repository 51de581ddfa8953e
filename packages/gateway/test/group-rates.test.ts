import { tokenSecret } from "@brooklet/wire";
import { SignJWT } from "jose";
import { describe, expect, test } from "vitest";
import { GroupRates, TooSoon } from "../src/authority/group-rates.ts";
import { createGateway } from "../src/index.ts";
import { DEFAULT_LIMITS } from "../src/limits.ts";
import { fakeCluster } from "./fake-cluster.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const LIMITS = { requestsPerSecond: 10, burstSeconds: 2, groups: 3 };

describe("a group", () => {
  test("may ask so often, and a moment's worth more at once", () => {
    let nowMs = 0;
    const rates = new GroupRates(LIMITS, () => nowMs);
    const taken = (): number => {
      for (let count = 0; count < 1_000; count += 1) {
        try {
          rates.take("g:a");
        } catch (error) {
          expect(error).toBeInstanceOf(TooSoon);
          return count;
        }
      }
      return Number.POSITIVE_INFINITY;
    };
    expect(taken()).toBe(20);
    nowMs += 500;
    expect(taken()).toBe(5);
    nowMs += 60_000;
    expect(taken()).toBe(20);
    // Nobody else waits for that.
    expect(() => rates.take("g:b")).not.toThrow();
  });

  test.each([
    [0.25, 4],
    [1, 1],
    [10, 1],
  ])(
    "of %f requests a second is told to come again after %i, and coming then is in time",
    (requestsPerSecond, waitS) => {
      let nowMs = 0;
      const rates = new GroupRates({ requestsPerSecond, burstSeconds: 0, groups: 3 }, () => nowMs);
      rates.take("g:a");
      const { retryAfterSeconds } = (() => {
        try {
          rates.take("g:a");
        } catch (error) {
          return error as TooSoon;
        }
        throw new Error("it was taken");
      })();
      expect(retryAfterSeconds).toBe(waitS);
      nowMs += 1_000 * retryAfterSeconds;
      expect(() => rates.take("g:a")).not.toThrow();
    },
  );

  test("that did not ask for the longest time is forgotten first: memory has a bound", () => {
    const rates = new GroupRates(LIMITS, () => 0);
    for (let group = 0; group < 1_000; group += 1) rates.take(`g:${group}`);
    expect(rates.known).toBe(3);
  });

  test("that asked last is not forgotten, however early it came first", () => {
    let nowMs = 0;
    const rates = new GroupRates({ requestsPerSecond: 1, burstSeconds: 1, groups: 2 }, () => nowMs);
    rates.take("g:a");
    rates.take("g:b");
    nowMs += 1_000;
    rates.take("g:a");
    // It takes the place of the other one.
    rates.take("g:c");
    expect(() => rates.take("g:a")).toThrow(TooSoon);
    expect(rates.known).toBe(2);
  });
});

async function tokenOf(group: string): Promise<string> {
  const claims = { groups: [group], verbs: ["search", "get", "put", "update", "remove", "visit"], jti: "t" };
  const token = new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).setIssuedAt().setExpirationTime("1h");
  return await token.setAudience("brooklet").sign(await tokenSecret(KEY));
}

const DOCUMENT = "/document/v1/ns/mail/group/u1";
const WAYS: [name: string, method: string, path: string, body?: string][] = [
  ["a put", "POST", `${DOCUMENT}/x`, "{}"],
  ["a get", "GET", `${DOCUMENT}/x`],
  ["a search, also where the token alone says of whom", "GET", "/search/?yql=select"],
  ["a visit", "GET", `${DOCUMENT}/?cluster=mail`],
  ["a feed", "POST", "/brooklet/v1/feed", '{"put":"id:ns:mail:g=u1:1"}\n'],
];

describe("over HTTP", () => {
  function gateway(
    requestsPerSecond: number,
  ): (method: string, path: string, body?: string, group?: string) => Promise<Response> {
    const groupRate = { ...DEFAULT_LIMITS.groupRate, requestsPerSecond };
    const made = createGateway({ cluster: fakeCluster(), adminKeys: [KEY], limits: { groupRate } });
    return async (method, path, body, group = "u1") => {
      const authorization = `Bearer ${await tokenOf(group)}`;
      return await made.fetch(`http://localhost${path}`, {
        method,
        headers: { authorization },
        ...(body !== undefined && { body }),
      });
    };
  }

  test.each(WAYS)("%s counts, and is refused with 429 when to come again", async (_, method, path, body) => {
    const ask = gateway(1);
    const statuses: number[] = [];
    let last: Response | undefined;
    for (let count = 0; count < 3; count += 1) {
      last = await ask(method, path, body);
      statuses.push(last.status);
    }
    expect(statuses[0]).not.toBe(429);
    const told = await last?.text();
    expect(told).toContain("limit L-rate");
    expect(told).toContain('"outcome":"not_applied"');
    expect([last?.status, Number(last?.headers.get("retry-after"))]).toEqual([429, 1]);
    expect((await ask("GET", "/document/v1/ns/mail/group/u2/x", undefined, "u2")).status).toBe(404);
  });

  test("removes are not counted; where nothing is said, nothing is", async () => {
    const ask = gateway(1);
    for (let count = 0; count < 10; count += 1) expect((await ask("DELETE", `${DOCUMENT}/x`)).status).toBe(200);
    const unbounded = gateway(0);
    for (let count = 0; count < 50; count += 1) expect((await unbounded("GET", `${DOCUMENT}/x`)).status).toBe(404);
  });
});
