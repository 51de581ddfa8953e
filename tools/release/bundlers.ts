/** Bundlers of strangers, each as its own guide calls it: a program of an installed project becomes `main.js` of a folder. */
import { mkdirSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { build as esbuild } from "esbuild";
import { rollup } from "rollup";
import { build as vite } from "vite";
import webpack from "webpack";

/** Node's own modules, which no bundle holds. */
const BUILTIN = [...builtinModules, ...builtinModules.map((name) => `node:${name}`)];
/** A server that writes and searches: in this thread, or in two others if it is given a folder. */
export const SERVER = `import { open, schema, text } from "brooklet";
const note = schema("note", { title: text() });
async function main() {
  const path = process.argv[2];
  const database = await open({ schemas: [note], ...(path === undefined ? {} : { path, threads: 2 }) });
  const alice = database.group("alice");
  await alice.put(note, "n1", { title: "the deposit" });
  const { hits } = await alice.search(note, { text: "deposit" });
  console.log(JSON.stringify(hits.map(({ fields }) => fields.title)));
  await database.close();
}
void main();
`;
/** What it prints. */
export const FOUND = '["the deposit"]';
/** How esbuild bundles it. */
export const FOR_SERVERS = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "error",
} as const;

/** A folder of a project with a program in it. */
export function place(
  project: string,
  name: string,
  program: string,
): { readonly entry: string; readonly out: string } {
  const folder = join(project, "bundles", name.replaceAll(" ", "-"));
  const out = join(folder, "out");
  mkdirSync(out, { recursive: true });
  const entry = join(folder, "entry.mjs");
  writeFileSync(entry, program);
  writeFileSync(join(out, "package.json"), '{"type":"module"}');
  return { entry, out };
}

/** Makes `main.js` of a program, in a folder. */
export type Bundler = (entry: string, out: string, project: string) => Promise<void>;

/** ECMAScript modules of webpack. */
export const MODULES = {
  output: { module: true, chunkFormat: "module" },
  experiments: { outputModule: true },
} as const;

/** Bundles with webpack, as one file if that is said. */
export async function withWebpack(
  entry: string,
  out: string,
  { output = {}, experiments = {}, target = "node20", optimization = {} }: webpack.Configuration,
  isOne = false,
): Promise<void> {
  const files = { path: out, filename: "[name].js", ...output };
  const compiler = webpack({
    mode: "production",
    target,
    entry: { main: entry },
    output: files,
    experiments,
    optimization,
    plugins: isOne ? [new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 })] : [],
  });
  await new Promise<void>((resolve, reject) => {
    compiler.run((error, stats) => {
      if (error !== null) reject(error);
      else if (stats?.hasErrors() === true) reject(new Error(stats.toString({ preset: "errors-only" })));
      else resolve();
    });
  });
}

/** Bundles with Rollup, for a server in Node or for a page, as one file if that is said. */
export async function withRollup(entry: string, out: string, host: "node" | "page", isOne = false): Promise<void> {
  const ofHost = host === "node" ? { exportConditions: ["node"], preferBuiltins: true } : { browser: true };
  const plugins = [nodeResolve(ofHost)];
  const bundle = await rollup({ input: { main: entry }, external: BUILTIN, plugins, onwarn: () => undefined });
  await bundle.write({ dir: out, format: "es", inlineDynamicImports: isOne });
  await bundle.close();
}

const withVite: Bundler = async (entry, out, project) => {
  const output = { entryFileNames: "main.js" };
  await vite({
    root: project,
    configFile: false,
    logLevel: "error",
    build: { ssr: entry, outDir: out, emptyOutDir: false, rollupOptions: { output } },
    ssr: { noExternal: true },
  });
};

/** All of them, by what is said of them. */
export const bundlers: Readonly<Record<string, Bundler>> = {
  esbuild: async (entry, out, project) => {
    // From there it looks for what Plug'n'Play says of modules.
    await esbuild({ absWorkingDir: project, entryPoints: { main: entry }, outdir: out, ...FOR_SERVERS });
  },
  "esbuild with splitting": async (entry, out) =>
    void (await esbuild({ entryPoints: { main: entry }, outdir: out, splitting: true, ...FOR_SERVERS })),
  // As functions in a cloud and the main process of Electron are.
  "esbuild to CommonJS": async (entry, out) => {
    await esbuild({ entryPoints: { main: entry }, outdir: out, ...FOR_SERVERS, format: "cjs" });
    writeFileSync(join(out, "package.json"), '{"type":"commonjs"}');
  },
  "webpack to ECMAScript modules": (entry, out) => withWebpack(entry, out, MODULES),
  "webpack to CommonJS": async (entry, out) => {
    await withWebpack(entry, out, {});
    writeFileSync(join(out, "package.json"), '{"type":"commonjs"}');
  },
  Rollup: (entry, out) => withRollup(entry, out, "node"),
  "Vite for servers": withVite,
};
