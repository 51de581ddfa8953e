/**
 * `node tools/fuzz-ledger.mjs [FILE…]`: how many inputs each target of the fuzzers was given in each release, of the lines that runs with
 * `BROOKLET_FUZZ_LEDGER=FILE` have added; `fuzz/ledger.jsonl` unless it is said. A seed counts once: the same inputs prove nothing twice.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const LEDGER = fileURLToPath(new URL("../fuzz/ledger.jsonl", import.meta.url));

/** Inputs by release and target: of runs with one seed the longest, which has those of the others. */
export function sumsOf(text) {
  const longest = new Map();
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const { release, target, inputs, seed } = JSON.parse(line);
    const run = JSON.stringify([release, target, seed]);
    longest.set(run, Math.max(longest.get(run) ?? 0, inputs));
  }
  const sums = new Map();
  for (const [run, inputs] of longest) {
    const [release, target] = JSON.parse(run);
    const of = `${release} ${target}`;
    sums.set(of, (sums.get(of) ?? 0) + inputs);
  }
  return new Map([...sums].sort(([one], [other]) => (one < other ? -1 : 1)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = process.argv.length > 2 ? process.argv.slice(2) : [LEDGER];
  const sums = sumsOf(files.map((file) => readFileSync(file, "utf8")).join("\n"));
  for (const [of, inputs] of sums) console.log(`${of}: ${inputs.toLocaleString("en")} inputs`);
  const counts = [...sums.values()];
  console.log(`${sums.size} targets, ${counts.reduce((sum, one) => sum + one, 0).toLocaleString("en")} inputs in all`);
}
