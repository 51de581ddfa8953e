/** Taste as a test, for code: who imports whom, how long things may be, and what may not be left lying about. */
import { builtinModules } from "node:module";
import { describe, test } from "vitest";
import { uncalled, unimported } from "./exported-names.ts";
import layers from "./layers.json" with { type: "json" };
import { content, expectNone, matching } from "./repository.ts";
import { circles, rustImports, strayModules } from "./rust-modules.ts";
import {
  blanked,
  crateDependencies,
  rustFunctions,
  unexplainedDependencies,
  withoutTestItems,
  withoutTests,
} from "./rust-sources.ts";
import sizes from "./sizes.json" with { type: "json" };
import { fullFolders, largeRooms, type SizedFile } from "./sizes.ts";
import { compiledFiles, functions, type Room, rooms, type Source, target, undocumented } from "./sources.ts";

const { functionLines: FUNCTION_LINES_MAX, fileLines: FILE_LINES_MAX } = sizes;
const DRAWERS = /(^|\/)(utils?|helpers?|common|shared|misc)(\.\w+$|\/)|(^|\/)types\.ts$/;
// In pieces, so that this file does not find itself.
const LEFTOVERS = new RegExp(
  ["\\bTO", "DO\\b|\\bFIX", "ME\\b|\\bXX", "X\\b|unimple", "mented!|\\bto", "do!\\("].join(""),
);
const LEFT_OUT = new RegExp(["\\b(test|it|describe)\\.(only|sk", "ip|to", "do)\\b|#\\[ign", "ore"].join(""));
/** A comment that ends as a statement does, or begins as one. */
const COMMENTED_OUT =
  /^\s*\/\/(?![/!]) ?(?:(?:let|const|var|if|for|while|return|use|import|export|fn|pub|impl|struct|mod)\b.*[;{(]|.*(?:\);|\};|\) \{)|[})\]]+[;,]?)$/m;
/** What a package has for Node alone: an entry, a folder. */
const NODE_ROOM = /^[^/]+\/[^/]+\/src\/node(\.ts$|\/)/;
/** It keeps an object of a platform in memory, and a process alive: clusters are given theirs. */
const INTERVAL = /\bsetInterval\b/;
/** What knows a clock, a thread or the machine. */
const MACHINE = /\bstd::(time|thread|fs|env|net|process)\b/;
/** Functions whose bits depend on the platform; crate `libm` has them all. */
const PLATFORM_MATHS =
  /\.(exp|exp2|exp_m1|ln|ln_1p|log|log2|log10|powf|powi|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|hypot|cbrt)\(/;

const all: readonly Room[] = rooms();
const sources: readonly Source[] = all.flatMap(({ sources: own }) => own);
const layered = layers.packages as Readonly<Record<string, readonly string[]>>;
const crateLayers = layers.crates as Readonly<Record<string, readonly string[]>>;
const manifests = matching(/^(crates\/[^/]+|fuzz|xtask)\/Cargo\.toml$/);
const rust = matching(/^(crates\/[^/]+|fuzz|xtask)\/src\/.*\.rs$/);
const core = rust.filter((path) => path.startsWith("crates/") && !/\/bin\/|(^|\/)tests?(\/|\.rs$)/.test(path));
const code = matching(/^(?!test-vectors\/).*\.(ts|mts|mjs|rs|py|java|sh)$/);

describe("imports", () => {
  test("of packages follow the layers", () => {
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
    const missing = all.filter(({ name }) => !(name in layered)).map(({ name }) => `${name} is not in layers.json`);
    expectNone("packages", [...strangers, ...missing]);
  });

  test("of crates follow the layers", () => {
    const strangers = manifests
      .filter((path) => path.startsWith("crates/"))
      .flatMap((path) => {
        const name = path.split("/")[1] ?? "";
        const allowed = crateLayers[name];
        if (allowed === undefined) return [`${name} is not in layers.json`];
        const uses = crateDependencies(content(path)).filter((room) => !allowed.includes(room));
        return uses.map((room) => `${path} must not name ${room}`);
      });
    expectNone("crates", strangers);
  });

  test("need no Node where there may be none", () => {
    const portable = all.filter(({ name }) => layers.noNodeBuiltins.includes(name)).flatMap(({ sources: own }) => own);
    const isBuiltin = (specifier: string): boolean =>
      specifier.startsWith("node:") || builtinModules.includes(specifier);
    const used = portable.filter(({ imports }) => imports.some(isBuiltin));
    expectNone(
      "portable",
      used.map(({ path }) => `${path} imports Node's own modules`),
    );
  });

  test("bring none of Node's types to what every platform runs: turns and intervals are given", () => {
    const everywhere = all.filter(({ name }) => layers.noNodeTypes.includes(name));
    const found = everywhere.flatMap(({ name, folder, sources: own }) => {
      const files = compiledFiles(`${folder}/tsconfig.json`);
      const typed = files.filter((path) => path.includes("/@types/node/")).slice(0, 1);
      const portable = own.filter(({ path }) => !NODE_ROOM.test(path));
      const unread = portable.filter(({ path }) => !files.includes(path));
      return [
        ...typed.map((path) => `${name} is compiled with ${path}`),
        ...unread.map(({ path }) => `${path} is not compiled by ${folder}/tsconfig.json`),
        ...portable.filter(({ text }) => INTERVAL.test(text)).map(({ path }) => `${path} takes an interval of its own`),
      ];
    });
    expectNone("given by Node", found);
  });

  test("are of no foreign package where each one would come into browsers", () => {
    const bare = all.filter(({ name }) => layers.noForeignPackages.includes(name)).flatMap(({ sources: own }) => own);
    const isForeign = (specifier: string): boolean => !/^(\.|@brooklet\/)/.test(specifier);
    const used = bare.flatMap(({ path, imports }) => imports.filter(isForeign).map((it) => `${path} imports ${it}`));
    expectNone("foreign", used);
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
    expectNone("cycles", cycles);
  });

  test("of a crate's files go one way, downwards", () => {
    const folders = new Set(core.map((path) => path.slice(0, path.indexOf("/src/") + "/src/".length)));
    const found = [...folders].flatMap((folder) => {
      const files = core.filter((path) => path.startsWith(folder)).map((path) => ({ path, text: content(path) }));
      return circles(rustImports(files)).map((circle) => {
        const names = circle.map((path) => path.slice(folder.length)).join(", ");
        return `${folder}: ${circle.length} files import each other: ${names}`;
      });
    });
    expectNone("circles of files", found);
  });

  test("reach every file of Rust", () => {
    const files = matching(/^(crates|fuzz|xtask|test-vectors)\/.*\.rs$/).map((path) => ({ path, text: content(path) }));
    expectNone("files that no file declares as its module", strayModules(files));
  });

  test("of foreign crates say why", () => {
    const unexplained = manifests.flatMap((path) =>
      unexplainedDependencies(content(path)).map((line) => `${path}: ${line}`),
    );
    expectNone("reasons", unexplained);
  });
});

describe("sizes", () => {
  const lengths: readonly SizedFile[] = [
    ...sources.map(({ path, text }) => ({ path, text })),
    ...rust
      .filter((path) => !/tests?\.rs$|\/unicode\//.test(path))
      .map((path) => ({ path, text: withoutTests(content(path)) })),
  ].map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }));

  test(`functions have at most ${FUNCTION_LINES_MAX} lines`, () => {
    const typescript = sources.map((source) => ({ path: source.path, found: functions(source) }));
    const inRust = rust.map((path) => ({ path, found: rustFunctions(content(path)) }));
    const long = [...typescript, ...inRust].flatMap(({ path, found }) =>
      found
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ name, lines }) => `${path}: ${name} has ${lines} lines`),
    );
    expectNone("functions", long);
  });

  test(`files have at most ${FILE_LINES_MAX} lines without their tests`, () => {
    const long = lengths.filter(({ lines }) => lines > FILE_LINES_MAX);
    expectNone(
      "files",
      long.map(({ path, lines }) => `${path} has ${lines} lines`),
    );
  });

  test("rooms have at most the lines of tools/sizes.json", () => {
    const ofRooms = lengths.filter(({ path }) => /^(packages|crates)\//.test(path));
    expectNone("rooms", largeRooms(ofRooms, sizes));
  });

  test(`folders of packages have at most ${sizes.folderFiles} files`, () => {
    const ofPackages = lengths.filter(({ path }) => path.startsWith("packages/"));
    expectNone("folders", fullFolders(ofPackages, sizes));
  });
});

describe("nothing lies about", () => {
  test("no drawers", () =>
    expectNone(
      "drawers",
      code.filter((path) => DRAWERS.test(path)),
    ));
  test("no leftovers", () =>
    expectNone(
      "leftovers",
      code.filter((path) => LEFTOVERS.test(content(path))),
    ));
  test("no test is left out or alone", () =>
    expectNone(
      "left out",
      code.filter((path) => LEFT_OUT.test(content(path))),
    ));
  test("no commented-out code", () => {
    const found = matching(/\.(ts|mjs|rs)$/).flatMap((path) => {
      const line = COMMENTED_OUT.exec(content(path))?.[0].trim();
      return line === undefined ? [] : [`${path}: ${line}`];
    });
    expectNone("commented out", found);
  });
  test("no default exports", () =>
    expectNone(
      "default exports",
      sources
        .filter(({ path, text }) => !path.endsWith(".d.ts") && /^export default/m.test(text))
        .map(({ path }) => path),
    ));
  test("a stub of an object is made for each call, in the port of the Worker alone: it belongs to one request", () =>
    expectNone(
      "stubs",
      sources
        .filter(({ path, text }) => path !== "apps/worker/src/port.ts" && /\b(getByName|idFromName)\(/.test(text))
        .map(({ path }) => path),
    ));
  test("every file says what it is for", () => {
    const silent = sources.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path);
    const unit = /tests?\.rs$|\/tests\//;
    const silentRust = rust.filter((path) => !unit.test(path) && !/^(#!\[.*\n)?\/\/!/.test(content(path)));
    expectNone("first lines", [...silent, ...silentRust]);
  });
  test("no type that TypeScript 5.4 cannot read, as arrays of numbers that say of which memory: bytes of what is not shared are UnsharedBytes", () =>
    expectNone(
      "generic bytes",
      sources
        .filter(({ text }) => /\b(?:Uint|Int|Float|BigInt|BigUint)\d+(?:Clamped)?Array</.test(text))
        .map(({ path }) => path),
    ));
  test("nothing is exported for nobody", () => {
    const exporting = new Map(sources.map(({ path, text }) => [path, text]));
    const naming = matching(/\.(ts|tsx|mts|mjs)$|^packages\/[\w-]+\/README\.md$/);
    expectNone("exported", unimported(exporting, new Map(naming.map((path) => [path, content(path)]))));
  });
  test("nothing of a crate is called by its tests alone", () => {
    const crates = core.map((path) => [path, withoutTestItems(content(path))] as const);
    // What JavaScript calls.
    const face = "packages/core/src/instance.ts";
    expectNone("called", uncalled(new Map([...crates, [face, content(face)]])));
  });
  test("every exported item is documented", () =>
    expectNone(
      "documented",
      sources.flatMap((source) => undocumented(source).map((item) => `${source.path}: ${item}`)),
    ));
});

describe("the core", () => {
  test("is safe Rust but for the kernels and the face to JavaScript", () => {
    const unsafeOnes = ["kernel", "wasm"];
    const roots = matching(/^crates\/[^/]+\/src\/lib\.rs$/).filter(
      (path) => !unsafeOnes.includes(path.split("/")[1] ?? ""),
    );
    expectNone(
      "unsafe",
      roots.filter((path) => !content(path).includes("#![forbid(unsafe_code)]")),
    );
  });
  test("has no clock, thread or file", () => {
    const using = core.filter((path) => MACHINE.test(blanked(withoutTests(content(path)))));
    expectNone("machine", using);
  });
  test("computes the same bits everywhere", () => {
    const using = core.filter((path) => PLATFORM_MATHS.test(blanked(withoutTests(content(path)))));
    expectNone("maths", using);
  });
});
