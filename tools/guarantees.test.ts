/** What docs/guarantees.md says of tests: each file that it names is there, and has the words that it quotes; nothing of the specification is left out. */
import { describe, expect, test } from "vitest";
import { content, expectNone, matching } from "./repository.ts";
import { GUARDS, withoutGuard } from "./sabotage/guards.ts";

const FILE = /`((?:packages|crates|apps|fuzz|tools|test-vectors)\/[\w./-]+\.(?:ts|rs|mjs))`/g;
/** Rows that the specification of reliability has. */
const IDS: Readonly<Record<string, number>> = { P: 18, T: 22, "S-": 35, A: 18 };
const document = content("docs/guarantees.md");

interface Row {
  readonly line: string;
  readonly files: readonly string[];
  /** Words that are quoted of tests. */
  readonly quotes: readonly string[];
}

function rowsOf(text: string): readonly Row[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .map((line) => ({
      line,
      files: [...line.matchAll(FILE)].map(([, path = ""]) => path),
      quotes: [...line.matchAll(/“([^”]+)”/g)].map(([, words = ""]) => words),
    }));
}

/** What is wrong with rows, where these are the files there are. */
function faults(rows: readonly Row[], textOf: (path: string) => string | undefined): readonly string[] {
  return rows.flatMap(({ line, files, quotes }) => {
    const texts = files.map((path) => textOf(path));
    const missing = files.filter((_, at) => texts[at] === undefined).map((path) => `${path} is not there`);
    const unsaid = quotes.filter((words) => !texts.some((text) => text?.includes(words) === true));
    return [...missing, ...unsaid.map((words) => `no file of its row has “${words}”: ${line.slice(0, 60)}`)];
  });
}

/** The ids of a table that rows begin with, as `P2, P3` or `A1 – A14, A16`. */
function idsOf(rows: readonly Row[], prefix: string): ReadonlySet<number> {
  const found = new Set<number>();
  const one = `${prefix}(\\d+)`;
  for (const { line } of rows) {
    const [, cell = ""] = line.split("|");
    for (const [, from = "", to = from] of cell.matchAll(new RegExp(`${one}(?: – ${one})?`, "g")))
      for (let id = Number(from); id <= Number(to); id += 1) found.add(id);
  }
  return found;
}

describe("docs/guarantees.md", () => {
  const rows = rowsOf(document);
  const all = new Set(matching(/\.(ts|rs|mjs)$/));

  test("names tests that are there, with their words", () => {
    expectNone(
      "guarantees",
      faults(rows, (path) => (all.has(path) ? content(path) : undefined)),
    );
  });

  test.each(Object.entries(IDS))("has every %s of the specification, 1 to %i", (prefix, count) => {
    const ids = idsOf(rows, prefix);
    expect([...Array.from({ length: count }, (_, at) => at + 1)].filter((id) => !ids.has(id))).toEqual([]);
  });

  test("names variables that a test of its row reads", () => {
    const unread = rows.flatMap(({ line, files }) =>
      [...line.matchAll(/`(BROOKLET_\w+)`/g)]
        .map(([, name = ""]) => name)
        .filter((name) => !files.some((path) => all.has(path) && content(path).includes(name)))
        .map((name) => `${name} is read by no file of its row: ${line.slice(0, 60)}`),
    );
    expectNone("variables", unread);
  });

  test.each(GUARDS)("$id: the guard of “$without” can be taken out, and is told of", (guard) => {
    expect(withoutGuard(content(guard.file), guard)).not.toBe(content(guard.file));
    expect(all.has(guard.test)).toBe(true);
    if (guard.name !== undefined) expect(content(guard.test)).toContain(guard.name);
    expect(document).toContain(`“${guard.without}”`);
  });

  test("sabotage: what is not there is seen", () => {
    const wrong = rowsOf(
      "| P1 | `packages/a/test/b.test.ts` (“words”) |\n| P2 | `packages/a/test/c.test.ts` (“others”) |",
    );
    expect(faults(wrong, (path) => (path.endsWith("c.test.ts") ? "words" : undefined))).toHaveLength(3);
    expect([...idsOf(rowsOf("| P1, P3 – P5 | |"), "P")]).toEqual([1, 3, 4, 5]);
  });
});
