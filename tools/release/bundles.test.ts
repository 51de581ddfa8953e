/**
 * Bundles of the installed packages, made as a stranger would and run: a server with esbuild, webpack, Rollup and Vite, in memory
 * and with worker threads; the client for browsers, whose size has a budget (tools/sizes.json).
 */
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { build as esbuild, transform } from "esbuild";
import { build as vite } from "vite";
import { describe, expect, inject, test } from "vitest";
import { runtimes } from "../runtimes/runtimes.mjs";
import sizes from "../sizes.json" with { type: "json" };
import {
  bundlers,
  FOR_SERVERS,
  FOUND,
  MODULES,
  place as placeIn,
  SERVER,
  withRollup,
  withWebpack,
} from "./bundlers.ts";

const project = inject("project");
/** A page that puts, gets and searches; its server is in it. */
const PAGE = `import { connect, schema, text, timestamp } from "@brooklet/client";
const note = schema("note", { title: text(), at: timestamp() });
const fields = { title: "the deposit", at: 0 };
const hit = { id: "id:note:note:g=alice:n1", relevance: 0.5, source: "all", fields };
const answer = { fields, root: { id: "toplevel", relevance: 1, fields: { totalCount: 1 }, children: [hit] } };
const fetch = async () => new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
const alice = connect({ url: "http://server", fetch }).group("alice");
await alice.put(note, "n1", { title: "the deposit", at: new Date(0) });
const found = await alice.get(note, "n1");
const { hits } = await alice.search(note, { text: found?.title });
console.log(JSON.stringify(hits.map(({ fields }) => fields.title)));
`;
const CLIENT_KILOBYTES = sizes.browserKilobytes["@brooklet/client"];

/** A folder of the project with a program in it. */
const place = (name: string, program: string): { readonly entry: string; readonly out: string } =>
  placeIn(project, name, program);

/** Runs a bundle; what it prints. */
function run(file: string, ...words: readonly string[]): string {
  return execFileSync(process.execPath, [file, ...words], { encoding: "utf8", stdio: "pipe" }).trim();
}

/** The servers that were bundled, by what bundled them: several tests look at one. */
const servers = new Map<string, Promise<string>>();

/** Where a server is that was bundled in one of the ways. */
function server(name: string): Promise<string> {
  const made = servers.get(name) ?? bundled(name);
  servers.set(name, made);
  return made;
}

async function bundled(name: string): Promise<string> {
  const { entry, out } = place(name, SERVER);
  await bundlers[name]?.(entry, out, project);
  return out;
}

describe.each(Object.keys(bundlers))("a server bundled by %s", (name) => {
  test("runs in memory, and in worker threads", async () => {
    const out = await server(name);
    expect(run(join(out, "main.js"))).toBe(FOUND);
    expect(run(join(out, "main.js"), join(out, "../data"))).toBe(FOUND);
  });
});

describe("a server bundled by esbuild", () => {
  test.each(Object.entries(runtimes()))(
    "runs in %s, in memory and in worker threads",
    async (name, [program, ...words]) => {
      const out = await server("esbuild");
      const start = [...words, join(out, "main.js")];
      expect(execFileSync(program, start, { encoding: "utf8", stdio: "pipe" }).trim()).toBe(FOUND);
      const overThreads = [...start, join(out, `../data-${name}`)];
      expect(execFileSync(program, overThreads, { encoding: "utf8", stdio: "pipe" }).trim()).toBe(FOUND);
    },
  );
});

test("webpack takes the core's module along, once", async () => {
  const out = await server("webpack to ECMAScript modules");
  const modules = readdirSync(out).filter((name) => name.endsWith(".wasm"));
  expect(modules).toHaveLength(1);
  expect(statSync(join(out, modules[0] ?? "")).size).toBeGreaterThan(1_000_000);
});

test("a bundle elsewhere says which file it lacks, and runs with that beside it", async () => {
  const out = await server("esbuild");
  const alone = join(inject("scratch"), "alone");
  cpSync(out, alone, { recursive: true });
  for (const name of ["better-sqlite3", "bindings", "file-uri-to-path"])
    cpSync(join(project, "node_modules", name), join(alone, "node_modules", name), { recursive: true });
  expect(() => run(join(alone, "main.js"))).toThrow(/core_bg\.wasm is neither at/);
  cpSync(join(project, "node_modules/@brooklet/core/wasm/core_bg.wasm"), join(alone, "core_bg.wasm"));
  expect(run(join(alone, "main.js"))).toBe(FOUND);
});

/** A bundle's bytes as they travel: those that a page begins with, and all there are. */
function travelling(out: string): { readonly first: number; readonly all: number } {
  const scripts = scriptsOf(out);
  const size = (name: string): number => gzipSync(readFileSync(join(out, name)), { level: 9 }).length;
  const first = new Set<string>();
  const follow = (name: string): void => {
    if (first.has(name)) return;
    first.add(name);
    // What is imported by a call has a bracket before its name.
    const imports = readFileSync(join(out, name), "utf8").matchAll(/(?:\bimport|\bfrom)\s*"(\.[^"]+)"/g);
    for (const [, path = ""] of imports) follow(join(dirname(name), path));
  };
  follow("main.js");
  const sum = (names: Iterable<string>): number => [...names].reduce((total, name) => total + size(name), 0);
  return { first: sum(first), all: sum(scripts) };
}

/** The scripts of a bundle. */
function scriptsOf(out: string): readonly string[] {
  return readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => /\.m?js$/.test(name));
}

const FOR_PAGES = { bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022" } as const;

/** How a page is bundled: in pieces, or as one file. Those that leave scripts as they are written have them minified by esbuild. */
const forPages: Readonly<Record<string, (entry: string, out: string, isOne: boolean) => Promise<void>>> = {
  esbuild: async (entry, out, isOne) => {
    await esbuild({ entryPoints: { main: entry }, outdir: out, splitting: !isOne, ...FOR_PAGES });
  },
  Vite: async (entry, out, isOne) => {
    const output = { entryFileNames: "main.js", ...(isOne ? { codeSplitting: false } : {}) };
    await vite({
      root: project,
      configFile: false,
      logLevel: "error",
      build: { outDir: out, emptyOutDir: false, target: "es2022", rollupOptions: { input: { main: entry }, output } },
    });
  },
  webpack: (entry, out, isOne) => withWebpack(entry, out, { ...MODULES, target: "es2022" }, isOne),
  Rollup: async (entry, out, isOne) => {
    await withRollup(entry, out, "page", isOne);
    for (const name of scriptsOf(out)) {
      const { code } = await transform(readFileSync(join(out, name), "utf8"), { minify: true, target: "es2022" });
      writeFileSync(join(out, name), code);
    }
  },
};

describe.each(Object.entries(forPages))("for browsers, bundled by %s,", (name, bundle) => {
  test.each([false, true])("the client runs, within its budget; as one file: %s", async (isOne) => {
    const { entry, out } = place(`page of ${name}${isOne ? ", whole" : ""}`, PAGE);
    await bundle(entry, out, isOne);
    expect(run(join(out, "main.js"))).toBe(FOUND);
    const { first, all } = travelling(out);
    expect(scriptsOf(out).length === 1).toBe(isOne);
    if (!isOne) expect(first).toBeLessThan(CLIENT_KILOBYTES.first * 1_000);
    expect(all).toBeLessThan(CLIENT_KILOBYTES.all * 1_000);
  });

  test("the client of `mini` runs as one file, within its budget", async () => {
    const { entry, out } = place(`mini page of ${name}`, PAGE.replace("@brooklet/client", "@brooklet/client/mini"));
    await bundle(entry, out, true);
    expect(run(join(out, "main.js"))).toBe(FOUND);
    expect(scriptsOf(out)).toEqual(["main.js"]);
    expect(travelling(out).all).toBeLessThan(sizes.browserKilobytes["@brooklet/client/mini"].all * 1_000);
  });
});

/** The oldest browsers that docs/install.md names for a page, and some of what came to one of them later: answers and passages have it. */
const OLDEST = ["chrome100", "firefox100", "safari16.4"];
const LATER =
  /\.(toSorted|toReversed|toSpliced|with|findLast|findLastIndex|isWellFormed|toWellFormed|fromAsync|groupBy|withResolvers|canParse|fromBase64|toBase64)\(|AbortSignal\.(any|timeout)|Intl\.Segmenter|Promise\.try/;

test("the oldest browsers that are named for a page read all of the client, and have what documents and searches need", async () => {
  const pages = [PAGE, PAGE.replace("@brooklet/client", "@brooklet/client/mini")].map(async (page, index) => {
    const { entry, out } = place(`page ${index} in old browsers`, page);
    await esbuild({ entryPoints: { main: entry }, outdir: out, ...FOR_PAGES });
    return readFileSync(join(out, "main.js"), "utf8");
  });
  const [whole = "", mini = ""] = await Promise.all(pages);
  // What esbuild would write otherwise for them, they do not read; of classes of characters it thinks that of every browser.
  const supported = { "regexp-unicode-property-escapes": true };
  const written = async (target: string | string[]): Promise<string> =>
    (await transform(whole, { target, supported })).code;
  const plain = await written("esnext");
  expect((await written(OLDEST)) === plain).toBe(true);
  expect((await written("safari16.3")) === plain).toBe(false);
  expect([LATER.test(whole), LATER.exec(mini)?.[0]]).toEqual([true, undefined]);
});

test("a library that is many times as large as the client is not in a page with it", async () => {
  const { entry, out } = place("page without zod", PAGE);
  const { metafile } = await esbuild({ entryPoints: { main: entry }, outdir: out, metafile: true, ...FOR_PAGES });
  expect(Object.keys(metafile.inputs).filter((path) => path.includes("node_modules/zod/"))).toEqual([]);
});

test("libraries that a program does not use are not in its bundle", async () => {
  const { entry, out } = place("optional", SERVER);
  const { metafile } = await esbuild({ entryPoints: [entry], outdir: out, metafile: true, ...FOR_SERVERS });
  const owners = Object.keys(metafile.inputs).map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]);
  const packages = new Set(owners);
  for (const name of ["ai", "commander", "postal-mime", "@brooklet/adapters", "@modelcontextprotocol/sdk"])
    expect(packages).not.toContain(name);
  expect(packages).toContain("@brooklet/core");
});
