/** Which bucket a key belongs to is a fact on disk: these numbers may never change. */
import { expect, test } from "vitest";
import { bucketOf } from "../src/bucket-of.ts";

test("the bucket of a key is as it always was", () => {
  const whole = 2 ** 32;
  expect(bucketOf("", whole)).toBe(0x811c9dc5);
  expect(bucketOf("a", whole)).toBe(0xe40c292c);
  expect(bucketOf("foobar", whole)).toBe(0xbf9cf968);
  expect(["g:alice", "g:bob", "n:17", "g:Ünï", "g:\u{1f600}"].map((key) => bucketOf(key, 16))).toEqual([
    4, 15, 5, 1, 9,
  ]);
  expect(["é", "ab\u{1f600}cd", "\ud800x", "a\u007f\u0080b"].map((key) => bucketOf(key, whole))).toEqual([
    513_665_217, 2_104_371_164, 1_538_974_390, 2_426_100_115,
  ]);
});

test("keys spread evenly", () => {
  const counts = Array<number>(16).fill(0);
  for (let index = 0; index < 16_000; index += 1) {
    const bucket = bucketOf(`g:user-${index}`, 16);
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(800);
  expect(Math.max(...counts)).toBeLessThan(1_200);
});
