/** Plots and tables of what was measured, from `bench/record/*.csv`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../documents.mjs";
import { barPlot } from "./plot.mjs";

const FOLDER = join(root, "bench/record");
/** Kinds of searches, in words. @type {Readonly<Record<string, string>>} */
const SEARCHES = {
  near: "Nearest neighbours, top 10",
  "near-filter": "Nearest neighbours under a filter",
  "words-2": "Two words, bm25",
  "words-4": "Four words, bm25",
  "words-filter": "Words under a filter",
  hybrid: "Words and vector together",
};
/** Figures of a peer that are not of one search: title, column, unit. */
const LIFECYCLE = /** @type {const} */ ([
  ["Feeding, documents a second of processor time", "fed_per_cpu_s", "documents/s"],
  ["Stored bytes a document", "bytes_per_document", "bytes"],
  ["A process that is started for one search", "new_process_ms", "ms"],
]);

/** @typedef {Readonly<Record<string, string>>} Row */

/** @returns {Promise<string>} */
export async function benchmarks() {
  const names = existsSync(FOLDER)
    ? readdirSync(FOLDER)
        .filter((name) => name.endsWith(".csv"))
        .sort()
    : [];
  const newest = names.at(-1);
  if (newest === undefined)
    return "There is no record in this release yet. `npm run bench -- --peers --record` makes one of your machine, and this page draws it.";
  return drawn(newest, readRows(readFileSync(join(FOLDER, newest), "utf8")));
}

/**
 * @param {string} text
 * @returns {readonly Row[]}
 */
export function readRows(text) {
  const [head = "", ...lines] = text.trim().split("\n");
  const columns = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, index) => [columns[index] ?? "", cell])));
}

/**
 * @param {string} name
 * @param {readonly Row[]} rows
 */
export function drawn(name, rows) {
  const [first] = rows;
  if (first === undefined) throw new Error(`${name} has no rows`);
  const commits = [...new Set(rows.map(({ commit }) => commit))].join(", ");
  const parts = [
    `Drawn from \`bench/record/${name}\`: ${first["processor"]}, Node ${first["node"]}, commit ${commits}.`,
  ];
  const corpora = [...new Set(rows.map(({ corpus = "" }) => corpus))];
  for (const corpus of corpora) {
    const own = rows.filter((row) => row["corpus"] === corpus);
    const { documents, groups } = own[0] ?? {};
    const size = `${Number(documents).toLocaleString("en")} documents in ${groups === "1" ? "one group" : `${groups} groups`}`;
    parts.push(`## ${corpus}: ${size}`);
    for (const [search, title] of Object.entries(SEARCHES)) parts.push(...searchPlot(own, search, title));
    for (const [title, column, unit] of LIFECYCLE) parts.push(...lifecyclePlot(own, title, column, unit));
  }
  return parts.join("\n\n");
}

/**
 * The rows that hold: the last of each peer and search.
 *
 * @param {readonly Row[]} rows
 */
function latest(rows) {
  return [...new Map(rows.map((row) => [`${row["peer"]} ${row["search"]}`, row])).values()];
}

/**
 * @param {readonly Row[]} rows
 * @param {string} search
 * @param {string} title
 */
function searchPlot(rows, search, title) {
  const own = latest(rows.filter((row) => row["search"] === search && Number(row["p50_ms"]) > 0));
  if (own.length === 0) return [];
  const bars = own
    .map((row) => ({ label: labelOf(row), value: Number(row["p50_ms"]), isOurs: isOurs(row) }))
    .sort((one, other) => one.value - other.value);
  const recall = (/** @type {Row} */ row) => (Number(row["recall"]) >= 0 ? Number(row["recall"]).toFixed(3) : "");
  const table = own
    .map((row) => `| ${labelOf(row)} | ${row["p50_ms"]} | ${row["p95_ms"]} | ${row["cpu_ms"]} | ${recall(row)} |`)
    .join("\n");
  return [
    `### ${title}`,
    barPlot({ title, unit: "ms", bars, note: "median; logarithmic, shorter is better" }),
    `| | p50 ms | p95 ms | processor ms | recall |\n|---|---|---|---|---|\n${table}`,
  ];
}

/**
 * @param {readonly Row[]} rows
 * @param {string} title
 * @param {string} column
 * @param {string} unit
 */
function lifecyclePlot(rows, title, column, unit) {
  const own = [...new Map(rows.map((row) => [row["peer"], row])).values()].filter((row) => Number(row[column]) > 0);
  if (own.length === 0) return [];
  const bars = own.map((row) => ({ label: labelOf(row), value: Number(row[column]), isOurs: isOurs(row) }));
  bars.sort((one, other) => one.value - other.value);
  return [`### ${title}`, barPlot({ title, unit, bars, note: "logarithmic" })];
}

/** @param {Row} row */
function labelOf(row) {
  return isOurs(row) ? `brooklet, ${row["peer"]}` : `${row["peer"]} ${row["version"] ?? ""}`.trim();
}

/** @param {Row} row */
function isOurs({ peer = "" }) {
  return /^(core|SDK|HTTP)/.test(peer);
}
