/**
 * Bundles of the installed packages, made as a stranger would and run: a server with esbuild, webpack, Rollup and Vite, in memory
 * and with worker threads; the client for browsers, whose size has a budget (tools/sizes.json).
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { build as esbuild } from "esbuild";
import { rollup } from "rollup";
import { build as vite } from "vite";
import { describe, expect, inject, test } from "vitest";
import webpack from "webpack";
import sizes from "../sizes.json" with { type: "json" };

const project = inject("project");
/** Node's own modules, which no bundle holds. */
const BUILTIN = [...builtinModules, ...builtinModules.map((name) => `node:${name}`)];
/** A server that writes and searches: in this thread, or in two others if it is given a folder. */
const SERVER = `import { open, schema, text } from "brooklet";
const note = schema("note", { title: text() });
const path = process.argv[2];
const database = await open({ schemas: [note], ...(path === undefined ? {} : { path, threads: 2 }) });
const alice = database.group("alice");
await alice.put(note, "n1", { title: "the deposit" });
const { hits } = await alice.search(note, { text: "deposit" });
console.log(JSON.stringify(hits.map(({ fields }) => fields.title)));
await database.close();
`;
const FOUND = '["the deposit"]';
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
const FOR_SERVERS = { bundle: true, platform: "node", format: "esm", target: "node20", logLevel: "error" } as const;
const CLIENT_KILOBYTES = sizes.browserKilobytes["@brooklet/client"];

/** A folder of the project with a program in it. */
function place(name: string, program: string): { readonly entry: string; readonly out: string } {
  const folder = join(project, "bundles", name.replaceAll(" ", "-"));
  const out = join(folder, "out");
  mkdirSync(out, { recursive: true });
  const entry = join(folder, "entry.mjs");
  writeFileSync(entry, program);
  writeFileSync(join(out, "package.json"), '{"type":"module"}');
  return { entry, out };
}

/** Runs a bundle; what it prints. */
function run(file: string, ...words: readonly string[]): string {
  return execFileSync(process.execPath, [file, ...words], { encoding: "utf8", stdio: "pipe" }).trim();
}

/** Makes `main.js` of a program, in a folder. */
type Bundler = (entry: string, out: string) => Promise<void>;

const MODULES = { output: { module: true, chunkFormat: "module" }, experiments: { outputModule: true } } as const;

async function withWebpack(
  entry: string,
  out: string,
  { output = {}, experiments = {}, target = "node20" }: webpack.Configuration,
): Promise<void> {
  const files = { path: out, filename: "[name].js", ...output };
  const compiler = webpack({
    mode: "production",
    target,
    entry: { main: entry },
    output: files,
    experiments,
  });
  await new Promise<void>((resolve, reject) => {
    compiler.run((error, stats) => {
      if (error !== null) reject(error);
      else if (stats?.hasErrors() === true) reject(new Error(stats.toString({ preset: "errors-only" })));
      else resolve();
    });
  });
}

const withRollup: Bundler = async (entry, out) => {
  const plugins = [nodeResolve({ exportConditions: ["node"], preferBuiltins: true })];
  const bundle = await rollup({ input: { main: entry }, external: BUILTIN, plugins, onwarn: () => undefined });
  await bundle.write({ dir: out, format: "es" });
  await bundle.close();
};

const withVite: Bundler = async (entry, out) => {
  const output = { entryFileNames: "main.js" };
  await vite({
    root: project,
    configFile: false,
    logLevel: "error",
    build: { ssr: entry, outDir: out, emptyOutDir: false, rollupOptions: { output } },
    ssr: { noExternal: true },
  });
};

const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: async (entry, out) => void (await esbuild({ entryPoints: { main: entry }, outdir: out, ...FOR_SERVERS })),
  "esbuild with splitting": async (entry, out) =>
    void (await esbuild({ entryPoints: { main: entry }, outdir: out, splitting: true, ...FOR_SERVERS })),
  "webpack to ECMAScript modules": (entry, out) => withWebpack(entry, out, MODULES),
  "webpack to CommonJS": async (entry, out) => {
    await withWebpack(entry, out, {});
    writeFileSync(join(out, "package.json"), '{"type":"commonjs"}');
  },
  Rollup: withRollup,
  "Vite for servers": withVite,
};

describe.each(Object.entries(bundlers))("a server bundled by %s", (name, bundle) => {
  test("runs in memory, and in worker threads", async () => {
    const { entry, out } = place(name, SERVER);
    await bundle(entry, out);
    expect(run(join(out, "main.js"))).toBe(FOUND);
    expect(run(join(out, "main.js"), join(out, "../data"))).toBe(FOUND);
  });
});

test("webpack takes the core's module along, once", async () => {
  const { entry, out } = place("webpack asset", SERVER);
  await withWebpack(entry, out, MODULES);
  const modules = readdirSync(out).filter((name) => name.endsWith(".wasm"));
  expect(modules).toHaveLength(1);
  expect(statSync(join(out, modules[0] ?? "")).size).toBeGreaterThan(1_000_000);
});

test("a bundle elsewhere says which file it lacks, and runs with that beside it", async () => {
  const { entry, out } = place("alone", SERVER);
  await bundlers["esbuild"]?.(entry, out);
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
  const scripts = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => /\.m?js$/.test(name));
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

describe("the client for browsers, within its budget", () => {
  const FOR_PAGES = { bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022" } as const;

  test("bundled by Vite runs", async () => {
    const { entry, out } = place("page of Vite", PAGE);
    const output = { entryFileNames: "main.js" };
    await vite({
      root: project,
      configFile: false,
      logLevel: "error",
      build: { outDir: out, emptyOutDir: false, target: "es2022", rollupOptions: { input: { main: entry }, output } },
    });
    expect(run(join(out, "main.js"))).toBe(FOUND);
    const { first, all } = travelling(out);
    expect(first).toBeLessThan(CLIENT_KILOBYTES.first * 1_000);
    expect(all).toBeLessThan(CLIENT_KILOBYTES.all * 1_000);
  });

  test("bundled by webpack runs", async () => {
    const { entry, out } = place("page of webpack", PAGE);
    await withWebpack(entry, out, { ...MODULES, target: "es2022" });
    expect(run(join(out, "main.js"))).toBe(FOUND);
    const { first, all } = travelling(out);
    expect(first).toBeLessThan(CLIENT_KILOBYTES.first * 1_000);
    expect(all).toBeLessThan(CLIENT_KILOBYTES.all * 1_000);
  });

  test("bundled by esbuild runs, in pieces and as one", async () => {
    const { entry, out } = place("page of esbuild", PAGE);
    await esbuild({ entryPoints: { main: entry }, outdir: out, splitting: true, ...FOR_PAGES });
    expect(run(join(out, "main.js"))).toBe(FOUND);
    expect(travelling(out).first).toBeLessThan(CLIENT_KILOBYTES.firstOfEsbuild * 1_000);
    const whole = place("page of esbuild, whole", PAGE);
    const { metafile } = await esbuild({
      entryPoints: { main: entry },
      outdir: whole.out,
      metafile: true,
      ...FOR_PAGES,
    });
    expect(run(join(whole.out, "main.js"))).toBe(FOUND);
    expect(travelling(whole.out).all).toBeLessThan(CLIENT_KILOBYTES.all * 1_000);
    // A library that is many times as large as the client.
    expect(Object.keys(metafile.inputs).filter((path) => path.includes("node_modules/zod/"))).toEqual([]);
  });
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
