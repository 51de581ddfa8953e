/** Documents of a schema that is there: with filters, an order, dates as texts, and no vectors. */
import type { AnySchema, Group } from "@brooklet/client";
import { modelFilter, shownFields } from "../model-field.ts";
import { searchOptions } from "../model-search.ts";
import type { McpDocuments } from "./documents.ts";

/** Which documents, and by what they may be filtered. */
export interface McpTyped {
  readonly group: Group;
  readonly schema: AnySchema;
  readonly filters: readonly string[] | undefined;
}

/** The documents of a schema. */
export function documentsBySchema({ group, schema, filters }: McpTyped): McpDocuments {
  const filter = modelFilter(schema, filters);
  const shown = (fields: unknown) => shownFields(schema, fields as Readonly<Record<string, unknown>>);
  return {
    filter,
    search: async (asked, signal) => {
      const { totalCount, hits } = await group.search(schema, searchOptions(schema, undefined, filter, asked, signal));
      return { totalCount, hits: hits.map(({ id, relevance, fields }) => ({ id, relevance, fields: shown(fields) })) };
    },
    get: async (id, signal) => {
      const found = await group.get(schema, id, { signal });
      return found === undefined ? { found: false, fields: {} } : { found: true, fields: shown(found) };
    },
    retrieve: async ({ question, tokens, filter: filled }, signal) => {
      const where = filter.condition(filled);
      const asked = { tokens, signal, ...(where === undefined ? {} : { where }) };
      const retrieved = await group.retrieve(schema, question, asked);
      const passages = retrieved.passages.map(({ documentId, field, element, start, end, text, score }, index) => {
        const place = { field, ...(element === undefined ? {} : { element }), start, end };
        return { number: index + 1, id: documentId, ...place, text, score };
      });
      return { tokens: retrieved.tokens, passages };
    },
  };
}
