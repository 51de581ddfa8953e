/** Every sample of the documentation: compiled, run, and what it prints compared. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { problemsOfModules } from "../../../packages/brooklet/test/compiled.ts";
import { documents, exportsOf, root } from "../documents.mjs";
import { type Fence, fencesOf, isExpected } from "../samples/fences.mjs";
import { freeNames } from "../samples/module.mjs";
import { chainsOf, runPage } from "../samples/page.mjs";

const pages = new Map<string, readonly Fence[]>(
  documents().map((path) => [path, fencesOf(path, readFileSync(join(root, path), "utf8"))]),
);
const fences = [...pages.values()].flat();
const chains = chainsOf(fences, exportsOf("packages/brooklet/src/index.ts"));

describe("samples", () => {
  test("that are not run say why, and nothing is said that means nothing", () => {
    const problems = fences.flatMap(({ page, line, problems: own }) => own.map((it) => `${page}:${line} ${it}`));
    expect(problems).toEqual([]);
    expect(fences.length).toBeGreaterThan(80);
  });

  test("of JSON are JSON", () => {
    const broken = fences.filter(({ language, code }) => {
      if (language !== "json") return false;
      try {
        JSON.parse(code);
        return false;
      } catch {
        return true;
      }
    });
    expect(broken.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });

  test("compile", () => {
    expect(problemsOfModules(chains)).toEqual([]);
  });
});

const runnable = [...pages].filter(([, own]) => own.some(({ kind }) => kind === "run"));

describe.concurrent("samples run, and print what stands there:", () => {
  test.each(runnable)("%s", async (page, own) => {
    const { printed, problem } = await runPage(
      own,
      chains.filter(({ fences: [first] }) => first?.page === page),
    );
    expect(problem).toBeUndefined();
    const wrong = own.filter(
      ({ line, expected }) => expected !== undefined && !isExpected(expected, printed.get(line) ?? ""),
    );
    const told = wrong.map(
      ({ line, expected }) => `${page}:${line} prints\n${printed.get(line) ?? "nothing"}\ninstead of\n${expected}`,
    );
    expect(told.join("\n")).toBe("");
    expect(own.filter(({ kind, line }) => kind === "run" && !printed.has(line)).map(({ line }) => line)).toEqual([]);
  });
});

describe("the runner", () => {
  const sample = (text: string): readonly Fence[] => fencesOf("wrong.md", text);

  test("finds what does not compile, does not run, and prints something else", async () => {
    const own = sample('```ts\nconsole.log(1 + 1);\n```\n```output\n3\n```\n```ts\nthrow new Error("no");\n```\n');
    const known = { values: new Set<string>(), types: new Set<string>() };
    const { printed, problem } = await runPage(own, chainsOf(own, known));
    expect(printed.get(1)?.trim()).toBe("2");
    expect(isExpected(own[0]?.expected ?? "", printed.get(1) ?? "")).toBe(false);
    expect(problem).toContain("line 7");
    const [wrong] = chainsOf(sample("```ts\nconst a: number = 'b';\n```\n"), known);
    expect(problemsOfModules(wrong === undefined ? [] : [wrong]).join()).toContain("wrong.md:1");
  });

  test("knows what a sample uses and does not make", () => {
    expect([...freeNames("const { a, b: c } = d; e.f({ g, h: i }); function j(k: L) { return k; }")]).toEqual(
      expect.arrayContaining(["d", "e", "g", "i", "L"]),
    );
    expect(freeNames("const { a, b: c } = d; e.f({ h: i });").has("f")).toBe(false);
  });

  test("takes … for what differs", () => {
    expect(isExpected("took … ms\n…\nend", "took 12 ms\na\nb\nend\n")).toBe(true);
    expect(isExpected("took … ms", "took 12 s")).toBe(false);
  });

  test("asks for reasons", () => {
    expect(sample("```sh no-run: no\nls\n```\n")[0]?.problems).toHaveLength(1);
    expect(sample("```py\nprint(1)\n```\n")[0]?.problems).toHaveLength(1);
    expect(sample("```ts quickly\n1\n```\n")[0]?.problems).toHaveLength(1);
  });
});

beforeAll(() => {
  expect(pages.size).toBeGreaterThan(20);
});
