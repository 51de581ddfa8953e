/**
 * `node ../../tools/bundle.mjs` in the folder of a package, after the compiler: the scripts of its entries in few files, in place of
 * one for each source. A process finds, reads and compiles each file by itself, which is most of what an import costs; what is
 * imported by a call stays a file of its own. Other packages are not taken in, so that each is there once. Packages that browsers
 * load keep the compiler's files beside the bundle: bundlers cut them up better (docs/decisions/0060).
 */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** Where the bundle is, if the compiler's files stay. */
const BESIDE = "bundle/";
/** What tests and benches take of a built package, beside what it exports. */
const ALSO = { brooklet: ["open", "serve", "node/secret", "node/threads"] };

/** Bundles the entries of the package in a folder. */
export async function bundlePackage(folder) {
  const { name, exports, bin } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const exported = targetsOf(exports).flatMap((path) => /^\.\/dist\/(.+)\.js$/.exec(path)?.[1] ?? []);
  const beside = exported.filter((entry) => entry.startsWith(BESIDE));
  const entries = beside.length > 0 ? beside : [...exported, ...commandsOf(folder, bin), ...(ALSO[name] ?? [])];
  const sources = [...new Set(entries)].map((entry) => [entry, sourceOf(folder, entry)]);
  removeScripts(join(folder, "dist", beside.length > 0 ? BESIDE : ""));
  if (beside.length > 0) removeMaps(join(folder, "dist"));
  await build({
    absWorkingDir: folder,
    entryPoints: Object.fromEntries(sources),
    outdir: "dist",
    // Beside the entries, so that what is found from where a script is, is found from all of them.
    chunkNames: beside.length > 0 ? `${BESIDE}part-[hash]` : "part-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "neutral",
    target: "es2023",
    packages: "external",
    external: ["*.wasm", "node:*"],
    sourcemap: true,
    logLevel: "warning",
  });
}

/** What exports lead to, under whatever condition. */
function targetsOf(exports) {
  return typeof exports === "string" ? [exports] : Object.values(exports).flatMap(targetsOf);
}

/** What the commands of a package begin with. */
function commandsOf(folder, bin = {}) {
  const scripts = Object.values(bin).map((path) => readFileSync(join(folder, path), "utf8"));
  return scripts.flatMap((script) => /"\.\.\/dist\/(.+)\.js"/.exec(script)?.[1] ?? []);
}

function sourceOf(folder, entry) {
  const source = join("src", `${entry.startsWith(BESIDE) ? entry.slice(BESIDE.length) : entry}.ts`);
  if (!existsSync(join(folder, source)))
    throw new Error(`${folder}: there is no ${source} to make dist/${entry}.js of`);
  return source;
}

/** Removes the scripts of a folder: the compiler's, and those of a bundle before. */
function removeScripts(folder) {
  if (!existsSync(folder)) return;
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" }))
    if (/\.js(\.map)?$/.test(path)) rmSync(join(folder, path));
}

/** Removes the maps of the compiler's scripts, which are the sources but for their types: the bundle has the sources. */
function removeMaps(folder) {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, path);
    if (path.endsWith(".js.map")) rmSync(file);
    if (path.endsWith(".js"))
      writeFileSync(file, readFileSync(file, "utf8").replace(/\n\/\/# sourceMappingURL=.*\s*$/, "\n"));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePackage(resolve("."));
