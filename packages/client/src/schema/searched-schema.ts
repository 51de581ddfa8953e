/** A schema as searches know it, in the shape that servers report theirs in. */

import { madeVector as madeVectorOf, type SearchedField, type SearchedSchema } from "@brooklet/answers/search";
import { membersThere } from "@brooklet/wire";
import { dataTypeText } from "./data-type.ts";
import { textFieldsOf } from "./profile.ts";
import type { AnySchema } from "./schema.ts";

const KNOWN = new WeakMap<AnySchema, SearchedSchema>();

/** The schema as searches know it. */
export function searchedSchema(schema: AnySchema): SearchedSchema {
  const known = KNOWN.get(schema);
  if (known !== undefined) return known;
  const words = new Set(textFieldsOf(schema.fields));
  const fields = Object.entries(schema.fields).map(([name, { definition }]): SearchedField => {
    const { type, settings, metric, made } = definition;
    const isList = made?.chunker !== undefined && type.kind === "array";
    return {
      name,
      type: dataTypeText(type, () => name),
      ...(words.has(name) || isList ? { words: true } : {}),
      ...(settings.includes("summary: dynamic") ? { abridged: true } : {}),
      ...(made === undefined ? {} : { made: true }),
      ...(made?.chunker === undefined ? {} : { pieces: JSON.stringify([made.from, made.chunker]) }),
      ...membersThere({ metric, embedder: made?.embedder }),
    };
  });
  const searched = { name: schema.name, fields, rankProfiles: schema.profiles };
  KNOWN.set(schema, searched);
  return searched;
}

/**
 * The vector that the server makes of texts, of a schema with one: what `retrieve` is near to unless it is said.
 *
 * @example
 * ```ts
 * const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "minilm" }) });
 * const field = madeVector(note); // "vec"
 * ```
 */
export function madeVector(schema: AnySchema): string | undefined {
  return madeVectorOf(searchedSchema(schema));
}
