/** Tells whether two passages say nearly the same, by the runs of words they share. */
import { eachAsciiWord, wordsOf } from "./words.ts";

/** Words of one run. */
const RUN_WORDS = 3;
/** From this share of all runs on, two passages are nearly the same. */
const SAME = 0.8;
/** From this share of the shorter one's runs on, it is contained in the longer one. */
const CONTAINED = 0.9;
/** Passages with fewer runs are only the same if all words are. */
const FEW_RUNS = 4;

/** What is compared of a passage. */
export interface Fingerprint {
  readonly text: string;
  /** A number of all words: others have the same only by chance. */
  readonly whole: number;
  /** Numbers of runs: a run has one, and others have the same only by chance. */
  readonly runs: ReadonlySet<number>;
}

/** The fingerprint of a text. Case, punctuation, and white space do not count. */
export function fingerprint(text: string): Fingerprint {
  const numbers = numbersOf(text);
  const runs = new Set<number>();
  for (let at = 0; at + RUN_WORDS <= numbers.length; at += 1) {
    let run = 0;
    for (let next = at; next < at + RUN_WORDS; next += 1) run = Math.imul(run, FACTOR) ^ (numbers[next] ?? 0);
    runs.add(run);
  }
  let whole = numbers.length;
  for (const number of numbers) whole = Math.imul(whole, FACTOR) ^ number;
  return { text, whole, runs };
}

/** Prime, of the size that spreads 32 bits (Fowler, Noll and Vo). */
const FACTOR = 16_777_619;

/** A number for each word. */
function numbersOf(text: string): number[] {
  const lower = text.toLowerCase();
  const numbers: number[] = [];
  const isWhole = eachAsciiWord(lower, (start, end) => numbers.push(numberOf(lower, start, end)));
  return isWhole ? numbers : wordsOf(text).map((word) => numberOf(word, 0, word.length));
}

function numberOf(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) number = Math.imul(number, FACTOR) ^ text.charCodeAt(at);
  return Math.imul(number ^ (number >>> 15), FACTOR);
}

/** Whether one of two passages can be left out for the other. */
export function isNearDuplicate(left: Fingerprint, right: Fingerprint): boolean {
  if (left.whole === right.whole && isSame(wordsOf(left.text), wordsOf(right.text))) return true;
  const [small, large] = left.runs.size <= right.runs.size ? [left, right] : [right, left];
  if (small.runs.size < FEW_RUNS) return false;
  // Neither share can be reached once so many runs of the shorter one are missing.
  const missingMost = (1 - Math.min(SAME, CONTAINED)) * small.runs.size;
  let missing = 0;
  for (const run of small.runs) {
    if (large.runs.has(run)) continue;
    missing += 1;
    if (missing > missingMost) return false;
  }
  const both = small.runs.size - missing;
  return both >= SAME * (large.runs.size + missing) || both >= CONTAINED * small.runs.size;
}

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((word, at) => word === right[at]);
}
