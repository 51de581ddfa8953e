/** What a model asks of a search, as the search of a group; the conditions of who made the tool hold whatever it asks for. */
import { type AnySchema, allOf, type Condition, madeVector, type SearchOptions } from "@brooklet/client";
import type { ModelFilter } from "./model-field.ts";

/** A condition, as a search takes it. */
export type Where = Condition | ((fields: unknown) => Condition);

/** What a model asks of a search. */
export interface ModelSearch {
  /** Words to search for; without them, everything that the filter lets through. */
  readonly query: string;
  readonly limit: number;
  /** Values by field: texts that it may be, `min` and `max` of numbers, `from` and `until` of dates, truth values. */
  readonly filter?: unknown;
  /** As in `sentAt desc`; by relevance unless it is said. */
  readonly sort?: string | undefined;
}

/**
 * What a search is bound to: the condition of who made the tool and that of the model, both of which hold. It is written where the
 * search is, which refuses what is no condition: without one the model would see every document.
 */
export function boundCondition(where: unknown, filter: ModelFilter, filled: unknown): Where | undefined {
  if (where === undefined) return filter.condition(filled);
  return (fields) => {
    const own = (typeof where === "function" ? where(fields) : where) as Condition;
    const asked = filter.condition(filled);
    return asked === undefined ? own : allOf(own, asked);
  };
}

/** Options of the search: by words, by the vector that the server makes, and by what fields have to be. */
export function searchOptions(
  schema: AnySchema,
  where: unknown,
  filter: ModelFilter,
  { query, limit, sort, filter: filled }: ModelSearch,
  signal: AbortSignal | undefined,
): SearchOptions<AnySchema> {
  const vector = query.trim() === "" ? undefined : madeVector(schema);
  const condition = boundCondition(where, filter, filled);
  return {
    text: query,
    ...(vector === undefined ? {} : { near: { field: vector, text: query } }),
    limit,
    // A model reads texts, not HTML.
    highlights: "ranges",
    ...(condition === undefined ? {} : { where: condition }),
    ...(sort === undefined ? {} : { orderBy: sort }),
    ...(signal === undefined ? {} : { signal }),
  } as unknown as SearchOptions<AnySchema>;
}
