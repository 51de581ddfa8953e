/** What is remembered of keys and tokens, for how long, and which of them are asked for at all. */
import { TOKEN_SECONDS_MAX, tokenSecret } from "@brooklet/wire";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { webDigest } from "../src/authority/admin-keys.ts";
import { asksForCredentials, type CredentialOptions, Credentials } from "../src/authority/credentials.ts";
import type { Call } from "../src/call.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const NOW = 1_800_000_000;
/** How far clocks may be apart: a token is valid so long after its end, and before its begin. */
const SKEW = 60;
const REMEMBERED = 4;
const HEADER_MAX = 16_384;
const UNLIMITED = { failures: 0, failuresPerMinute: 1, addresses: 1 };

const secret = await tokenSecret(KEY);
const sign = async (jti: string, claims: { readonly iat?: number; readonly exp?: number } = {}): Promise<string> =>
  await new SignJWT({ groups: ["alice"], verbs: ["get"], iat: NOW, exp: NOW + 600, aud: "brooklet", jti, ...claims })
    .setProtectedHeader({ alg: "HS256" })
    .sign(secret);

const called = (authorization: string | undefined): Call =>
  ({ address: "192.0.2.1", header: (name: string) => (name === "authorization" ? authorization : undefined) }) as Call;

/** Credentials whose digests are there at once, as those of a server are. */
function held(options: CredentialOptions = { adminKeys: [KEY] }) {
  const digests = new Map<string, Uint8Array>();
  const credentials = new Credentials(options, (text) => digests.get(text) ?? webDigest(text), UNLIMITED, REMEMBERED);
  const known = async (given: string) => {
    digests.set(given, await webDigest(given));
    return await credentials.known(called(`Bearer ${given}`));
  };
  return { credentials, known, remembered: (given: string) => credentials.remembered(called(`Bearer ${given}`)) };
}

test.each<[boolean, CredentialOptions]>([
  [false, {}],
  [false, { adminKeys: [] }],
  [false, { tokens: { audience: "us" } }],
  [true, { adminKeys: [KEY] }],
  [true, { tokens: { publicKey: "any" } }],
  [true, { tokens: { keysUrl: "https://keys.example.com" } }],
])("somebody has to say who asks: %s with %j", (asks, options) => {
  expect(asksForCredentials(options)).toBe(asks);
});

describe("a token", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1_000 }));
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const at = (seconds: number, milliseconds = 0): void => void vi.setSystemTime((NOW + seconds) * 1_000 + milliseconds);

  test("is looked at once, and what it reaches is remembered until its end", async () => {
    const verified = vi.spyOn(crypto.subtle, "verify");
    const { known, remembered } = held();
    const token = await sign("t1");
    expect(remembered(token)).toBeUndefined();
    const reached = { reach: { groups: ["alice"], verbs: ["get"] }, endMs: (NOW + 600 + SKEW) * 1_000, id: "t1" };
    expect(await known(token)).toEqual(reached);
    at(600 + SKEW, -1);
    expect([await known(token), remembered(token)]).toEqual([reached, reached]);
    expect(verified).toHaveBeenCalledTimes(1);
    at(600 + SKEW);
    expect(remembered(token)).toBeUndefined();
    await expect(known(token)).rejects.toMatchObject({ status: 401 });
  });

  test("is looked at anew where the clock went back behind its begin", async () => {
    const verified = vi.spyOn(crypto.subtle, "verify");
    const { known, remembered } = held();
    // The longest there is, by a clock that is as far ahead as may be.
    const token = await sign("t1", { iat: NOW + SKEW, exp: NOW + SKEW + TOKEN_SECONDS_MAX });
    await known(token);
    expect(remembered(token)).toMatchObject({ id: "t1" });
    expect([(await known(token)).id, verified.mock.calls.length]).toEqual(["t1", 1]);
    at(0, -1);
    expect(remembered(token)).toBeUndefined();
    await expect(known(token)).rejects.toMatchObject({ status: 401 });
  });

  test("that is revoked is not remembered, and others are", async () => {
    const revoked = new Set<string>();
    const { known, remembered } = held({ adminKeys: [KEY], tokens: { isRevoked: (id) => revoked.has(id) } });
    const [one, other] = [await sign("t1"), await sign("t2")];
    for (const token of [one, other, KEY]) await known(token);
    expect([one, other, KEY].map((given) => remembered(given)?.id !== undefined)).toEqual([true, true, true]);
    revoked.add("t1");
    expect([one, other, KEY].map((given) => remembered(given)?.id !== undefined)).toEqual([false, true, true]);
    await expect(known(one)).rejects.toMatchObject({ status: 401 });
  });

  test("is remembered among so many and no more: the first of them makes room", async () => {
    const verified = vi.spyOn(crypto.subtle, "verify");
    const { known, remembered } = held();
    const tokens = await Promise.all(Array.from({ length: REMEMBERED + 1 }, (_, number) => sign(`t${number}`)));
    const [first = "", second = "", third = ""] = tokens;
    for (const token of tokens.slice(0, REMEMBERED)) await known(token);
    expect([first, tokens[REMEMBERED - 1] ?? ""].every((token) => remembered(token) !== undefined)).toBe(true);
    await known(tokens[REMEMBERED] ?? "");
    const isRemembered = [first, second, third].map((token) => remembered(token) !== undefined);
    expect([isRemembered, verified.mock.calls.length]).toEqual([[false, true, true], REMEMBERED + 1]);
  });

  test.each([
    [HEADER_MAX, 200],
    [HEADER_MAX + 1, 401],
  ])("in a header of %i characters is answered with %i", async (length, status) => {
    const { credentials } = held();
    const token = await sign("t1");
    const header = `Bearer${" ".repeat(length - "Bearer".length - token.length)}${token}`;
    expect(header).toHaveLength(length);
    const answered = await credentials.known(called(header)).then(
      () => 200,
      (error: { status: number }) => error.status,
    );
    expect(answered).toBe(status);
  });

  test("is asked for where there is none", async () => {
    const { credentials } = held();
    await expect(credentials.known(called(undefined))).rejects.toThrow("wants a key or a token");
    expect(credentials.remembered(called(undefined))).toBeUndefined();
  });
});

test("an admin key is remembered for ever, and told by the first bytes of its digest", async () => {
  const { known, remembered } = held();
  const id = Buffer.from((await webDigest(KEY)).subarray(0, 6)).toString("hex");
  expect(await known(KEY)).toEqual({ reach: "admin", endMs: Number.POSITIVE_INFINITY, id });
  expect(remembered(KEY)).toEqual({ reach: "admin", endMs: Number.POSITIVE_INFINITY, id });
});

test("a wrong key is held against keys alone: what reads tokens is not made for it", async () => {
  const { known } = held({ adminKeys: [KEY], tokens: { publicKey: "none that can be read" } });
  for (const wrong of ["wrong", "a.b", "a.b.c.d"])
    await expect(known(wrong), wrong).rejects.toMatchObject({ status: 401 });
  await expect(known("a.b.c")).rejects.toThrow("cannot be read");
});

test("where a digest is only there later nothing is remembered at once", async () => {
  const credentials = new Credentials({ adminKeys: [KEY] }, webDigest, UNLIMITED);
  await credentials.known(called(`Bearer ${KEY}`));
  expect(credentials.remembered(called(`Bearer ${KEY}`))).toBeUndefined();
});
