import { describe, expect, test } from "vitest";
import { decodeBase64, encodeBase64 } from "./base64.ts";

/** So many bytes of every kind. */
const some = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, at) => (at * 151 + 17) % 256);

describe.each(["standard", "url"] as const)("base64 for %s", (alphabet) => {
  test.each([0, 1, 2, 3, 4, 255, 8_191, 8_192, 8_193, 100_000])("of %i bytes is what Node makes of them", (count) => {
    const bytes = some(count);
    const text = encodeBase64(bytes, alphabet);
    expect(text).toBe(Buffer.from(bytes).toString(alphabet === "url" ? "base64url" : "base64"));
    expect(decodeBase64(text, alphabet)).toEqual(bytes);
  });
});

test.each([
  ["url", "a+b/"],
  ["url", "a==="],
  ["url", "abcde"],
  ["standard", "a-b_"],
  ["standard", "abcde"],
  ["standard", "é"],
] as const)("%s: %s is none", (alphabet, text) => expect(decodeBase64(text, alphabet)).toBeUndefined());
