/** Passages: pieces of stored texts with where they stand, and why they were taken. */

/** The scores of a passage. Which there are depends on how it was found. */
export interface PassageScores {
  /** What the searches say of its document, added up; the best passage of the document has all of it. */
  readonly fused: number;
  /** How good the passage is among those of its document, 0 to 1; 1 for the best. */
  readonly share: number;
  /** Place of its document in each search that found it, from 1, by the name of the search. */
  readonly ranks: Readonly<Record<string, number>>;
  /** Relevance of its document in each search that found it. */
  readonly relevances: Readonly<Record<string, number>>;
  /** What a reranker said of it. */
  readonly rerank?: number;
}

/** A piece of a stored text. `text` is `stored.slice(start, end)`, of the field or of its element. */
export interface Passage {
  /** The id of its document, as the searches told it: in the SDK the one it was put under, over HTTP the whole one. */
  readonly documentId: string;
  readonly field: string;
  /** Which element, of a field that is a list of texts. */
  readonly element?: number;
  /** The range in the stored text, in UTF-16 code units, as `String.prototype.slice` counts them. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** What passages are ordered by: the reranker's score, or else `fused * share`. */
  readonly score: number;
  readonly scores: PassageScores;
  /** Documents with a passage that says nearly the same, which is left out for this one. */
  readonly duplicates: readonly string[];
}
