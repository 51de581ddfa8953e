/**
 * Shows what the samples of documents print where that is not what stands there: `node apps/site/sample.mjs docs/queries.md …`. With
 * `--fill` it is put into `output` fences that have nothing but a question mark.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { exportsOf, root } from "./documents.mjs";
import { fencesOf, isExpected } from "./samples/fences.mjs";
import { chainsOf, runPage } from "./samples/page.mjs";

const known = exportsOf("packages/brooklet/src/index.ts");
const words = process.argv.slice(2);
const isFilling = words[0] === "--fill";
for (const path of isFilling ? words.slice(1) : words) {
  const source = readFileSync(join(root, path), "utf8");
  const fences = fencesOf(path, source);
  const { printed, problem } = await runPage(fences, chainsOf(fences, known));
  for (const { line, expected, problems } of fences) {
    for (const it of problems) console.log(`${path}:${line} ${it}`);
    const text = printed.get(line);
    if (isFilling && text !== undefined && expected?.trim() === "?") {
      fill(path, text);
      continue;
    }
    if (text === undefined || (expected !== undefined && isExpected(expected, text))) continue;
    if (text.trim() !== "" || expected !== undefined) console.log(`${path}:${line} prints\n${text.trimEnd()}`);
  }
  if (problem !== undefined) {
    console.log(`${path}: ${problem}`);
    process.exitCode = 1;
  }
}

/**
 * Fills the first of the fences that have a question mark: they are filled in the order they stand.
 *
 * @param {string} path
 * @param {string} text
 */
function fill(path, text) {
  const file = join(root, path);
  const filled = readFileSync(file, "utf8").replace("```output\n?\n```", () => `\`\`\`output\n${text.trim()}\n\`\`\``);
  writeFileSync(file, filled);
}
