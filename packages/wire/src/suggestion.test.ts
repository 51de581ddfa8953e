import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { suggestion } from "./suggestion.js";

/** The same rows are asserted of the core, whose rule it is. */
const ROWS = readFileSync(new URL("../../../test-vectors/suggestion.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as { id: string; name: string; known: readonly string[]; near: string });

test.each(ROWS)("$id", ({ name, known, near }) => {
  expect(suggestion(name, known)).toBe(near === "" ? "" : `; did you mean '${near}'?`);
});

test("long names without anything in common take no time", () => {
  const known = Array.from({ length: 2_000 }, (_, index) => `group-of-nobody-in-particular-${index}`);
  const start = process.cpuUsage();
  expect(suggestion("x".repeat(60), known)).toBe("");
  expect(suggestion("x".repeat(20_000), [`${"x".repeat(20_001)}y`])).toBe("");
  expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
});
