/** Reciprocal rank fusion: several rankings of documents become one. */

/** One search's answer: ids from the best to the worst, with their relevance there. */
export interface Ranking {
  readonly name: string;
  /** How much it counts; 1 by default. */
  readonly weight?: number;
  readonly hits: readonly { readonly documentId: string; readonly relevance: number }[];
}

/** A document with what the rankings say of it. */
export interface Fused {
  readonly documentId: string;
  readonly score: number;
  readonly ranks: Readonly<Record<string, number>>;
  readonly relevances: Readonly<Record<string, number>>;
}

/** The constant of the formula, as its authors chose it: it keeps the first places from deciding everything. */
export const RANK_CONSTANT = 60;

/**
 * The documents of all rankings, the best first: each has the sum of `weight / (60 + rank)` over the rankings that have
 * it (Cormack, Clarke and Büttcher, 2009). Equal ones stand in the order of their ids.
 */
export function fuse(rankings: readonly Ranking[]): Fused[] {
  const found = new Map<string, { score: number; ranks: Record<string, number>; relevances: Record<string, number> }>();
  for (const { name, weight = 1, hits } of rankings) {
    hits.forEach(({ documentId, relevance }, index) => {
      const fused = found.get(documentId) ?? { score: 0, ranks: {}, relevances: {} };
      if (Object.hasOwn(fused.ranks, name)) return;
      fused.score += weight / (RANK_CONSTANT + index + 1);
      fused.ranks[name] = index + 1;
      fused.relevances[name] = relevance;
      found.set(documentId, fused);
    });
  }
  return [...found]
    .map(([documentId, fused]) => ({ documentId, ...fused }))
    .sort((left, right) => right.score - left.score || compareText(left.documentId, right.documentId));
}

/** By code units: the same everywhere, whatever the language of the machine. */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
