/** Texts cut into pieces by the server: a list of the pieces, and a vector for each. */

import { invalidArgument } from "../error.ts";
import { arrayCodec, TEXT } from "./codec.ts";
import type { ArrayField } from "./collection.ts";
import { type Field, makeField, type Plain, type ShapeOf } from "./field.ts";
import type { TextConditions } from "./field-condition.ts";

/** How a text is cut: after sentences, or into pieces of about the same length, at most so many characters and a tenth. */
export type Chunking = "sentence" | { readonly length: number };

/** A list of the pieces of a text, which the server makes. Hits have it; documents do not. */
export type ChunksField = Field<{
  readonly kind: "chunks";
  readonly output: readonly string[];
  readonly input: never;
  readonly optional: true;
  readonly inHits: true;
  readonly conditions: ShapeOf<ArrayField<Plain<"text", string, TextConditions>>>["conditions"];
}>;

/**
 * The pieces of the text of a field, cut when a document is put: `chunks("body", { length: 500 })`.
 *
 * @example
 * ```ts
 * const note = schema("note", { body: text(), parts: chunks("body", { length: 500 }) });
 * ```
 */
export function chunks(from: string, by: Chunking = "sentence"): ChunksField {
  const type = { kind: "array", element: { kind: "primitive", name: "string" } } as const;
  const made = { from: [from], chunker: chunkerOf(by) };
  const definition = { type, indexing: ["summary", "index"], settings: ["index: enable-bm25"], made } as const;
  return makeField(definition, arrayCodec(TEXT), true);
}

/** @internal The expression of the indexing language that cuts. */
export function chunkerOf(by: Chunking): string {
  if (by === "sentence") return "chunk sentence";
  if (Number.isInteger(by.length) && by.length > 0) return `chunk fixed-length ${by.length}`;
  throw invalidArgument(`the length of chunks is ${by.length}: give a positive integer`);
}
