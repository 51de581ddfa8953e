/**
 * Same bits everywhere: every row of the vectors is answered by the core's crates built natively and built for
 * WebAssembly, and both write down the same, down to the bits of every number. That the answers are right is asked
 * natively: the tests of the crates and test-vectors/runner/tests.
 */
import { describe, expect, test } from "vitest";
import { nativeAnswers, vectorFiles, wasmAnswers } from "./runners.ts";

/** Two builds from nothing take what they take: 20 minutes and more on a machine that does much else. Nothing else is waited for. */
const NO_LIMIT = { timeout: 0 };

/** The topics of test-vectors, and how many rows (of conversations: files) they have at least: a loss is noticed. */
const TOPICS: Readonly<Record<string, number>> = {
  "document-api": 3,
  "document-json": 112,
  expression: 2_900,
  generated: 67,
  grouping: 780,
  "query-profile": 61,
  schema: 79,
  search: 10,
  "select-json": 434,
  selection: 388,
  "simple-query": 3_589,
  tensor: 100,
  tokens: 195,
  yql: 1_231,
};

const files = vectorFiles(Object.keys(TOPICS));
const rows = files.flatMap(({ topic, path, rows: own }) =>
  own.map((row, index) => ({ topic, name: `${path.split("/").at(-1)} row ${index + 1}`, row })),
);

describe("native and WebAssembly", () => {
  test("write down the same for every row", NO_LIMIT, () => {
    const [native, wasm] = [nativeAnswers(files), wasmAnswers(files)];
    expect(native.length).toBe(rows.length);
    expect(wasm.length).toBe(rows.length);
    const different = rows.filter((_, index) => native[index] !== wasm[index] || native[index] === "");
    expect(different.map(({ topic, name, row }) => `${topic}: ${name}: ${row.slice(0, 200)}`)).toEqual([]);
    const answered = rows.length - rows.filter((_, index) => native[index]?.startsWith("refused ")).length;
    console.log(`${rows.length} rows equal, ${answered} of them answered, the others refused in the same words`);
  });

  test.each(Object.entries(TOPICS))("%s has at least %i rows", (topic, atLeast) => {
    expect(rows.filter((row) => row.topic === topic).length).toBeGreaterThanOrEqual(atLeast);
  });
});
