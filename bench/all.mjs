/**
 * `npm run bench`: all benches but those that take long or need a model, one after another. `npm run bench -- --models` runs
 * the one that is named, and so do `--vectors`, `--feed`, `--peers` and the others. What else is said goes to those that are run.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const USUAL = ["run", "vectors", "ranking", "text", "grouping", "gateway", "sdk"];
const fileOf = (name) => fileURLToPath(new URL(`${name}.mjs`, import.meta.url));

const words = process.argv.slice(2);
const isBench = (word) => word.startsWith("--") && existsSync(fileOf(word.slice(2)));
const named = words.filter(isBench).map((word) => word.slice(2));
const rest = words.filter((word) => !isBench(word));
// Where no bench is named, an option that is not one of theirs is a bench that is spelled wrongly.
const unknown = rest.find((word) => word.startsWith("--") && word !== "--quick");
if (named.length === 0 && unknown !== undefined) throw new Error(`there is no bench '${unknown.slice(2)}'`);
for (const name of named.length > 0 ? named : USUAL) {
  const { status } = spawnSync(process.execPath, ["--expose-gc", fileOf(name), ...rest], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
