/** A search as a hook of React: debounced, with what is outdated aborted, and nothing of one group shown for another. */
"use client";
import {
  type AnySchema,
  type FacetsOf,
  type GroupedAnswer,
  type Grouping,
  type HighlightForm,
  type Hit,
  type MiniGroup,
  type Orders,
  type Query,
  query,
  type SearchedMembers,
  type SearchOptions,
  type SearchResult,
  type SelectedFields,
  type VectorName,
} from "@brooklet/client";
import { useEffect, useReducer, useState } from "react";

/** How a component searches. */
export interface UseSearchOptions<Result> {
  /** Wait for a change to be the last one, such as a typed letter; 150 ms by default. The first search does not wait. */
  readonly debounceMs?: number;
  /** Whether to search at all; a last answer stays. */
  readonly enabled?: boolean;
  /** The answer to the first search, where the server has it already: then it is not asked for again. */
  readonly initial?: Result;
}

/** Where a search stands. */
export interface SearchState<Result, Found = unknown> {
  /** The last answer, of this group and schema; while the next is on its way too. */
  readonly result: Result | undefined;
  /** Its hits; none before the first answer. */
  readonly hits: readonly Found[];
  /** Whether an answer to what is asked now is on its way; the result is that of an earlier search then. */
  readonly isSearching: boolean;
  /** What kept the last search from being answered. */
  readonly error: Error | undefined;
  /** Searches again, after a write say. */
  readonly repeat: () => void;
}

/** The whole answer to a search with these options. */
type Found<S extends AnySchema, Selected extends string, Members, Facets, G extends Grouping> = SearchResult<
  SelectedFields<S, Selected>,
  Members
> &
  GroupedAnswer<S, Facets, G>;

type StateOf<S extends AnySchema, Selected extends string, Members, Facets, G extends Grouping> = SearchState<
  Found<S, Selected, Members, Facets, G>,
  Hit<SelectedFields<S, Selected>, Members>
>;

interface Answered<Result> {
  /** Whose answer it is: group and schema. */
  readonly place: string | undefined;
  /** What was asked, and how often. */
  readonly key: string | undefined;
  readonly result: Result | undefined;
  readonly error: Error | undefined;
}

interface Asked {
  readonly key: string;
  readonly written?: Query<AnySchema>;
  readonly problem?: Error;
}

const DEBOUNCE_MS = 150;
const NO_HITS: readonly never[] = [];

/**
 * Searches a group, again whenever what is asked changes. Options are compared by what they say, so they may be written where the
 * component renders; so is a group, by its name (a component that goes to another server gets another `key`). On a server
 * nothing is searched: give `initial`. Without a group nothing is searched either.
 *
 * @example
 * ```tsx
 * import { useState } from "react";
 * import { useSearch } from "brooklet/react";
 *
 * export function Inbox() {
 *   const [typed, setTyped] = useState("");
 *   const { hits, isSearching, error } = useSearch(alice, mail, { text: { query: typed, asYouType: true }, limit: 20 });
 *   return (
 *     <>
 *       <input value={typed} onChange={(event) => setTyped(event.target.value)} />
 *       {error && <p>{error.message}</p>}
 *       <ul aria-busy={isSearching}>{hits.map(({ id, fields }) => <li key={id}>{fields.subject}</li>)}</ul>
 *     </>
 *   );
 * }
 * ```
 */
export function useSearch<
  S extends AnySchema,
  Selected extends keyof S["fields"] & string = never,
  Profile extends S["profiles"][number] = never,
  Facets extends FacetsOf<S["fields"]> = never,
  G extends Grouping = never,
  Near extends VectorName<S> = never,
  Ordering extends Orders<S> = never,
  Explain extends boolean = false,
  Form extends HighlightForm = "html",
>(
  group: MiniGroup | undefined,
  schema: S,
  options: SearchOptions<S, Selected, Profile, Facets, G, Near, Ordering, Explain, Form> = {},
  how: UseSearchOptions<Found<S, Selected, SearchedMembers<S, Profile, Near, Ordering, Explain, Form>, Facets, G>> = {},
): StateOf<S, Selected, SearchedMembers<S, Profile, Near, Ordering, Explain, Form>, Facets, G> {
  type Result = Found<S, Selected, SearchedMembers<S, Profile, Near, Ordering, Explain, Form>, Facets, G>;
  const { debounceMs = DEBOUNCE_MS, enabled = true, initial } = how;
  const [times, repeat] = useReducer((count: number) => count + 1, 0);
  const place = group === undefined ? undefined : JSON.stringify([group.name, schema.name]);
  const { key: asked, written, problem } = askedBy(() => query(schema, options) as unknown as Query<AnySchema>);
  const key = `${times} ${place} ${asked}`;
  const [answered, setAnswered] = useState<Answered<Result>>(() => ({
    place,
    key: initial === undefined ? undefined : key,
    result: initial,
    error: undefined,
  }));
  const isWanted = enabled && group !== undefined;
  const isAnswered = answered.key === key;
  const isFirst = answered.key === undefined || answered.place !== place;
  // The key says all that a search depends on. Group and query are those of the render in which it changed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: both are made anew at every render.
  useEffect(() => {
    if (!isWanted || isAnswered) return undefined;
    const outdated = new AbortController();
    const tell = (result: Result | undefined, error: Error | undefined): void => {
      if (outdated.signal.aborted) return;
      setAnswered((before) => ({
        place,
        key,
        result: result ?? (before.place === place ? before.result : undefined),
        error,
      }));
    };
    const search = async (): Promise<void> => {
      try {
        if (written === undefined) throw problem;
        tell((await group.run(written, { signal: outdated.signal })) as Result, undefined);
      } catch (error) {
        tell(undefined, error instanceof Error ? error : new Error(String(error)));
      }
    };
    // Even the first waits for the end of the turn: what is mounted twice, as strict mode does, asks once.
    const timer = setTimeout(() => void search(), isFirst ? 0 : debounceMs);
    return () => {
      clearTimeout(timer);
      outdated.abort();
    };
  }, [key, isWanted, isAnswered, isFirst, debounceMs]);
  const isOfPlace = answered.place === place;
  const result = isOfPlace ? answered.result : undefined;
  return {
    result,
    hits: result?.hits ?? NO_HITS,
    isSearching: isWanted && !isAnswered,
    error: isOfPlace ? answered.error : undefined,
    repeat,
  };
}

/** What is asked, as a text to compare; what cannot be asked is a problem to tell, not one that ends the component. */
function askedBy(write: () => Query<AnySchema>): Asked {
  try {
    const written = write();
    // The names of facets and the form of highlights are in the answer, and not in what is sent.
    return { key: JSON.stringify([written, Object.keys(written.facets ?? {}), written.highlights]), written };
  } catch (error) {
    const problem = error instanceof Error ? error : new Error(String(error));
    return { key: problem.message, problem };
  }
}
