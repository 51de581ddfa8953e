/**
 * Runs samples, one after the other: `node run.mjs GIVEN MODULE=NUMBERS…`, each in a folder of its own below this one, unless
 * `--here` is said. What each prints stands between lines that begin with a mark and its number.
 */
import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { MARK } from "./mark.mjs";

const words = process.argv.slice(2);
const isHere = words[0] === "--here";
const [given = "", ...modules] = isHere ? words.slice(1) : words;
const { takeBack } = await import(pathToFileURL(given).href);
const home = process.cwd();
process.on("unhandledRejection", (error) => {
  console.error(error);
  process.exit(1);
});
for (const [index, word] of modules.entries()) {
  const [path = "", list = ""] = word.split("=");
  const numbers = list.split(",");
  const folder = resolve(home, `sample-${numbers[0]}`);
  if (!isHere) {
    mkdirSync(folder, { recursive: true });
    process.chdir(folder);
  }
  Object.assign(globalThis, {
    __sample: (/** @type {number} */ next) => process.stdout.write(`\n${MARK}${numbers[next]}\n`),
  });
  process.stdout.write(`\n${MARK}${numbers[0]}\n`);
  try {
    await import(pathToFileURL(path).href);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
  process.stdout.write(`\n${MARK}\n`);
  await takeBack();
  if (index === modules.length - 1) process.exit(0);
}
