/** The recorded conversations as requests, and what holds them, for programs of any runtime: none of them reads TypeScript or the vectors. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const TALKS = fileURLToPath(new URL("../../packages/brooklet/test/talks/", import.meta.url));
const ROOT = JSON.stringify(fileURLToPath(new URL("../..", import.meta.url)));

/**
 * Writes `talk.mjs` (packages/brooklet/test/talks/talk.ts) and `talks.json` into a folder.
 * @param {string} folder
 */
export async function writeConversations(folder) {
  await build({
    entryPoints: { talk: join(TALKS, "talk.ts"), recorded: join(TALKS, "recorded.ts") },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    logLevel: "error",
    // What reads the vectors finds them by its own place.
    define: { "import.meta.url": "ORIGIN" },
    banner: { js: `const ORIGIN = new URL("packages/core/test/runners.ts", "file://" + ${ROOT}).href;` },
  });
  const href = (/** @type {string} */ name) => pathToFileURL(join(folder, name)).href;
  /** @type {typeof import("../../packages/brooklet/test/talks/recorded.ts")} */
  const { recordedTalks } = await import(href("recorded.mjs"));
  /** @type {typeof import("../../packages/brooklet/test/talks/talk.ts")} */
  const { textOf } = await import(href("talk.mjs"));
  writeFileSync(join(folder, "talks.json"), textOf(recordedTalks()));
}
