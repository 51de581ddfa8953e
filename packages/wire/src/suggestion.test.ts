import { expect, test } from "vitest";
import { suggestion } from "./suggestion.js";

const near = (name: string, ...known: readonly string[]): string =>
  suggestion(name, known).replace(/^; did you mean '(.*)'\?$/u, "$1");

test("the nearest name is suggested and a far one is not", () => {
  expect(near("strng", "int", "string", "struct")).toBe("string");
  expect(near("Index", "attribute", "index")).toBe("index");
  expect(near("integer", "string", "int")).toBe("int");
  expect(near("zebra", "int", "string")).toBe("");
  expect(near("__proto__", "body", "subject")).toBe("");
  expect(near("", "body")).toBe("");
  expect(near("b", "a", "b")).toBe("");
  expect(near("x".repeat(10_000), "x", "xy")).toBe("");
});

test("a swap of neighbours is one edit", () => {
  expect(near("sned", "send", "end")).toBe("send");
  expect(near("tpo", "top", "sum")).toBe("top");
  expect(near("contians", "in", "contains")).toBe("contains");
});

test("as many edits as a third of the name has characters, of which three at most", () => {
  expect(near("kittens", "sitting")).toBe("");
  expect(near("kitchenes", "kitchen")).toBe("kitchen");
  expect(near("abcdefghijkl", "abcdefghixyz")).toBe("abcdefghixyz");
  expect(near("abcdefghijklmno", "abcdefghijkwxyz")).toBe("");
  expect(near("ab", "ba")).toBe("ba");
});

test("long names without anything in common take no time", () => {
  const known = Array.from({ length: 2_000 }, (_, index) => `group-of-nobody-in-particular-${index}`);
  const start = process.cpuUsage();
  expect(near("x".repeat(60), ...known)).toBe("");
  expect(near("x".repeat(20_000), `${"x".repeat(20_001)}y`)).toBe("");
  expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
});
