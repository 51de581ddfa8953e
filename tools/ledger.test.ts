/** The ledger of what the specification says (`test-vectors/ledger.json`): each statement has rows or tests, and those exist. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import ledger from "../test-vectors/ledger.json" with { type: "json" };
import { content, expectNone } from "./repository.ts";
import { root } from "./sources.ts";

/** A statement in our own words, where it is shown, and whether it is so here. */
interface Statement {
  readonly id: string;
  readonly section: string;
  readonly says: string;
  /** `FILE#NAME`: a conversation or row of a file of vectors, or a test of a file from the root. */
  readonly rows: readonly string[];
  readonly state: string;
  /** What differs, and why. */
  readonly reason?: string;
}

const STATEMENTS_MIN = 300;
const statements: readonly Statement[] = ledger;
/** Names of the rows of each file of vectors that was asked about. */
const named = new Map<string, ReadonlySet<string>>();

/** The names of a file of vectors: of conversations, parameters, or lines with an id. */
function names(path: string): ReadonlySet<string> {
  const known = named.get(path);
  if (known !== undefined) return known;
  const text = content(path);
  const rows: readonly { readonly id?: string; readonly name?: string }[] = path.endsWith(".jsonl")
    ? text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { readonly id?: string })
    : rowsOf(JSON.parse(text));
  const found = new Set(rows.flatMap(({ id, name }) => id ?? name ?? []));
  named.set(path, found);
  return found;
}

function rowsOf(file: unknown): readonly { readonly name?: string }[] {
  const { conversations, parameters } = file as Readonly<Record<string, readonly { readonly name?: string }[]>>;
  return conversations ?? parameters ?? [];
}

/** What is wrong with a reference to a row or test; nothing if it is there. */
function missing(row: string): string | undefined {
  const at = row.indexOf("#");
  const [file, name] = [row.slice(0, at), row.slice(at + 1)];
  if (at < 0 || name === "") return `${row} names no row`;
  const isCode = /\.(rs|ts)$/.test(file);
  const path = isCode ? file : `test-vectors/${file}`;
  if (!existsSync(join(root, path))) return `${path} does not exist`;
  if (isCode) {
    const test = file.endsWith(".rs") ? `fn ${name}(` : name;
    return content(path).includes(test) ? undefined : `${path} has no test '${name}'`;
  }
  return names(path).has(name) ? undefined : `${path} has no row '${name}'`;
}

test("every statement has rows or tests that exist, and says why where it differs", () => {
  const problems = statements.flatMap(({ id, says, rows, state, reason }) => [
    ...(rows.length === 0 ? [`${id} has no row`] : []),
    ...(says === "" ? [`${id} says nothing`] : []),
    ...(state === "yes" || (state === "differs" && reason !== undefined)
      ? []
      : [`${id} is neither so nor has a reason`]),
    ...rows.flatMap((row) => missing(row) ?? []).map((problem) => `${id}: ${problem}`),
  ]);
  expectNone("ledger", problems);
  expect(statements.length).toBeGreaterThanOrEqual(STATEMENTS_MIN);
  expect(new Set(statements.map(({ id }) => id)).size).toBe(statements.length);
});

test("a reference to nothing is noticed", () => {
  for (const row of [
    "search/nosuch.json#a",
    "search/sorting.json#no such conversation",
    "parameters.json#nosuch",
    "simple-query/advanced.jsonl#adv-999",
    "crates/query/tests/query/vectors.rs#no_such_test",
    "tools/ledger.test.ts",
  ]) {
    expect([row, missing(row)]).toEqual([row, expect.any(String)]);
  }
  expect(missing("search/sorting.json#orders of languages")).toBeUndefined();
});
