/** Taste as a test: who imports whom, how long things may be, and what may not be left lying about. */
import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import layers from "./layers.json" with { type: "json" };
import { filesUnder, functions, type Room, rooms, root, type Source, target, undocumented } from "./sources.ts";

const FUNCTION_LINES_MAX = 70;
const FILE_LINES_MAX = 500;
const DRAWERS = /(^|\/)(utils?|helpers?|common|shared|misc)\.(ts|mts|mjs|rs)$|(^|\/)types\.ts$/;
// In pieces, so that this file does not find itself.
const LEFTOVERS = new RegExp(["TO", "DO\\b|FIX", "ME\\b|unimple", "mented!|to", "do!\\("].join(""));
const LEFT_OUT = new RegExp(["\\b(test|it|describe)\\.(only|sk", "ip|to", "do)\\b|#\\[ign", "ore"].join(""));

const all: readonly Room[] = rooms();
const sources: readonly Source[] = all.flatMap(({ sources: own }) => own);
const layered = layers.packages as Readonly<Record<string, readonly string[]>>;
const rust = filesUnder("crates", (path) => path.endsWith(".rs") && path.includes("/src/"));
const tests = ["crates", "packages", "apps", "tools"].flatMap((folder) => filesUnder(folder, isCode));
const content = (path: string): string => readFileSync(join(root, path), "utf8");

function isCode(path: string): boolean {
  return /\.(ts|mts|mjs|rs)$/.test(path);
}

/** `problems` as one readable failure. */
function expectNone(problems: readonly string[]): void {
  expect(problems.join("\n")).toBe("");
}

describe("imports", () => {
  test("follow the layers", () => {
    const strangers = all.flatMap(({ name, sources: own }) =>
      own.flatMap(({ path, imports }) =>
        imports
          .map((specifier) =>
            Object.keys(layered).find((room) => specifier === room || specifier.startsWith(`${room}/`)),
          )
          .filter((room) => room !== undefined && room !== name && !(layered[name] ?? []).includes(room))
          .map((room) => `${path} must not import ${room}`),
      ),
    );
    expectNone(strangers);
    expectNone(all.filter(({ name }) => !(name in layered)).map(({ name }) => `${name} is not in tools/layers.json`));
  });

  test("need no Node where there may be none", () => {
    const portable = all.filter(({ name }) => layers.noNodeBuiltins.includes(name)).flatMap(({ sources: own }) => own);
    const isBuiltin = (specifier: string): boolean =>
      specifier.startsWith("node:") || builtinModules.includes(specifier);
    expectNone(
      portable.filter(({ imports }) => imports.some(isBuiltin)).map(({ path }) => `${path} imports Node's own modules`),
    );
  });

  test("have no cycles, type-only ones included", () => {
    const edges = new Map(
      sources.map((source) => [
        source.path,
        source.imports.filter((specifier) => specifier.startsWith(".")).map((specifier) => target(source, specifier)),
      ]),
    );
    const [done, cycles]: [Set<string>, string[]] = [new Set(), []];
    const visit = (path: string, way: readonly string[]): void => {
      if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(" → "));
      if (done.has(path) || way.includes(path)) return;
      for (const next of edges.get(path) ?? []) visit(next, [...way, path]);
      done.add(path);
    };
    for (const path of edges.keys()) visit(path, []);
    expectNone(cycles);
  });
});

describe("sizes", () => {
  test(`functions have at most ${FUNCTION_LINES_MAX} lines`, () => {
    expectNone(
      sources.flatMap((source) =>
        functions(source)
          .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
          .map(({ name, lines }) => `${source.path}: ${name} has ${lines} lines`),
      ),
    );
  });

  test(`files have at most ${FILE_LINES_MAX} lines without their tests`, () => {
    const long = [...sources.map(({ path }) => path), ...rust.filter((path) => !/tests?\.rs$|\/unicode\//.test(path))]
      .map((path) => [path, (content(path).split("#[cfg(test)]")[0] ?? "").split("\n").length] as const)
      .filter(([, lines]) => lines > FILE_LINES_MAX);
    expectNone(long.map(([path, lines]) => `${path} has ${lines} lines`));
  });
});

describe("nothing lies about", () => {
  test("no drawers", () => expectNone(tests.filter((path) => DRAWERS.test(path))));
  test("no leftovers", () => expectNone(tests.filter((path) => LEFTOVERS.test(content(path)))));
  test("no test is left out or alone", () => expectNone(tests.filter((path) => LEFT_OUT.test(content(path)))));
  test("no default exports", () =>
    expectNone(
      sources
        .filter(({ path, text }) => !path.endsWith(".d.ts") && /^export default/m.test(text))
        .map(({ path }) => path),
    ));
  test("every file says what it is for", () => {
    expectNone(sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path));
    expectNone(rust.filter((path) => !content(path).startsWith("//!") && !/tests?\.rs$/.test(path)));
  });
  test("every exported item is documented", () =>
    expectNone(sources.flatMap((source) => undocumented(source).map((item) => `${source.path}: ${item}`))));
});
