/** Bundles the playground with the workers of its database and its compiler, beside the WebAssembly and the types they load. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import ts from "typescript";
import { exportsOf, root } from "./documents.mjs";

const require = createRequire(import.meta.url);

/** Builds the playground into a folder. @param {string} folder */
export async function buildPlayground(folder) {
  mkdirSync(join(folder, "wasm"), { recursive: true });
  await build({
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    logLevel: "error",
    entryPoints: {
      compiler: fileURLToPath(new URL("src/compiler.ts", import.meta.url)),
      playground: fileURLToPath(new URL("src/playground.ts", import.meta.url)),
      trial: fileURLToPath(new URL("src/trial.ts", import.meta.url)),
      "browser-worker": require.resolve("brooklet/browser-worker"),
    },
    outdir: join(folder, "app"),
    splitting: true,
    define: { EXPORTED_NAMES: JSON.stringify(exportedNames()), "process.platform": '"browser"' },
    // The compiler asks for Node's modules where it runs there.
    external: ["fs", "path", "os", "inspector", "perf_hooks", "module", "crypto", "url"],
    legalComments: "none",
  });
  writeFileSync(join(folder, "types.json"), JSON.stringify(declarations()));
  // esbuild follows no `new URL(…, import.meta.url)`: what is beside the scripts there is put there.
  copyFileSync(require.resolve("@brooklet/core/core.wasm"), join(folder, "wasm/core_bg.wasm"));
  copyFileSync(require.resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm"), join(folder, "app/sqlite3.wasm"));
}

/** What an import of `brooklet/browser` can name. */
function exportedNames() {
  const { values, types } = exportsOf("packages/brooklet/src/browser.ts");
  return [...values, ...[...types].map((name) => `type ${name}`)].join(", ");
}

/**
 * The declarations that a program sees which imports `brooklet/browser`, by where the compiler of the page finds them.
 *
 * @returns {Readonly<Record<string, string>>}
 */
function declarations() {
  const file = join(root, "apps/site/src/example-of-types.ts");
  const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ["lib.es2023.d.ts"],
    types: [],
    noEmit: true,
    skipLibCheck: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name === file || fileExists(name);
  host.getSourceFile = (name, ...others) =>
    name === file
      ? ts.createSourceFile(name, 'export * from "brooklet/browser";', ...others)
      : getSourceFile(name, ...others);
  /** @type {Record<string, string>} */
  const found = {};
  const library = dirname(ts.getDefaultLibFilePath(options));
  for (const { fileName, text } of ts.createProgram([file], options, host).getSourceFiles()) {
    if (fileName === file) continue;
    if (fileName.startsWith(library)) {
      found[`/lib/${relative(library, fileName)}`] = text;
      continue;
    }
    const [rooms, room = "", ...rest] = relative(root, fileName).split(sep);
    if (rooms !== "packages") throw new Error(`${fileName} is of no package`);
    const manifest = readFileSync(join(root, rooms, room, "package.json"), "utf8");
    const { name } = /** @type {{ name: string }} */ (JSON.parse(manifest));
    found[`/node_modules/${name}/package.json`] = manifest;
    found[`/node_modules/${name}/${rest.join("/")}`] = text;
  }
  return found;
}
