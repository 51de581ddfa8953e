/**
 * What a search has to know of a schema: which fields have words, which vectors, and what the server makes of what. The core
 * reports a deployed schema in this shape; the SDK has it of its own. What is chosen by default is chosen here, once.
 */
import { suggestion } from "@brooklet/wire";

/** A field of a schema, as far as searches go. */
export interface SearchedField {
  readonly name: string;
  /** As a schema file has it: `string`, `tensor<float>(x[384])`. */
  readonly type: string;
  /** A text or a list of texts, searched by its words. */
  readonly words?: boolean;
  /** Hits show something else than what is stored: a teaser, tokens, the elements that matched. */
  readonly abridged?: boolean;
  /** How far apart its vectors are. */
  readonly metric?: string;
  /** The server makes it of other fields. */
  readonly made?: boolean;
  /** What makes it a vector; empty: the only embedder there is. */
  readonly embedder?: string;
  /** What is cut into its pieces, and how: the same for fields of the same pieces. */
  readonly pieces?: string;
}

/** A schema, as far as searches go. */
export interface SearchedSchema {
  readonly name: string;
  readonly fields: readonly SearchedField[];
  readonly rankProfiles?: readonly string[];
}

/** Name of the profile that `schema()` makes for words and the nearest of one field. */
export function hybridProfileName(field: string): string {
  return `hybrid_${field}`;
}

/** Name of the profile that `schema()` makes for the nearest of one field. */
export function nearProfileName(field: string): string {
  return `near_${field}`;
}

/** The function of those profiles that says how near each piece of a text is, by its number. */
export function chunkScoresName(field: string): string {
  return `${field}_chunks`;
}

/** Whether a schema has a profile. */
export function hasProfile({ rankProfiles = [] }: SearchedSchema, name: string): boolean {
  return rankProfiles.includes(name);
}

/** The field of that name. Throws a `RangeError` if there is none. */
export function knownField({ name: schema, fields }: SearchedSchema, name: string): SearchedField {
  const found = fields.find((field) => field.name === name);
  if (found !== undefined) return found;
  const known = fields.map((field) => field.name);
  throw new RangeError(`schema ${schema} has no field '${name}'${suggestion(name, known)}`);
}

/** The vector that a text is searched near to unless it is said: the one that the server makes, of a schema with one. */
export function madeVector(schema: SearchedSchema): string | undefined {
  const made = schema.fields.filter(
    ({ name, embedder }) => embedder !== undefined && hasProfile(schema, nearProfileName(name)),
  );
  return made.length === 1 ? made[0]?.name : undefined;
}
