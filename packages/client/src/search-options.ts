/** What a search may be given, and what its hits have by that, as types. `query.ts` writes the search. */
import type { AskedVector, MatchBy, TextQuery } from "@brooklet/answers";
import type { Condition } from "./condition.ts";
import type { FacetAnswers, FacetsOf } from "./grouping/facet.ts";
import type { Grouping, GroupingAnswer } from "./grouping/grouping.ts";
import type { HitMembers } from "./hit/hit-members.ts";
import type { HighlightForm } from "./hit/marks.ts";
import type { Consistency } from "./request-options.ts";
import type { ConditionsOf, DocumentOf, HitFieldsOf, NameWith } from "./schema/infer.ts";
import type { InputsOf } from "./schema/ranking.ts";
import type { AnySchema } from "./schema/schema.ts";
import type { Numbers } from "./schema/tensor.ts";

/** The nearest of a vector. */
export interface NearQuery<VectorName extends string = string> extends Omit<AskedVector, "field" | "input" | "vector"> {
  readonly field: VectorName;
  /** The vector; or else `text`. */
  readonly vector?: Numbers;
}

/** An order: a field, and the direction if it is not ascending; or how its texts compare. */
export type Order<Name extends string> = Name | `${Name} asc` | `${Name} desc` | SortOrder<Name>;

/** An order with everything that can be said of it. */
export interface SortOrder<Name extends string = string> {
  /** A field, the score, or the document's id. */
  readonly by: Name | "[relevance]" | "[docid]";
  readonly direction?: "asc" | "desc";
  /** How texts compare: by their bytes, in lower case, or as a language orders them. */
  readonly function?: "raw" | "lowercase" | "uca";
  /** The language, as in `en_US`. */
  readonly locale?: string;
  /** Which differences count. */
  readonly strength?: "primary" | "secondary" | "tertiary" | "quaternary" | "identical";
}

/** A field of which each value is in the answer a few times only. Documents without a value are not collapsed. */
export interface CollapseBy<Name extends string = string> {
  readonly by: Name;
  /** Hits of one value; 1 by default. */
  readonly size?: number;
}

type Collapse<S extends AnySchema> = (keyof S["fields"] & string) | CollapseBy<keyof S["fields"] & string>;

/** What every search may say, however it is written. */
export interface CommonSearchOptions<
  S extends AnySchema,
  Profile extends S["profiles"][number] = S["profiles"][number],
  Explain extends boolean = boolean,
  Form extends HighlightForm = HighlightForm,
> {
  /** The ranking; made to fit `text` and `near` unless it is said. */
  readonly profile?: Profile;
  /** Values of the profile's inputs, by name; of a profile the schema has itself, with their types. */
  readonly inputs?: InputsOf<S["ranking"], Profile, S["fields"]>;
  /** Hits to return; 10 by default. */
  readonly limit?: number;
  /** Hits to skip. */
  readonly offset?: number;
  /** Time the server may take; 5 s by default. */
  readonly timeoutMs?: number;
  /** How new what is searched has to be, where several servers share a store; `strict` unless it is said. */
  readonly consistency?: Consistency;
  /** Whether to return how long it took, and what was read. */
  readonly timing?: boolean;
  /** Whether hits can tell why they are ones, by `hit.explain()`, which they have then only. */
  readonly explain?: Explain;
  /**
   * How hits tell what matched in the texts that they show bold or as teasers: by default those texts are `html`; with `ranges`
   * they are plain, and each hit has `highlights`.
   */
  readonly highlights?: Form;
  /**
   * Whether a search that runs out of time returns what it has found, instead of an error; `coverage` tells how much of the
   * group it has seen.
   */
  readonly partialResults?: boolean;
}

/**
 * What to search for. All parts together narrow the result; only `text` and `near` widen each other: a document is
 * found by its words, or by a vector that is similar enough, and ranked by both; `matchBy` says it otherwise.
 */
export interface SearchOptions<
  S extends AnySchema,
  Selected extends keyof S["fields"] & string = never,
  Profile extends S["profiles"][number] = never,
  Facets extends FacetsOf<S["fields"]> = never,
  G extends Grouping = never,
  Near extends VectorName<S> = VectorName<S>,
  Ordering extends Orders<S> = Orders<S>,
  Explain extends boolean = boolean,
  Form extends HighlightForm = HighlightForm,
> extends CommonSearchOptions<S, Profile, Explain, Form> {
  /**
   * What a user typed. An empty text is as good as none; one that has no word (`!!!`) finds nothing, and the answer has a
   * `note` that says so. Beside `near`, documents are found by the vector then.
   */
  readonly text?: string | TextQuery;
  readonly near?: NearQuery<Near>;
  /** Which documents match where both `text` and `near` are given; `either` by default. */
  readonly matchBy?: MatchBy;
  /** Conditions on fields: `(it) => it.year.ge(2020).and(it.sender.is("a"))`. */
  readonly where?: Condition | ((fields: ConditionsOf<S["fields"]>) => Condition);
  /** Instead of by relevance. */
  readonly orderBy?: Ordering;
  /** Leaves of hits that have one value in a field only the best: one per thread, three per sender. */
  readonly collapse?: Collapse<S> | readonly Collapse<S>[];
  /** The fields of hits; all but vectors by default. */
  readonly fields?: readonly Selected[];
  /** Counts of values among all matches, by a name each: `{ from: facet("sender") }`. */
  readonly facets?: Facets;
  /** Groups of all matches, made by `grouping()`. */
  readonly grouping?: G;
  /** Where lists of the grouping begin: `next` and `previous` of lists of an answer to the same search. */
  readonly continuations?: string | readonly string[];
  /**
   * The time zone of date histograms, and of `g.time` in the grouping, such as `Europe/Oslo`; UTC by default. It is taken
   * by its distance from UTC now: where clocks change, times of the other half of the year are an hour off.
   */
  readonly timeZone?: string;
}

/** A search that is read to its end. What is found is ordered by fields, so that it can be gone on with. */
export interface CursorOptions<
  S extends AnySchema,
  Selected extends keyof S["fields"] & string = never,
  Profile extends S["profiles"][number] = never,
  Explain extends boolean = boolean,
  Form extends HighlightForm = HighlightForm,
> extends Pick<
    SearchOptions<S, Selected, Profile, never, never, VectorName<S>, Orders<S>, Explain, Form>,
    | ("text" | "near" | "matchBy" | "where" | "fields" | "orderBy" | "profile" | "inputs" | "timeoutMs" | "explain")
    | ("highlights" | "consistency")
  > {
  /** Hits of one answer, at most 400. */
  readonly pageSize?: number;
}

/** A page of a search that is read to its end. */
export interface PageOptions<
  S extends AnySchema,
  Selected extends keyof S["fields"] & string = never,
  Profile extends S["profiles"][number] = never,
  Explain extends boolean = boolean,
  Form extends HighlightForm = HighlightForm,
> extends CursorOptions<S, Selected, Profile, Explain, Form> {
  /** The `next` of the page before. */
  readonly after?: string;
}

/** What a result has beside hits: `facets` and `grouping`, if they were asked for. */
export type GroupedAnswer<S extends AnySchema, Facets, G extends Grouping> = ([Facets] extends [never]
  ? unknown
  : { readonly facets: FacetAnswers<Facets, S["fields"]> }) &
  ([G] extends [never] ? unknown : { readonly grouping: GroupingAnswer<G, SomeFields<S>> });

/** What a search in YQL may say beside it. */
export interface YqlSearchOptions<
  S extends AnySchema,
  Profile extends S["profiles"][number] = never,
  Explain extends boolean = boolean,
  Form extends HighlightForm = HighlightForm,
> extends CommonSearchOptions<S, Profile, Explain, Form> {
  /** Values for `@name` in the YQL: the place for everything a user typed. */
  readonly parameters?: Readonly<Record<string, string | number>>;
  /** A summary class of the deployed schema, which says what hits show. */
  readonly summary?: string;
}

/** The fields of hits that only the server knows: some of the document's. */
export type SomeFields<S extends AnySchema> = Partial<DocumentOf<S["fields"]>>;

type OrderBy<S extends AnySchema> = Order<NameWith<S["fields"], "kind", "sortable">>;

/** One order, or several of which the first decides. */
export type Orders<S extends AnySchema> = OrderBy<S> | readonly OrderBy<S>[];

/** A field that can be searched near to. */
export type VectorName<S extends AnySchema> = NameWith<S["fields"], "kind", "vector">;

/** What hits of `search` have beside their fields. */
export type SearchedMembers<
  S extends AnySchema,
  Profile,
  Near,
  Ordering,
  Explain extends boolean,
  Form extends HighlightForm,
> = HitMembers<
  S,
  {
    readonly profile: Profile;
    readonly near: Near;
    readonly orderBy: Ordering;
    readonly explain: Explain;
    readonly highlights: Form;
  }
>;

/** What hits of `searchYql` have beside their fields: the profile is `default` unless it is said. */
export type YqlMembers<
  S extends AnySchema,
  Profile,
  Explain extends boolean,
  Form extends HighlightForm,
> = SearchedMembers<S, Profile, never, never, Explain, Form>;

/** What hits of a cursor have beside their fields: they are ranked only if a profile is named. */
export type CursorMembers<
  S extends AnySchema,
  Profile,
  Explain extends boolean,
  Form extends HighlightForm,
> = SearchedMembers<S, [Profile] extends [never] ? "unranked" : Profile, never, never, Explain, Form>;

/** The fields of a hit: the selected ones, or those that hits have anyway. */
export type SelectedFields<S extends AnySchema, Selected extends string> = [Selected] extends [never]
  ? HitFieldsOf<S["fields"]>
  : DocumentOf<Pick<S["fields"], Selected & keyof S["fields"]>>;
