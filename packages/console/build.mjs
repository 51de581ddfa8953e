/** `node build.mjs`: bundles the page into `dist/page`, with the licences of what is in it. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const require = createRequire(import.meta.url);
const page = fileURLToPath(new URL("page/", import.meta.url));
const target = fileURLToPath(new URL("dist/page/", import.meta.url));
/** What the script has in it, by the package. */
const INSIDE = ["preact", "fflate"];

mkdirSync(target, { recursive: true });
await build({
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  minify: true,
  logLevel: "error",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  // A name that the bundles of packages leave alone: they take away every script of `dist` that has no source there.
  entryPoints: { console: join(page, "main.tsx") },
  outExtension: { ".js": ".mjs" },
  outdir: target,
});
await build({ entryPoints: [join(page, "console.css")], minify: true, outdir: target, logLevel: "error" });
copyFileSync(join(page, "index.html"), join(target, "index.html"));
const licences = INSIDE.map((name) => {
  const folder = dirname(require.resolve(`${name}/package.json`));
  return `${name}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(target, "licences.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
