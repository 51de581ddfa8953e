/** What a hit has beside its fields, read off how it is searched for. Nothing here exists when the program runs. */

import type { TextFieldName } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { Explanation } from "./explanation.ts";
import type { ChosenFeatures } from "./features.ts";
import type { HighlightForm, TextRange } from "./marks.ts";

/** What a search says that decides what its hits have. */
export interface HitChoice {
  /** The profile that is named; `never` if none is. */
  readonly profile: unknown;
  /** The field that is searched near to, and the order; `never` if none is. */
  readonly near: unknown;
  readonly orderBy: unknown;
  readonly explain: boolean;
  readonly highlights: HighlightForm;
}

/** How a hit tells why it is one. The server says it with the hit; nothing is asked for it. */
interface Explained {
  /** Why it is a hit: what matched where, and how its relevance came about. */
  explain(): Explanation;
}

/** `explain` of a hit: there if the search says `explain: true`, not there if it does not, and unsure where it may. */
type ExplainedBy<Explain> = [Explain] extends [true]
  ? Explained
  : [Explain] extends [false]
    ? unknown
    : Partial<Explained>;

/** Where words matched in the texts that hits show bold or as teasers; of lists, by element. */
export type HighlightsOf<S extends AnySchema> = {
  readonly [Name in TextFieldName<S["fields"]>]?: readonly TextRange[] | readonly (readonly TextRange[])[];
};

/** `highlights` of a hit: there if the search wants ranges. */
type HighlightsBy<S extends AnySchema, Form> = [Form] extends ["html"]
  ? unknown
  : [Form] extends ["ranges"]
    ? { readonly highlights: HighlightsOf<S> }
    : { readonly highlights?: HighlightsOf<S> };

/** What hits have beside their fields: features, explanations, highlights. */
export type HitMembers<S extends AnySchema, Choice extends HitChoice> = ChosenFeatures<
  S["ranking"],
  S["fields"],
  Choice["profile"],
  Choice["near"],
  Choice["orderBy"]
> &
  ExplainedBy<Choice["explain"]> &
  HighlightsBy<S, Choice["highlights"]>;
