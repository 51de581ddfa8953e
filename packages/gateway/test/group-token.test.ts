/** The reader of tokens against what is no token: changed, forged, expired, or with claims that nobody knows. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tokenSecret, VERBS } from "@brooklet/wire";
import { CompactSign, exportJWK, exportSPKI, generateKeyPair, SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { GroupTokens } from "../src/authority/group-token.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const encoder = new TextEncoder();

type Claims = Readonly<Record<string, unknown>>;
const seconds = (): number => Math.floor(Date.now() / 1_000);
const right = (): Claims => ({
  groups: ["alice"],
  verbs: ["search", "get"],
  iat: seconds(),
  exp: seconds() + 600,
  aud: "brooklet",
  jti: "t1",
});

async function signed(payload: unknown, header: object = { alg: "HS256", typ: "JWT" }): Promise<string> {
  const bytes = encoder.encode(typeof payload === "string" ? payload : JSON.stringify(payload));
  return await new CompactSign(bytes).setProtectedHeader(header as { alg: string }).sign(await tokenSecret(KEY));
}

const reader = await GroupTokens.open([KEY], {});
const base64 = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

test("what a minter says is what is granted", async () => {
  const read = await reader.read(await signed({ ...right(), schemas: ["mail"], sub: "user 7", iss: "us" }));
  expect(read).toMatchObject({ id: "t1", grant: { groups: ["alice"], verbs: ["search", "get"], schemas: ["mail"] } });
  const sixteen = Array.from({ length: 16 }, (_, index) => `g${index}`);
  expect((await reader.read(await signed({ ...right(), groups: sixteen, verbs: VERBS })))?.grant.groups).toEqual(
    sixteen,
  );
  const day = { iat: seconds() - 10, exp: seconds() - 10 + 86_400 };
  // It holds until clocks that are apart agree that it has ended.
  expect((await reader.read(await signed({ ...right(), ...day })))?.endMs).toBe((day.exp + 60) * 1_000);
  for (const aud of [["brooklet"], ["others", "brooklet"]])
    expect(await reader.read(await signed({ ...right(), aud }))).toBeDefined();
});

test("a begin may be as far ahead as clocks may be apart, and no further", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  const begins = async (iat: number): Promise<unknown> => await reader.read(await signed({ ...right(), iat }));
  expect(await begins(1_800_000_060)).toBeDefined();
  expect(await begins(1_800_000_061)).toBeUndefined();
});

const groups = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `g${index}`);

describe("claims", () => {
  // However long a busy machine takes from the making of a token to its reading.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
  afterEach(() => void vi.useRealTimers());

  test.each<[string, () => Claims]>([
    ["no groups", () => ({ groups: undefined })],
    ["an empty list of groups", () => ({ groups: [] })],
    ["17 groups", () => ({ groups: groups(17) })],
    ["a group twice", () => ({ groups: ["alice", "alice"] })],
    ["a group as text", () => ({ groups: "alice" })],
    ["all groups", () => ({ groups: ["*"] })],
    ["a wildcard", () => ({ groups: ["ali*"] })],
    ["an empty name", () => ({ groups: [""] })],
    ["a name that is another part of an id", () => ({ groups: ["alice:1"] })],
    ["a name with a control", () => ({ groups: ["alice\u0000"] })],
    ["no verbs", () => ({ verbs: undefined })],
    ["an unknown verb", () => ({ verbs: ["search", "deploy"] })],
    ["all verbs", () => ({ verbs: ["*"] })],
    ["no verb", () => ({ verbs: [] })],
    ["no schemas", () => ({ schemas: [] })],
    ["a schema that is none", () => ({ schemas: ["mail,note"] })],
    ["a claim that is not known", () => ({ fields: ["subject"] })],
    ["another that is not known", () => ({ admin: true })],
    ["no end", () => ({ exp: undefined })],
    ["an end long ago", () => ({ iat: seconds() - 1_000, exp: seconds() - 61 })],
    ["more than a day", () => ({ exp: seconds() + 86_401 })],
    ["an end that is text", () => ({ exp: String(seconds() + 60) })],
    ["an end with a fraction", () => ({ exp: seconds() + 60.5 })],
    ["an end before its begin", () => ({ iat: seconds(), exp: seconds() - 1 })],
    ["an end with its begin", () => ({ iat: seconds(), exp: seconds() })],
    ["no begin", () => ({ iat: undefined })],
    ["a begin to come", () => ({ iat: seconds() + 61, exp: seconds() + 120 })],
    ["not valid yet", () => ({ nbf: seconds() + 61 })],
    ["no audience", () => ({ aud: undefined })],
    ["another audience", () => ({ aud: "others" })],
    ["an audience of nobody", () => ({ aud: [] })],
    ["17 audiences", () => ({ aud: ["brooklet", ...groups(16)] })],
    ["no id", () => ({ jti: undefined })],
    ["an empty id", () => ({ jti: "" })],
  ])("%s: no token", async (_, change) => {
    expect(await reader.read(await signed({ ...right(), ...change() }))).toBeUndefined();
  });

  test.each([["[]"], ["null"], ['"text"'], ["{"], [""], ["1"]])("%s for claims: no token", async (payload) => {
    expect(await reader.read(await signed(payload))).toBeUndefined();
  });
});

describe("signatures", () => {
  test("of nobody, of another key, and none at all", async () => {
    const [, payload = "", signature = ""] = (await signed(right())).split(".");
    for (const alg of ["none", "None", "NONE", "", "HS384", "hs256", "RS256", "EdDSA"])
      for (const sign of ["", signature, base64("x")])
        expect(await reader.read(`${base64({ alg, typ: "JWT" })}.${payload}.${sign}`)).toBeUndefined();
    const others = await GroupTokens.open(["b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx"], {});
    expect(await others.read(await signed(right()))).toBeUndefined();
    for (const header of [
      { alg: "HS256", typ: "JOSE" },
      { alg: "HS256", jku: "https://x.example/keys" },
      { alg: "HS256", jwk: { kty: "oct", k: base64("k".repeat(32)) } },
    ])
      expect(await reader.read(await signed(right(), header))).toBeUndefined();
  });

  test("with any bit of a token changed there is none", async () => {
    const token = await signed(right());
    const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.= ";
    let random = 7;
    const next = (below: number): number => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      return Math.floor((random / 2 ** 31) * below);
    };
    // The last letter of a signature of 32 bytes has bits that no byte has.
    const length = token.length - 1;
    for (let round = 0; round < 3_000; round += 1) {
      const at = next(length);
      const letter = letters[next(letters.length)] ?? "";
      const ways = [
        token.slice(0, at) + letter + token.slice(at + 1),
        token.slice(0, at) + token.slice(at + 1),
        token.slice(0, at),
        token.slice(0, at) + letter.repeat(next(9) + 1) + token.slice(at),
      ];
      const changed = ways[next(ways.length)] ?? "";
      if (changed === token) continue;
      expect([changed, await reader.read(changed)]).toEqual([changed, undefined]);
    }
  });

  test("texts that are no tokens at all", async () => {
    for (const text of ["", ".", "..", "...", "a.b.c", "é.é.é", `${"A".repeat(20_000)}.A.A`, "{}.{}.{}", "eyJ.eyJ.sig"])
      expect(await reader.read(text)).toBeUndefined();
  });
});

describe("tokens that are minted elsewhere", () => {
  test("are held against a public key, and one algorithm", async () => {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { extractable: true });
    const pem = await exportSPKI(publicKey);
    const minted = await new SignJWT(right()).setProtectedHeader({ alg: "EdDSA" }).sign(privateKey);
    for (const given of [pem, JSON.stringify(await exportJWK(publicKey))]) {
      const elsewhere = await GroupTokens.open([KEY], { publicKey: given });
      expect((await elsewhere.read(minted))?.grant.groups).toEqual(["alice"]);
      expect(await elsewhere.read(await signed(right()))).toBeDefined();
      // Who has the public key, as everybody may, cannot mint with it as if it were a secret.
      for (const secret of [pem, given, pem.trim()]) {
        const forged = await new SignJWT(right()).setProtectedHeader({ alg: "HS256" }).sign(encoder.encode(secret));
        expect(await elsewhere.read(forged)).toBeUndefined();
      }
    }
    expect(await reader.read(minted)).toBeUndefined();
    const secretKey = JSON.stringify(await exportJWK(privateKey));
    await expect(GroupTokens.open([], { publicKey: secretKey })).rejects.toThrow("no public key");
    await expect(GroupTokens.open([], { publicKey: "no key" })).rejects.toThrow("cannot be read");
    await expect(GroupTokens.open([], { keysUrl: "keys" })).rejects.toThrow("'keys' is no address of keys of tokens");
  });

  test("are held against a list of keys; where that cannot be had, it is said", async () => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    let isThere = true;
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256" };
    const server = createServer((_, answer) => {
      answer.writeHead(isThere ? 200 : 500, { "content-type": "application/json" });
      answer.end(JSON.stringify({ keys: [jwk] }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const keysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
    const mint = (kid: string): Promise<string> =>
      new SignJWT(right()).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);
    const elsewhere = await GroupTokens.open([], { keysUrl, algorithm: "ES256" });
    expect((await elsewhere.read(await mint("k1")))?.id).toBe("t1");
    expect(await elsewhere.read(await mint("../k1"))).toBeUndefined();
    isThere = false;
    const late = await GroupTokens.open([], { keysUrl, algorithm: "ES256" });
    await expect(late.read(await mint("k1"))).rejects.toMatchObject({ code: "UNAVAILABLE", status: 503 });
  });
});
