/** `npm test`: TypeScript, tidy and Rust, each to its end, whatever the one before said. */
import { spawnSync } from "node:child_process";
import process from "node:process";

const PARTS = [
  [process.execPath, "tools/turbo.mjs", "test", "--continue"],
  ["npm", "run", "--silent", "tidy"],
  ["cargo", "test", "--workspace", "--no-fail-fast"],
];

const failed = PARTS.filter(([program = "", ...words]) => {
  const { status, error } = spawnSync(program, words, { stdio: "inherit", shell: process.platform === "win32" });
  if (error !== undefined) console.error(`${program}: ${error.message}`);
  return status !== 0;
});
for (const words of failed) console.error(`failed: ${words.join(" ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
