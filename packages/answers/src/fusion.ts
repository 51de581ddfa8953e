/** Fusion: several rankings of documents become one, by how well each scores in its ranking, or by its ranks alone. */

/** One search's answer: ids from the best to the worst, with their relevance there. */
export interface Ranking {
  readonly name: string;
  /** How much it counts; 1 by default. */
  readonly weight?: number;
  readonly hits: readonly { readonly documentId: string; readonly relevance: number }[];
}

/**
 * How rankings are added up. `relativeScore`: each relevance as its share of the way from the least of the ranking to the
 * largest, so that a hit far ahead of the others counts as that. `reciprocalRank`: `1 / (60 + rank)`, which looks at no
 * relevance (Cormack, Clarke and Büttcher, 2009).
 */
export type Fusion = "relativeScore" | "reciprocalRank";

/** A document with what the rankings say of it. */
export interface Fused {
  readonly documentId: string;
  readonly score: number;
  readonly ranks: Readonly<Record<string, number>>;
  readonly relevances: Readonly<Record<string, number>>;
}

/** The constant of reciprocal ranks, as its authors chose it: it keeps the first places from deciding everything. */
const RANK_CONSTANT = 60;

/** The documents of all rankings, the best first. Equal ones stand in the order of their ids. */
export function fuse(rankings: readonly Ranking[], fusion: Fusion): Fused[] {
  const found = new Map<string, { score: number; ranks: Record<string, number>; relevances: Record<string, number> }>();
  for (const { name, weight = 1, hits } of rankings) {
    const scoreOf =
      fusion === "reciprocalRank" ? reciprocalRank : relativeScore(hits.map(({ relevance }) => relevance));
    hits.forEach(({ documentId, relevance }, index) => {
      const fused = found.get(documentId) ?? { score: 0, ranks: {}, relevances: {} };
      if (Object.hasOwn(fused.ranks, name)) return;
      fused.score += weight * scoreOf(relevance, index);
      fused.ranks[name] = index + 1;
      fused.relevances[name] = relevance;
      found.set(documentId, fused);
    });
  }
  return [...found]
    .map(([documentId, fused]) => ({ documentId, ...fused }))
    .sort((left, right) => right.score - left.score || compareText(left.documentId, right.documentId));
}

function reciprocalRank(_: number, index: number): number {
  return 1 / (RANK_CONSTANT + index + 1);
}

/** 1 for the best; for the worst 0, or 1 if all are as good. */
function relativeScore(relevances: readonly number[]): (relevance: number) => number {
  const known = relevances.filter(Number.isFinite);
  const [least, largest] = [Math.min(...known), Math.max(...known)];
  return (relevance) => {
    if (!Number.isFinite(relevance)) return 0;
    return largest > least ? (relevance - least) / (largest - least) : 1;
  };
}

/** By code units: the same everywhere, whatever the language of the machine. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
