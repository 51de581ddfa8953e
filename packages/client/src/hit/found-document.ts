/** A document that was found: what hits of a search and hits of a group have in common. */
import type { Explanation } from "./explanation.ts";

/** A document that was found, but for its features. */
export interface FoundDocument<Fields> {
  /** The id it was put under. */
  readonly id: string;
  readonly relevance: number;
  readonly fields: Fields;
  /** Why it is a hit: what matched where, and how its relevance came about. The search must say `explain: true`. */
  explain(): Explanation;
}
