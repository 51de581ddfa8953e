/** Measures of one ranking against judgements, each id once. Who asks, and what is made of many of them, is decided elsewhere. */

/** How good documents are for a question, by their ids: 0 is no good, and so is what is not there. */
export type Grades = Readonly<Record<string, number>>;

/**
 * The discounted gain of the first `depth` ids (2^grade − 1, divided by log2 of the rank + 1), as a share of what the best
 * order would have. Of a question without a good document it is 0.
 *
 * @example
 * ```ts
 * import { ndcg } from "brooklet/evaluation";
 * console.log(ndcg(["m2", "m1"], { m1: 2, m2: 1 }, 10)); // 0.797
 * ```
 */
export function ndcg(ids: readonly string[], grades: Grades, depth: number): number {
  const best = Object.values(grades).toSorted((left, right) => right - left);
  const ideal = gain(best.slice(0, depth));
  if (ideal === 0) return 0;
  return gain(firstOf(ids, depth).map((id) => (Object.hasOwn(grades, id) ? (grades[id] ?? 0) : 0))) / ideal;
}

function gain(grades: readonly number[]): number {
  return grades.reduce((sum, grade, index) => sum + (2 ** grade - 1) / Math.log2(index + 2), 0);
}

/**
 * The share of the good documents that are among the first `depth` ids.
 *
 * @example
 * ```ts
 * import { recall } from "brooklet/evaluation";
 * console.log(recall(["m2", "m7"], { m1: 2, m2: 1 }, 100)); // 0.5
 * ```
 */
export function recall(ids: readonly string[], grades: Grades, depth: number): number {
  const good = Object.keys(grades).filter((id) => isGood(id, grades));
  if (good.length === 0) return 0;
  const found = new Set(firstOf(ids, depth));
  return good.filter((id) => found.has(id)).length / good.length;
}

/**
 * One divided by the rank of the first good document; 0 where there is none.
 *
 * @example
 * ```ts
 * import { reciprocalRank } from "brooklet/evaluation";
 * console.log(reciprocalRank(["m7", "m1"], { m1: 2 })); // 0.5
 * ```
 */
export function reciprocalRank(ids: readonly string[], grades: Grades): number {
  const index = firstOf(ids, ids.length).findIndex((id) => isGood(id, grades));
  return index < 0 ? 0 : 1 / (index + 1);
}

/** The first ids, each once: documents with several passages come again. */
function firstOf(ids: readonly string[], depth: number): readonly string[] {
  return [...new Set(ids)].slice(0, depth);
}

function isGood(id: string, grades: Grades): boolean {
  return Object.hasOwn(grades, id) && (grades[id] ?? 0) > 0;
}
