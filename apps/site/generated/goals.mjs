/** What the goals came to, from the newest `bench/record/*-goals.csv`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../documents.mjs";
import { GOALS, readRows } from "./benchmarks.mjs";

const FOLDER = join(root, "bench/record");

/** @returns {Promise<string>} */
export async function goals() {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).filter((name) => name.endsWith(GOALS)) : [];
  const newest = names.sort().at(-1);
  if (newest === undefined)
    return "There is no record of them in this release yet: `npm run bench:goals -- --record` makes one of your machine, and this page shows it.";
  return goalTable(newest, readRows(readFileSync(join(FOLDER, newest), "utf8")));
}

/**
 * The last of each row, in the order in which they came first.
 *
 * @param {string} name
 * @param {readonly import("./benchmarks.mjs").Row[]} rows
 */
export function goalTable(name, rows) {
  /** @type {Map<string, import("./benchmarks.mjs").Row>} */
  const last = new Map();
  for (const row of rows) last.set(row["row"] ?? "", row);
  const all = [...last.values()];
  const met = all.filter(({ verdict }) => verdict === "met").length;
  const commits = [...new Set(all.map(({ commit }) => commit))].join(", ");
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
    `${met} of ${all.length} are met. Measured on ${name.slice(0, 10)}: ${processor}, Node ${node}, commit ${commits}; medians of ${times} (\`bench/record/${name}\`).`,
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
