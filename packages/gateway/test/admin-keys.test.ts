/** Admin keys are compared as digests of one length, whole, whichever key it is and wherever it differs (S-4). */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { AdminKeys, webDigest } from "../src/authority/admin-keys.ts";
import { timingSafeEqual } from "../src/timing-safe-equal.ts";

const KEYS = [
  "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA",
  "b9Rk2Lq8Wz5Xc1Vn7Mt4Jh6Gf3Ds0Pa-Yu_Ie2OrTwQx",
  "a key of another length, and of so many letters that it is longer than the others are",
];
const digestOf = (text: string): Uint8Array => createHash("sha256").update(text).digest();

type Compare = (expected: Uint8Array, given: Uint8Array) => boolean;

/** Bytes of which it is told which are looked at. */
function watched(bytes: Uint8Array, looked: number[]): Uint8Array {
  const get = (target: Uint8Array, name: string | symbol): unknown => {
    if (typeof name === "string" && /^\d+$/.test(name)) looked.push(Number(name));
    const value = Reflect.get(target, name) as unknown;
    return typeof value === "function" ? (value.bind(target) as unknown) : value;
  };
  return new Proxy(bytes, { get });
}

/** Digests that are as that of a key in none, half and all but the last of their bytes, and in all. */
function likenesses(key: string): readonly Uint8Array[] {
  const digest = digestOf(key);
  return [0, 16, 31, 32].map((alike) => digest.map((byte, at) => (at < alike ? byte : byte ^ 0xff)));
}

/** Which bytes of what is given are looked at, for each of the likenesses. */
function lookedAt(compare: Compare, key: string): readonly (readonly number[])[] {
  return likenesses(key).map((given) => {
    const looked: number[] = [];
    compare(digestOf(key), watched(given, looked));
    return looked;
  });
}

const ALL = Array.from({ length: 32 }, (_, at) => at);

describe("what compares secrets", () => {
  test("says whether they are the same", () => {
    const [none, half, most, same] = likenesses("key").map((given) => timingSafeEqual(digestOf("key"), given));
    expect([none, half, most, same]).toEqual([false, false, false, true]);
    for (let bit = 0; bit < 256; bit += 1) {
      const given = digestOf("key").map((byte, at) => (at === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte));
      expect(timingSafeEqual(digestOf("key"), given), `bit ${bit}`).toBe(false);
    }
    const digest = digestOf("key");
    for (const other of [digest.subarray(0, 31), Uint8Array.of(...digest, 0), new Uint8Array(0)]) {
      expect(timingSafeEqual(digest, other)).toBe(false);
      expect(timingSafeEqual(other, digest)).toBe(false);
    }
    expect(timingSafeEqual(new Uint8Array(0), new Uint8Array(0))).toBe(true);
  });

  test("looks at every byte, wherever the first difference is", () => {
    expect(lookedAt(timingSafeEqual, "key")).toEqual([ALL, ALL, ALL, ALL]);
  });

  test("sabotage: one that ends with the first difference is seen", () => {
    const naive: Compare = (expected, given) => expected.every((byte, at) => byte === given[at]);
    expect(lookedAt(naive, "key").map(({ length }) => length)).toEqual([1, 17, 32, 32]);
  });
});

test("every admin key is compared to its end, whichever of them it is, and whatever is given is a digest of 32 bytes", async () => {
  const told: string[] = [];
  const keys = new AdminKeys(KEYS, (text) => {
    told.push(text);
    return digestOf(text);
  });
  for (const [index, key] of KEYS.entries())
    for (const [alike, given] of likenesses(key).entries()) {
      const looked: number[] = [];
      expect(await keys.has(watched(given, looked)), `${index} ${alike}`).toBe(alike === 3);
      expect(looked).toEqual([...ALL, ...ALL, ...ALL]);
    }
  expect(told).toEqual(KEYS);
  for (const text of ["", "x", ...KEYS]) {
    expect(await webDigest(text)).toEqual(new Uint8Array(digestOf(text)));
    expect(await keys.has(await webDigest(text))).toBe(KEYS.includes(text));
  }
});
