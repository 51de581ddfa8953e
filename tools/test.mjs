/**
 * `npm test`: TypeScript, tidy and Rust, each to its end, whatever the one before said. The tests of the real embedding
 * model run if it has been made (tools/models/minilm.mjs); if not, the last lines say that they were left out.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const PARTS = [
  [process.execPath, "tools/turbo.mjs", "test", "--continue"],
  ["npm", "run", "--silent", "tidy"],
  ["cargo", "test", "--workspace", "--no-fail-fast"],
];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const made = join(root, "node_modules", ".cache", "brooklet-minilm");
const model = process.env["BROOKLET_MINILM"] ?? (existsSync(join(made, "model.onnx")) ? made : undefined);
const env = model === undefined ? process.env : { ...process.env, BROOKLET_MINILM: model };

const failed = PARTS.filter(([program = "", ...words]) => {
  const { status, error } = spawnSync(program, words, { stdio: "inherit", shell: process.platform === "win32", env });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  return status !== 0;
});
for (const words of failed) console.error(`failed: ${words.join(" ")}`);
if (model === undefined) {
  console.error(
    "The tests of the real embedding model were left out: `node tools/models/minilm.mjs` makes it (90 MB).",
  );
}
process.exitCode = failed.length === 0 ? 0 : 1;
