/**
 * `npm test`: TypeScript, tidy and Rust, each to its end, whatever the others said. The tests of the crates run beside the
 * others on what these leave of the processors, and what they print comes after. The tests of the real embedding model run
 * if it has been made (tools/models/minilm.mjs); if not, the last lines say that they were left out.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const PARTS = [
  [process.execPath, "tools/turbo.mjs", "test", "--continue"],
  ["npm", "run", "--silent", "tidy"],
];
const CRATES = ["cargo", "test", "--workspace", "--no-fail-fast"];

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const made = join(root, "node_modules", ".cache", "brooklet-minilm");
const model = process.env["BROOKLET_MINILM"] ?? (existsSync(join(made, "model.onnx")) ? made : undefined);
const env = model === undefined ? process.env : { ...process.env, BROOKLET_MINILM: model };

/** Starts a program; `end` gives whether all of it went well, and never rejects. */
function start([program, ...words], stdio) {
  const child = spawn(program, words, { stdio, shell: process.platform === "win32", env });
  const end = new Promise((settle) => {
    child.once("error", ({ message }) => {
      console.error(`${program}: ${message}`);
      settle(false);
    });
    child.once("close", (status) => settle(status === 0));
  });
  return { child, end };
}

const output = [];
const crates = start(CRATES, ["ignore", "pipe", "pipe"]);
for (const stream of [crates.child.stdout, crates.child.stderr]) stream.on("data", (bytes) => output.push(bytes));
// Tests of time limits are among the others. Without a number there is no such program, which is told of.
if (crates.child.pid !== undefined) setPriority(crates.child.pid, constants.priority.PRIORITY_LOW);

const failed = [];
for (const words of PARTS) {
  if (!(await start(words, "inherit").end)) failed.push(words);
}
if (!(await crates.end)) failed.push(CRATES);
process.stdout.write(Buffer.concat(output));
for (const words of failed) console.error(`failed: ${words.join(" ")}`);
if (model === undefined) {
  console.error(
    "The tests of the real embedding model were left out: `node tools/models/minilm.mjs` makes it (90 MB).",
  );
}
process.exitCode = failed.length === 0 ? 0 : 1;
