/** Why a document is a hit, and why another is not, as the server tells it (an extension of this server). */

/** A place where a term matched. */
export interface Occurrence {
  /** Which element of the field; 0 where there is only one. */
  readonly element: number;
  /** Which word of the element. */
  readonly position: number;
  /** The number of words of the element. */
  readonly elementLength: number;
  readonly elementWeight: number;
}

/** What a term asks of one field, and what it found. */
export interface ExplainedField {
  readonly field: string;
  /** What is looked for, in words. */
  readonly asks: string;
  readonly matched: boolean;
  /** The number of times it was found. */
  readonly count: number;
  /** The first places. */
  readonly occurrences: readonly Occurrence[];
}

/** A part of the query. Which members there are depends on the operator. */
export interface ExplainedOperator {
  readonly operator: string;
  readonly matched: boolean;
  readonly children?: readonly ExplainedOperator[];
  readonly weight?: number;
  readonly label?: string;
  readonly fields?: readonly ExplainedField[];
  readonly field?: string;
  /** Of `nearestNeighbor`: the distance in the field's metric; of `near` and `onear`: that which is allowed. */
  readonly distance?: number;
  readonly closeness?: number;
  readonly withinThreshold?: boolean;
  readonly targetHits?: number;
}

/** A part of a rank expression with its value; tensors are as the server writes them. */
export interface ExplainedExpression {
  readonly expression: string;
  /** Left out where a part has no value by itself. */
  readonly value?: number | string | Readonly<Record<string, unknown>>;
  readonly children?: readonly ExplainedExpression[];
}

/** A document as query and ranking see it. */
export interface Explanation {
  readonly query: ExplainedOperator;
  readonly ranking: {
    readonly profile: string;
    readonly firstPhase: ExplainedExpression;
    readonly secondPhase?: ExplainedExpression;
  };
}

/** What became of one document. */
export interface DocumentExplanation extends Partial<Explanation> {
  /** The whole document id. */
  readonly id: string;
  readonly outcome:
    | "RETURNED"
    | "OUTSIDE_WINDOW"
    | "COLLAPSED"
    | "DROPPED"
    | "NOT_MATCHED"
    | "NOT_RANKED"
    | "NOT_FOUND";
  /** Why it is not a hit; empty if it is one. */
  readonly reasons: readonly string[];
  readonly relevance?: number;
  /** The number of hits before it. */
  readonly position?: number;
  /** The number of others of the same rank. */
  readonly tied?: number;
}
