/**
 * Counts what a step of `.ci/run` printed: `node count.mjs KIND CODE LOG`. KIND `exit` counts the step itself, `tests`
 * adds up the totals of cargo's and vitest's tests, `tally` takes the last line `N passed, N failed`. `excerpt` prints
 * what one wants to read of a failure, `failures` the lines alone that name what failed, `sum` adds up counts given on
 * standard input and ends with 1 if anything failed.
 */
import { readFileSync } from "node:fs";

const EXCERPT_LINES = 80;
/** Lines of a step that are said once more at the end: of a long log often nothing else is kept. */
const FAILURE_LINES = 16;
/** Lines that tell what failed. */
const TELLING = /\bFAIL|^error|Unhandled|panicked at|AssertionError|\.\.\. FAILED|✗|×/;
/** What a line tells more of stands after it, further to the right: so many lines of that. */
const FOLLOWING_LINES = 4;
const COUNT = /^(\d+) passed, (\d+) failed$/gm;

const [kind = "", code = "0", log = ""] = process.argv.slice(2);
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const text = log === "" ? "" : readFileSync(log, "utf8").replace(/\x1b\[[0-9;]*m/g, "");

/** @param {RegExp} pattern */
const total = (pattern) => [...text.matchAll(pattern)].reduce((sum, [, count]) => sum + Number(count), 0);

/** @returns {[number, number]} */
function tests() {
  const cargo = /^test result: \w+\. (\d+) passed; (\d+) failed;/gm;
  const cargoFailed = /^test result: \w+\. \d+ passed; (\d+) failed;/gm;
  const vitest = /^(?:\S+: +| +) *Tests +(?:\d+ failed \| )?(\d+) passed/gm;
  const vitestFailed = /^(?:\S+: +| +) *Tests +(\d+) failed/gm;
  return [total(cargo) + total(vitest), total(cargoFailed) + total(vitestFailed)];
}

/** @returns {[number, number]} */
function tally() {
  const last = [...text.matchAll(COUNT)].at(-1);
  return [Number(last?.[1] ?? 0), Number(last?.[2] ?? 0)];
}

/** A step that failed without saying how counts as one failure, and so does one that counted nothing. */
function count() {
  if (kind === "exit") return code === "0" ? [1, 0] : [0, 1];
  const [passed, failed] = kind === "tests" ? tests() : tally();
  return [passed, failed === 0 && (code !== "0" || passed === 0) ? 1 : failed];
}

/** The lines that tell what failed, each with the first of what it says; and the end. */
function excerpt() {
  const lines = text.trimEnd().split("\n");
  let room = 0;
  const telling = lines.filter((line) => {
    if (TELLING.test(line)) room = FOLLOWING_LINES + 1;
    else if (!/^\s+\S/.test(line)) room = 0;
    room -= 1;
    return room >= 0;
  });
  return [...telling.slice(0, EXCERPT_LINES), "…", ...lines.slice(-EXCERPT_LINES)].join("\n");
}

/** The lines that name what failed, each once. */
function failures() {
  const lines = text.split("\n").filter((line) => TELLING.test(line));
  return [...new Set(lines)].slice(0, FAILURE_LINES).join("\n");
}

if (kind === "sum") {
  const counts = [...readFileSync(0, "utf8").matchAll(COUNT)];
  const [passed, failed] = [1, 2].map((part) => counts.reduce((sum, found) => sum + Number(found[part]), 0));
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && counts.length > 0 ? 0 : 1;
} else if (kind === "excerpt") {
  console.log(excerpt());
} else if (kind === "failures") {
  console.log(failures());
} else {
  console.log(count().join(" passed, ").concat(" failed"));
}
