/**
 * `npm run bench:goals [-- --times N] [--rows NAME,…] [--small] [--record] [--list]`: the goals, measured in one go. Each row is of one run
 * with its peer in it, three times unless it is said otherwise; the figure is the median. Answers are asserted by what is run. A run that
 * fails is told, leaves its rows without figures and the others alone, and the command ends with 1 then; a goal that is missed is told as
 * that. `--record` adds the rows to `bench/record/`, which `docs/performance.md` is drawn from; `--small` only shows that all of it runs.
 */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { figuresOf, median } from "./goals/figures.mjs";
import { ROWS, RUNS } from "./goals/rows.mjs";
import { writeGoalRecord } from "./peers/record.mjs";
import { print } from "./peers/table.mjs";

const { values: asked } = parseArgs({
  options: {
    times: { type: "string", default: "3" },
    rows: { type: "string" },
    small: { type: "boolean", default: false },
    record: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});
const times = Number(asked.times);
if (!Number.isInteger(times) || times < 1) throw new Error(`--times is ${asked.times}: give 1 or more`);
const wanted = asked.rows?.split(",");
const stranger = wanted?.find((name) => !ROWS.some(({ row }) => row === name));
if (stranger !== undefined) throw new Error(`there is no row '${stranger}': --list shows them`);
if (asked.small && asked.record) throw new Error("what --small measures is no record");
const rows = ROWS.filter(({ row }) => wanted === undefined || wanted.includes(row));
const root = new URL("../", import.meta.url);

/** Runs a script to its end; what it printed. Throws with the last of its words where it fails. */
function printedBy(words, environment) {
  const child = spawn(process.execPath, words, { cwd: root, env: { ...process.env, ...environment } });
  let [printed, said] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (part) => {
    printed += part;
  });
  child.stderr.setEncoding("utf8").on("data", (part) => {
    said = (said + part).slice(-2_000);
  });
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`${words.join(" ")} ended with ${code ?? signal}\n${said.trim()}`));
    });
  });
}

/** All values of each figure of a run. */
async function measured(name) {
  const { words, environment = () => ({}), patterns, repeats = false } = RUNS[name];
  const how = { small: asked.small, times };
  const found = {};
  for (let time = 0; time < (repeats ? times : 1); time += 1) {
    const printed = await printedBy(words(how), environment(how));
    const told = patterns === undefined ? figuresOf(printed) : matched(patterns, printed);
    for (const [figure, values] of Object.entries(told)) found[figure] = [...(found[figure] ?? []), ...values];
  }
  return found;
}

function matched(patterns, printed) {
  return Object.fromEntries(
    Object.entries(patterns).map(([figure, pattern]) => {
      const values = [...printed.matchAll(pattern)].map(([, value]) => Number(value));
      if (values.length === 0) throw new Error(`'${figure}' is not in what was printed:\n${printed}`);
      return [figure, values];
    }),
  );
}

/** The median of what is worked out of each repetition. A figure that was told once is that of all of them. */
function medianOf(figure, found, isAll) {
  const valueAt = (time) => (name) => {
    const values = found[name];
    if (values === undefined) throw new Error(`'${name}' was not measured`);
    return values[Math.min(time, values.length - 1)];
  };
  const count = Math.max(...Object.values(found).map((values) => values.length));
  const all = Array.from({ length: count }, (_, time) => figure(valueAt(time)));
  return isAll ? all.filter(Boolean).length > all.length / 2 : median(all);
}

/** A row with its figures, or with what there was in the way of them. */
function filled(row, { found, failure }) {
  if (failure !== undefined) return { ...row, failure };
  try {
    const value = medianOf(row.figure, found);
    const isMet = row.most === undefined ? value >= row.least : value <= row.most;
    const isMetOtherwise = row.orMet !== undefined && medianOf(row.orMet, found, true);
    const other = row.beside && medianOf(row.beside.figure, found);
    return { ...row, value, other, verdict: isMet || isMetOtherwise ? "met" : "missed" };
  } catch (error) {
    return { ...row, failure: error };
  }
}

const DIGITS = { ms: 3, "×": 2, µs: 2, s: 1 };
function shown(value, unit) {
  const digits = unit === "ms" && value >= 10 ? 1 : DIGITS[unit];
  const text = digits === undefined ? Math.round(value).toLocaleString("en") : value.toFixed(digits);
  return `${text} ${unit}`;
}

function lineOf({ row, what, unit, most, least, beside, value, other, verdict, failure }) {
  const goal = `${most === undefined ? "≥" : "≤"} ${(most ?? least).toLocaleString("en")}`;
  if (failure !== undefined) return [row, what, "–", "–", goal, "FAILED"];
  const peer = beside === undefined ? "" : `${beside.name}: ${shown(other, beside.unit)}`;
  return [row, what, shown(value, unit), peer, goal, verdict];
}

async function main() {
  if (asked.list) return print([["row", "what", "run"], ...rows.map(({ row, what, run }) => [row, what, run])], 3);
  const runs = new Map();
  for (const name of Object.keys(RUNS).filter((run) => rows.some((row) => row.run === run))) {
    const start = performance.now();
    process.stderr.write(`${name} …\n`);
    const outcome = await measured(name).then(
      (found) => ({ found }),
      (failure) => ({ failure }),
    );
    runs.set(name, { ...outcome, seconds: (performance.now() - start) / 1_000 });
    if (outcome.failure !== undefined) process.stderr.write(`${name} failed: ${outcome.failure.message}\n`);
  }
  const table = rows.map((row) => filled(row, runs.get(row.run)));
  print([["row", "what", "figure", "beside", "goal", ""], ...table.map(lineOf)], 2);
  for (const { row, failure } of table)
    if (failure !== undefined) process.stdout.write(`${row} failed: ${failure.message.split("\n", 1)[0]}\n`);
  const longest = [...runs].sort(([, left], [, right]) => right.seconds - left.seconds);
  process.stdout.write(
    `seconds: ${longest.map(([name, { seconds }]) => `${name} ${seconds.toFixed(0)}`).join(", ")}\n`,
  );
  if (asked.record)
    writeGoalRecord(
      table.filter(({ failure }) => failure === undefined),
      times,
    );
  if (table.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
}

await main();
