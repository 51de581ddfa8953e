/** The ledger of the fuzzers: what counts, and that the one that is kept can be read. */
import { expect, test } from "vitest";
import { sumsOf } from "./fuzz-ledger.mjs";
import { content } from "./repository.ts";

test("inputs of a seed count once, those of others are added", () => {
  const lines = [
    { release: "1", target: "yql", inputs: 100, seed: 1 },
    { release: "1", target: "yql", inputs: 300, seed: 1 },
    { release: "1", target: "yql", inputs: 50, seed: 2 },
    { release: "2", target: "yql", inputs: 7, seed: 1 },
  ];
  const sums = sumsOf(lines.map((line) => JSON.stringify(line)).join("\n"));
  expect([...sums]).toEqual([
    ["1 yql", 350],
    ["2 yql", 7],
  ]);
});

test("the ledger has lines that are whole", () => {
  for (const [of, inputs] of sumsOf(content("fuzz/ledger.jsonl"))) {
    expect(of).toMatch(/^\d+\.\d+\.\d+ \S/);
    expect(inputs).toBeGreaterThan(0);
  }
});
