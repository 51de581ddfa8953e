/** Bundles the page, the worker of its database and the service worker into `dist`, with the files they load. */
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const require = createRequire(import.meta.url);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Builds the site into a folder. */
export async function buildSite(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "wasm"), { recursive: true });
  const common = {
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    minify: true,
    logLevel: "error",
  };
  await build({
    ...common,
    entryPoints: { page: here("src/page.ts"), "browser-worker": require.resolve("brooklet/browser-worker") },
    outdir: join(folder, "app"),
    splitting: true,
  });
  // esbuild follows no `new URL(…, import.meta.url)`: what is beside the scripts there is put there.
  copyFileSync(require.resolve("@brooklet/core/core.wasm"), join(folder, "wasm/core_bg.wasm"));
  copyFileSync(require.resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm"), join(folder, "app/sqlite3.wasm"));
  for (const file of ["index.html", "page.css"]) copyFileSync(here(`page/${file}`), join(folder, file));
  copyFileSync(here("sample/notes.txt"), join(folder, "sample.txt"));
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();
  const version = createHash("sha256");
  for (const file of files) version.update(readFileSync(join(folder, file)));
  const define = {
    FILES: JSON.stringify(["./", ...files]),
    VERSION: JSON.stringify(version.digest("hex").slice(0, 16)),
  };
  await build({ ...common, entryPoints: [here("src/offline.ts")], outfile: join(folder, "offline.js"), define });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildSite(here("dist"));
