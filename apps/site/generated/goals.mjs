/** What the goals came to, from the newest `bench/record/*-goals.csv` and those before it of the same machine. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../documents.mjs";
import { GOALS, readRows } from "./benchmarks.mjs";

const FOLDER = join(root, "bench/record");

/** @returns {Promise<string>} */
export async function goals() {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith(GOALS)) : [];
  const machineOf = (/** @type {string} */ name) => name.slice("2026-01-01-".length);
  const newest = names.sort().at(-1);
  if (newest === undefined)
    return "There is no record of them in this release yet: `npm run bench:goals -- --record` makes one of your machine, and this page shows it.";
  const records = names
    .filter((name) => machineOf(name) === machineOf(newest))
    .map((name) => ({ name, rows: readRows(readFileSync(join(FOLDER, name), "utf8")) }));
  return goalTable(records);
}

/**
 * The last of each row, in the order in which they came first. A record may have some of them.
 *
 * @param {readonly { name: string, rows: readonly import("./benchmarks.mjs").Row[] }[]} records the oldest first
 */
export function goalTable(records) {
  /** @type {Map<string, { name: string, row: import("./benchmarks.mjs").Row }>} */
  const last = new Map();
  for (const { name, rows } of records) for (const row of rows) last.set(row["row"] ?? "", { name, row });
  const all = [...last.values()].map(({ row }) => row);
  const met = all.filter(({ verdict }) => verdict === "met").length;
  const sources = [...new Set([...last.values()].map(({ name }) => name))].sort();
  const measured = sources.map((name) => {
    const commits = new Set([...last.values()].filter((one) => one.name === name).map(({ row }) => row["commit"]));
    return `on ${name.slice(0, 10)} at commit ${[...commits].join(", ")} (\`bench/record/${name}\`)`;
  });
  const [{ processor, node, times } = /** @type {import("./benchmarks.mjs").Row} */ ({})] = all;
  const lines = all.map((row) => {
    const sign = row["bound"] === "least" ? "≥" : "≤";
    const figure = shown(row["figure"], row["unit"]);
    const beside =
      row["beside"] === ""
        ? ""
        : `${row["beside"]?.replaceAll(";", ",")}: ${shown(row["beside_figure"], row["beside_unit"])}`;
    // A cell of the record has no commas.
    const what = row["what"]?.replaceAll(";", ",");
    return `| ${[what, figure, beside, `${sign} ${shown(row["goal"], row["unit"])}`, row["verdict"]].join(" | ")} |`;
  });
  return [
    `${met} of ${all.length} are met. ${processor}, Node ${node}, medians of ${times}; measured ${measured.join(", and ")}.`,
    ["| | figure | beside it | goal | |", "|---|---|---|---|---|", ...lines].join("\n"),
  ].join("\n\n");
}

/** @param {string | undefined} value @param {string | undefined} unit */
function shown(value, unit) {
  const number = Number(value);
  const text =
    number >= 1_000 ? Math.round(number).toLocaleString("en") : String(Number(number.toPrecision(number < 1 ? 2 : 3)));
  return unit === "×" ? `${text}${unit}` : `${text} ${unit}`;
}
