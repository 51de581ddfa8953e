/** Tells whether two passages say nearly the same, by the runs of words they share. */
import { wordsOf } from "./words.ts";

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
  readonly runs: ReadonlySet<string>;
}

/** The fingerprint of a text. Case, punctuation, and white space do not count. */
export function fingerprint(text: string): Fingerprint {
  const words = wordsOf(text);
  const runs = new Set<string>();
  for (let at = 0; at + RUN_WORDS <= words.length; at += 1) runs.add(words.slice(at, at + RUN_WORDS).join(" "));
  return { text: words.join(" "), runs };
}

/** Whether one of two passages can be left out for the other. */
export function isNearDuplicate(left: Fingerprint, right: Fingerprint): boolean {
  if (left.text === right.text) return true;
  const [small, large] = left.runs.size <= right.runs.size ? [left, right] : [right, left];
  if (small.runs.size < FEW_RUNS) return false;
  let both = 0;
  for (const run of small.runs) if (large.runs.has(run)) both += 1;
  return both >= SAME * (small.runs.size + large.runs.size - both) || both >= CONTAINED * small.runs.size;
}
