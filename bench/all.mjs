/**
 * `npm run bench`: all benches but those that take long or need a model, one after another. `npm run bench -- --models` runs
 * the one that is named, and so do `--vectors`, `--feed` and the others.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const USUAL = ["run", "vectors", "ranking", "text", "grouping", "gateway"];
const fileOf = (name) => fileURLToPath(new URL(`${name}.mjs`, import.meta.url));

const words = process.argv.slice(2);
const named = words.filter((word) => word.startsWith("--")).map((word) => word.slice(2));
const unknown = named.find((name) => !existsSync(fileOf(name)));
if (unknown !== undefined) throw new Error(`there is no bench '${unknown}'`);
const rest = words.filter((word) => !word.startsWith("--"));
for (const name of named.length > 0 ? named : USUAL) {
  const { status } = spawnSync(process.execPath, ["--expose-gc", fileOf(name), ...rest], { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
