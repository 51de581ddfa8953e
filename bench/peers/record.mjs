/** Figures that are kept: `bench/record/DATE-MACHINE.csv`, a row for each corpus, peer and kind of search, with the commit they are of. */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
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

/** Adds what was measured to the record of today and this machine. */
export function writeRecord({ corpus, members }) {
  const folder = fileURLToPath(new URL("../record/", import.meta.url));
  mkdirSync(folder, { recursive: true });
  const [{ model }] = cpus();
  const machine = `${model} ${cpus().length}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  const file = `${folder}${new Date().toISOString().slice(0, 10)}-${machine}.csv`;
  if (!existsSync(file)) writeFileSync(file, `${[...HEAD, ...HEAD_LIFECYCLE, ...HEAD_MOMENTS].join(",")}\n`);
  const of = commit();
  for (const { peer, figures, kinds } of members) {
    for (const [kind, measured] of Object.entries(kinds)) {
      const row = [
        of,
        process.versions.node,
        model,
        corpus.name,
        corpus.groups,
        corpus.documents,
        peer.name,
        figures.version,
        kind,
      ];
      row.push(...FIGURES.map((name) => measured[name]), ...LIFECYCLE.map((name) => figures[name]));
      appendFileSync(file, `${row.map(cell).join(",")}\n`);
    }
  }
}
