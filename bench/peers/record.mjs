/**
 * Figures that are kept: `bench/record/DATE-MACHINE.csv`, a row for each corpus, peer and kind of search, with the commit they are of; and
 * `DATE-MACHINE-models.csv`, a row for each way of running a model and number of callers; `DATE-MACHINE-goals.csv`, a row for each goal. The site draws them (`apps/site/generated/benchmarks.mjs`).
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";

const FIGURES = ["cpu", "p50", "p95", "recall"];
const LIFECYCLE = [
  "feed",
  "feedCpu",
  "settledMs",
  "bytes",
  "peakMiB",
  "rssMiB",
  "anonymousMiB",
  "coldMs",
  "firstMs",
  "putMs",
  "eraseMs",
];
const HEAD = [
  "commit",
  "node",
  "processor",
  "corpus",
  "groups",
  "documents",
  "peer",
  "version",
  "search",
  "cpu_ms",
  "p50_ms",
  "p95_ms",
  "recall",
];
const HEAD_LIFECYCLE = [
  "fed_per_s",
  "fed_per_cpu_s",
  "settled_ms",
  "bytes_per_document",
  "feed_peak_mib",
  "rss_mib",
  "anonymous_mib",
];
const HEAD_MOMENTS = ["new_process_ms", "open_and_first_ms", "put_ms", "erase_ms"];

function commit() {
  const git = (...words) => spawnSync("git", words, { encoding: "utf8" }).stdout.trim();
  const changed = git("status", "--porcelain", "--untracked-files=no") === "" ? "" : "+";
  return `${git("rev-parse", "--short=10", "HEAD")}${changed}`;
}

const cell = (value) =>
  typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value ?? "").replaceAll(",", ";");

/** Rows of figures under the names of their columns. */
function addRows(suffix, head, rows) {
  const folder = fileURLToPath(new URL("../record/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const machine = `${cpus()[0].model} ${cpus().length}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const file = `${folder}${new Date().toISOString().slice(0, 10)}-${machine}${suffix}.csv`;
  if (!existsSync(file)) writeFileSync(file, `${head.join(",")}\n`);
  const [known] = readFileSync(file, "utf8").split("\n", 1);
  if (known !== head.join(",")) throw new Error(`${file} has other columns: ${known}`);
  for (const row of rows) appendFileSync(file, `${row.map(cell).join(",")}\n`);
  process.stdout.write(`${rows.length} rows in ${file}\n`);
}

/** What each row begins with: the commit, and what it was measured on. */
const origin = () => [commit(), process.versions.node, cpus()[0].model];

/** Adds what was measured to the record of today and this machine. */
export function writeRecord({ corpus, members }) {
  const of = origin();
  const rows = members.flatMap(({ peer, figures, kinds }) =>
    Object.entries(kinds).map(([kind, measured]) => [
      ...of,
      corpus.name,
      corpus.groups,
      corpus.documents,
      peer.name,
      figures.version,
      kind,
      ...FIGURES.map((name) => measured[name]),
      ...LIFECYCLE.map((name) => figures[name]),
    ]),
  );
  addRows("", [...HEAD, ...HEAD_LIFECYCLE, ...HEAD_MOMENTS], rows);
}

const HEAD_MODELS = [...HEAD.slice(0, 9), "callers", "cpu_ms", "p50_ms", "p95_ms", "texts_per_s"];

/** Adds what was measured of a model, by how it was run and by how many asked it at a time. */
export function writeModelRecord({ model, version, texts, measured }) {
  const of = origin();
  const rows = measured.map(({ mode, callers, cpu, p50, p95, rate }) => [
    ...of,
    model,
    1,
    texts,
    mode,
    version,
    "embed",
    callers,
    cpu,
    p50,
    p95,
    rate,
  ]);
  addRows("-models", HEAD_MODELS, rows);
}

const HEAD_GOALS = [
  "commit",
  "node",
  "processor",
  "row",
  "what",
  "times",
  "unit",
  "figure",
  "beside",
  "beside_unit",
  "beside_figure",
];

/** Adds what goals came to: medians of so many times. */
export function writeGoalRecord(table, times) {
  const of = origin();
  const rows = table.map(({ row, what, unit, value, beside, other, most, least, verdict }) => [
    ...[...of, row, what, times, unit, value],
    ...[beside?.name, beside?.unit, other],
    ...[most === undefined ? "least" : "most", most ?? least, verdict],
  ]);
  addRows("-goals", [...HEAD_GOALS, "bound", "goal", "verdict"], rows);
}
