/** The vector that the nearest are searched of, as the parameters that a server takes: it, or the text that is made one of. */
import type { Neighbours } from "./matching.ts";
import { knownField, type SearchedSchema } from "./searched-schema.ts";

/** The nearest of a vector, or of a text that an embedder of the server makes one of. */
export interface AskedVector extends Neighbours {
  /** The vector; or else `text`. */
  readonly vector?: unknown;
  /** A text, of which an embedder of the server makes the vector. */
  readonly text?: string;
  /** Which embedder; that of the field, where one makes it, or the only one of the server. */
  readonly embedder?: string;
}

/** Parameters of a search by their names. */
export type SearchParameters = Readonly<Record<string, unknown>>;

/** The vector as it is, or as the call of an embedder. What a user typed is a parameter of its own. */
export function vectorParameters(schema: SearchedSchema, near: AskedVector): SearchParameters {
  const { field, input = field, vector, text, embedder } = near;
  if ((vector === undefined) === (text === undefined)) {
    throw new RangeError(`near '${field}' needs either a vector or a text`);
  }
  const known = knownField(schema, field);
  const name = `input.query(${input})`;
  if (text === undefined) return { [name]: vector };
  if (embedder !== undefined && !/^[\w.-]+$/.test(embedder)) {
    throw new RangeError(`${JSON.stringify(embedder)} cannot be the name of an embedder`);
  }
  // A vector that was made by an embedder is compared with what the same one makes.
  const by = embedder ?? known.embedder ?? "";
  return { [name]: `embed(${by === "" ? "" : `${by}, `}@nearText)`, nearText: text };
}
