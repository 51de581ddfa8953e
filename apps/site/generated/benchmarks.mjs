/** Plots and tables of what was measured, from `bench/record/*.csv`. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../documents.mjs";
import { barPlot, linePlot, short } from "./plot.mjs";

const FOLDER = join(root, "bench/record");
/** How records of goals end, which are no plots but a table (`goals.mjs`). */
export const GOALS = "-goals.csv";
/** Kinds of searches, in words. @type {Readonly<Record<string, string>>} */
const SEARCHES = {
  near: "Nearest neighbours, top 10",
  "near-filter": "Nearest neighbours under a filter",
  "words-2": "Two words, bm25",
  "words-4": "Four words, bm25",
  "words-filter": "Words under a filter",
  hybrid: "Words and vector together",
};
/** What everything is compared with: what people call, with what it has read before in memory. */
const BASE = "SDK";
/** Figures of a peer that are not of one search: title, column, unit, and whether more of it is better. */
const LIFECYCLE = /** @type {const} */ ([
  ["Feeding, documents a second of processor time", "fed_per_cpu_s", "documents/s", true],
  ["Stored bytes a document", "bytes_per_document", "bytes", false],
  ["Memory of a process after its searches, without the page cache", "anonymous_mib", "MiB", false],
  ["A process that is started for one search", "new_process_ms", "ms", false],
  ["Opening what is stored, and the first search", "open_and_first_ms", "ms", false],
  ["One document put, and found by the next search", "put_ms", "ms", false],
  ["All documents of a group erased", "erase_ms", "ms", false],
]);

/** @typedef {Readonly<Record<string, string>>} Row */

/**
 * A file of `bench/record/`: the date and the machine are its name.
 *
 * @typedef {{ readonly name: string, readonly rows: readonly Row[] }} BenchRecord
 */

/** @returns {Promise<string>} */
export async function benchmarks() {
  const isPlotted = (/** @type {string} */ name) => name.endsWith(".csv") && !name.endsWith(GOALS);
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).filter(isPlotted) : [];
  if (names.length === 0)
    return "There is no record in this release yet. `npm run bench -- --peers --record` makes one of your machine, and this page draws it.";
  return drawn(names.map((name) => ({ name, rows: readRows(readFileSync(join(FOLDER, name), "utf8")) })));
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
 * Draws of every workload the newest record that has it: a record of some of them hides none of the others.
 *
 * @param {readonly BenchRecord[]} records
 */
export function drawn(records) {
  const workloads = newestOf(records);
  const ofSearches = workloads.filter(({ rows }) => rows.every((row) => row["callers"] === undefined));
  const rows = ofSearches.flatMap((workload) => workload.rows);
  const corpora = ofSearches.map(({ corpus }) => corpus);
  const searches = Object.keys(SEARCHES).filter((search) => rows.some((row) => row["search"] === search));
  const parts = [sourceList(workloads), ...ratioTable(rows, corpora, searches), ...lossList(rows, corpora, searches)];
  for (const { corpus, rows: own, name } of ofSearches) {
    parts.push(`## ${corpus}: ${sizeOf(own)}`, sourceOf(name, own));
    for (const search of searches) parts.push(...searchPlot(own, search, SEARCHES[search] ?? search));
    for (const [title, column, unit, isMore] of LIFECYCLE)
      parts.push(...lifecyclePlot(own, { title, column, unit, isMore }));
  }
  for (const { corpus, rows: own, name } of workloads.filter((workload) => !ofSearches.includes(workload)))
    parts.push(...modelPlots(corpus, own, sourceOf(name, own)));
  return parts.join("\n\n");
}

/**
 * What was measured of each workload the last time: a corpus, or a model, with the rows of the newest record that has it.
 *
 * @param {readonly BenchRecord[]} records
 */
function newestOf(records) {
  /** @type {Map<string, { readonly corpus: string, readonly name: string, readonly rows: readonly Row[] }>} */
  const newest = new Map();
  for (const { name, rows } of [...records].sort((one, other) => (one.name < other.name ? -1 : 1))) {
    if (rows.length === 0) throw new Error(`${name} has no rows`);
    for (const corpus of new Set(rows.map((row) => row["corpus"] ?? "")))
      newest.set(corpus, { corpus, name, rows: rows.filter((row) => row["corpus"] === corpus) });
  }
  const place = (/** @type {string} */ corpus) => "vth".indexOf(corpus[0] ?? "") + (/^[vth]\d/.test(corpus) ? 0 : 9);
  const size = ({ rows: [first] = /** @type {readonly Row[]} */ ([]) }) => Number(first?.["documents"]);
  return [...newest.values()].sort((one, other) => place(one.corpus) - place(other.corpus) || size(one) - size(other));
}

/** Where figures are from: the day, the machine, what was measured. @param {string} name @param {readonly Row[]} rows */
function sourceOf(name, rows) {
  const [first] = rows;
  const commits = [...new Set(rows.map(({ commit }) => commit))].join(", ");
  return `Measured on ${name.slice(0, 10)}: ${first?.["processor"]}, Node ${first?.["node"]}, commit ${commits}.`;
}

/** Which record has what. @param {ReturnType<typeof newestOf>} workloads */
function sourceList(workloads) {
  const names = [...new Set(workloads.map(({ name }) => name))];
  const lines = names.map((name) => {
    const own = workloads.filter((workload) => workload.name === name);
    const of = own.map(({ corpus }) => corpus).join(", ");
    return `* ${of}: \`bench/record/${name}\`. ${sourceOf(
      name,
      own.flatMap(({ rows }) => rows),
    )}`;
  });
  return `Drawn from the newest record of each:\n\n${lines.join("\n")}`;
}

/** How models are run, in words: what an embedder does unless it is told otherwise comes first. */
const MODES = /** @type {const} */ ([
  ["adaptive", "adapts"],
  ["narrow", "a core each"],
  ["wide", "all cores for one"],
]);

/** Figures of a model by callers: title, column, unit, and which is better. */
const BY_CALLERS = /** @type {const} */ ([
  ["Half of the texts are embedded within", "p50_ms", "ms", "lower"],
  ["Texts a second", "texts_per_s", "texts/s", "higher"],
]);

/**
 * How long a text takes, and how many are embedded, by how many ask at a time.
 *
 * @param {string} model
 * @param {readonly Row[]} rows
 * @param {string} source
 */
function modelPlots(model, rows, source) {
  const [first] = rows;
  const at = (/** @type {string} */ mode) =>
    [...new Map(rows.filter((row) => row["peer"] === mode).map((row) => [Number(row["callers"]), row])).entries()].sort(
      ([one], [other]) => one - other,
    );
  const modes = MODES.filter(([mode]) => at(mode).length > 0);
  const plots = BY_CALLERS.flatMap(([title, column, unit, better]) => {
    const lines = modes.map(([mode, label], index) => ({
      label,
      isOurs: index === 0,
      points: at(mode).map(([callers, row]) => /** @type {const} */ ([callers, Number(row[column])])),
    }));
    const note = `by how many ask at a time; both logarithmic, ${better} is better`;
    return [`### ${title}, ${model}`, linePlot({ title, unit, along: "callers", note, lines })];
  });
  const table = modes.flatMap(([mode, label]) =>
    at(mode).map(([callers, row]) => {
      const cells = ["p50_ms", "p95_ms", "cpu_ms", "texts_per_s"].map((column) => short(Number(row[column])));
      return `| ${label} | ${callers} | ${cells.join(" | ")} |`;
    }),
  );
  return [
    `## ${model}: one text after another, by callers`,
    `${source} ${first?.["version"]}, ${first?.["documents"]} texts. A session on every core can be quickest for one caller where nothing else runs; sessions on one core
each do more where several ask. A pool that adapts is what an embedder has unless its threads are set ([models](models.md#embedders)); \`npm run bench:models -- --record\` measures yours.`,
    ...plots,
    `| | callers | p50 ms | p95 ms | processor ms a text | texts/s |\n|---|---:|---:|---:|---:|---:|\n${table.join("\n")}`,
  ];
}

/** @param {readonly Row[]} rows of a corpus */
function sizeOf([first]) {
  const { documents, groups } = first ?? {};
  const many = Number(documents).toLocaleString("en");
  return groups === "1" ? `${many} documents in one group` : `${groups} groups of ${many} documents`;
}

/** The row of a peer, or of the base. @param {readonly Row[]} rows @param {string} corpus @param {string} search @param {string} peer */
function rowOf(rows, corpus, search, peer) {
  return latest(rows.filter((row) => row["corpus"] === corpus && row["search"] === search)).find(
    (row) => row["peer"] === peer,
  );
}

/**
 * How many times our processor's time a search of each takes: below one it is quicker, which stands in bold.
 *
 * @param {readonly Row[]} rows
 * @param {readonly string[]} corpora
 * @param {readonly string[]} searches
 */
function ratioTable(rows, corpora, searches) {
  const columns = corpora
    .flatMap((corpus) => searches.map((search) => ({ corpus, search })))
    .filter(({ corpus, search }) => rowOf(rows, corpus, search, BASE) !== undefined);
  if (columns.length === 0) return [];
  const peers = [...new Map(rows.map((row) => [row["peer"], row])).values()];
  const lines = peers.map((peer) => {
    const cells = columns.map(({ corpus, search }) => ratioCell(rows, corpus, search, peer["peer"] ?? ""));
    return `| ${labelOf(peer)} | ${cells.join(" | ")} |`;
  });
  const head = columns.map(({ corpus, search }) => `${corpus}, ${search}`).join(" | ");
  return [
    "## Side by side",
    `How many times the processor's time of brooklet's SDK a search takes: 2 is twice as slow, and what is below 1, in **bold**, is quicker. In brackets what
a search finds of what it should, where that is not all.`,
    `| | ${head} |\n|---|${columns.map(() => "---:|").join("")}\n${lines.join("\n")}`,
  ];
}

/** @param {readonly Row[]} rows @param {string} corpus @param {string} search @param {string} peer */
function ratioCell(rows, corpus, search, peer) {
  const row = rowOf(rows, corpus, search, peer);
  const base = rowOf(rows, corpus, search, BASE);
  if (row === undefined || base === undefined) return "";
  const ratio = Number(row["cpu_ms"]) / Number(base["cpu_ms"]);
  const text = ratioOf(ratio);
  return `${ratio < 1 && !isOurs(row) ? `**${text}**` : text}${missed(row)}`;
}

/** A ratio with the digits that mean something. @param {number} ratio */
function ratioOf(ratio) {
  // Near one a third tells on which side it is.
  const digits = Math.abs(ratio - 1) < 0.1 ? 3 : 2;
  return Number(ratio.toPrecision(digits)).toLocaleString("en", { maximumSignificantDigits: digits });
}

/** What a search does not find. @param {Row} row */
function missed(row) {
  const recall = Number(row["recall"]);
  return recall >= 0 && recall < 1 ? ` (${recall.toFixed(3)})` : "";
}

/**
 * Everything of the record at which another is better than what people call.
 *
 * @param {readonly Row[]} rows
 * @param {readonly string[]} corpora
 * @param {readonly string[]} searches
 */
function lossList(rows, corpora, searches) {
  const lines = corpora.flatMap((corpus) => {
    const own = rows.filter((row) => row["corpus"] === corpus);
    const ofSearches = searches.map((search) => {
      const found = latest(own.filter((row) => row["search"] === search));
      return lossLine(`${corpus}, ${SEARCHES[search]?.toLowerCase()}`, found, "cpu_ms", false);
    });
    const found = [...new Map(own.map((row) => [row["peer"], row])).values()];
    const ofOthers = LIFECYCLE.map(([title, column, , isMore]) =>
      lossLine(`${corpus}, ${title[0]?.toLowerCase()}${title.slice(1)}`, found, column, isMore),
    );
    return [...ofSearches, ...ofOthers].filter((line) => line !== undefined);
  });
  if (lines.length === 0) return [];
  return [
    "## What we lose at",
    `Everything in these records at which another is better than brooklet's SDK, and what it takes, or does, of ours. faiss is a library over arrays of vectors,
and keeps no documents. What brooklet erases is gone from the files before it says so.`,
    lines.join("\n"),
  ];
}

/** @param {string} title @param {readonly Row[]} rows @param {string} column @param {boolean} isMore */
function lossLine(title, rows, column, isMore) {
  const base = Number(rows.find((row) => row["peer"] === BASE)?.[column]);
  if (!(base > 0)) return undefined;
  const better = rows
    .filter((row) => !isOurs(row) && Number(row[column]) > 0)
    .map((row) => ({ row, ratio: Number(row[column]) / base }))
    .filter(({ ratio }) => (isMore ? ratio > 1 : ratio < 1))
    .sort((one, other) => (isMore ? other.ratio - one.ratio : one.ratio - other.ratio));
  if (better.length === 0) return undefined;
  const told = better.map(
    ({ row, ratio }) => `${row["peer"]} ${ratioOf(ratio)}×${column === "cpu_ms" ? missed(row) : ""}`,
  );
  return `* ${title}: ${told.join(", ")}`;
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
    .map((row) => ({ label: nameOf(row), value: Number(row["p50_ms"]), isOurs: isOurs(row) }))
    .sort((one, other) => one.value - other.value);
  const recall = (/** @type {Row} */ row) => (Number(row["recall"]) >= 0 ? Number(row["recall"]).toFixed(3) : "");
  const table = own
    .map(
      (row) =>
        `| ${labelOf(row)} | ${["p50_ms", "p95_ms", "cpu_ms"].map((column) => short(Number(row[column]))).join(" | ")} | ${recall(row)} |`,
    )
    .join("\n");
  return [
    `### ${title}`,
    barPlot({ title, unit: "ms", bars, note: "median; logarithmic, shorter is better" }),
    `| | p50 ms | p95 ms | processor ms | recall |\n|---|---|---|---|---|\n${table}`,
  ];
}

/**
 * @param {readonly Row[]} rows
 * @param {{ readonly title: string, readonly column: string, readonly unit: string, readonly isMore: boolean }} figure
 */
function lifecyclePlot(rows, { title, column, unit, isMore }) {
  const own = [...new Map(rows.map((row) => [row["peer"], row])).values()].filter((row) => Number(row[column]) > 0);
  if (own.length === 0) return [];
  const bars = own.map((row) => ({ label: nameOf(row), value: Number(row[column]), isOurs: isOurs(row) }));
  bars.sort((one, other) => (isMore ? other.value - one.value : one.value - other.value));
  const note = `logarithmic, ${isMore ? "longer" : "shorter"} is better`;
  return [`### ${title}`, barPlot({ title, unit, bars, note })];
}

/** @param {Row} row */
function nameOf(row) {
  // A cell of the record has no commas.
  const peer = (row["peer"] ?? "").replaceAll(";", ",");
  return isOurs(row) ? `brooklet, ${peer}` : peer;
}

/** The name with the version. @param {Row} row */
function labelOf(row) {
  const peer = nameOf(row);
  if (isOurs(row)) return peer;
  const version = (row["version"] ?? "").replaceAll(";", ",");
  const [name = ""] = peer.toLowerCase().split(" ");
  // Of a library over another one the record names both.
  const own = version.split(", ").find((part) => part.toLowerCase().startsWith(name));
  if (own !== undefined) return `${peer} ${own.split(" ").at(-1)}`;
  return /^v?\d/.test(version) ? `${peer} ${version}` : `${peer} (${version})`;
}

/** @param {Row} row */
function isOurs({ peer = "" }) {
  return /^(core|SDK|HTTP)/.test(peer);
}
