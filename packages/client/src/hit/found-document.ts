/** A document that was found: what hits of a search and hits of a group have in common. */

/** A document that was found, but for what the search decides that its hits have: features, explanations, highlights. */
export interface FoundDocument<Fields> {
  /** The id it was put under. */
  readonly id: string;
  readonly relevance: number;
  readonly fields: Fields;
}
