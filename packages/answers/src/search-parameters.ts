/** Writes a search by words, by a vector, or by both, as the parameters that a server takes. What a user typed is one of them. */
import { type MatchBy, type Neighbours, relevantText } from "./matching.ts";
import {
  hasProfile,
  hybridProfileName,
  knownField,
  knownProfile,
  nearProfileName,
  type SearchedSchema,
} from "./searched-schema.ts";
import { type TextQuery, typedText } from "./typed-text.ts";

/** The nearest of a vector, or of a text that an embedder of the server makes one of. */
export interface AskedVector extends Neighbours {
  /** The vector; or else `text`. */
  readonly vector?: unknown;
  /** A text, of which an embedder of the server makes the vector. */
  readonly text?: string;
  /** Which embedder; that of the field, where one makes it, or the only one of the server. */
  readonly embedder?: string;
}

/** What is searched for. */
export interface AskedSearch {
  readonly text?: TextQuery;
  readonly near?: AskedVector;
  readonly matchBy?: MatchBy;
  /** The ranking; made to fit `text` and `near`, where the schema has it, unless it is said. */
  readonly profile?: string;
  /** A condition in YQL that every document fulfils. */
  readonly filter?: string;
  /** The fields of hits, with the features that the profile lists; what hits have anyway, unless it is said. */
  readonly fields?: readonly string[];
  readonly limit: number;
  readonly offset: number;
  readonly timeoutMs?: number;
}

/** Parameters of a search by their names. */
export type SearchParameters = Readonly<Record<string, unknown>>;

const TIMEOUT_MS_DEFAULT = 5_000;

/** The parameters of a search, but for the group. Throws a `RangeError` where what is asked cannot be. */
export function searchParameters(schema: SearchedSchema, asked: AskedSearch): SearchParameters {
  const { text, near, filter, fields, limit, offset, timeoutMs = TIMEOUT_MS_DEFAULT } = asked;
  const typed = text === undefined ? undefined : typedText(text);
  const vector = near === undefined ? {} : vectorParameters(schema, near);
  const relevant = relevantText(schema, typed?.condition, asked) ?? "true";
  const found = filter === undefined ? relevant : `${relevant} and (${filter})`;
  const shown = fields === undefined ? "*" : [...fields, "matchfeatures", "summaryfeatures"].join(", ");
  const profile = asked.profile === undefined ? usualProfile(schema, asked) : knownProfile(schema, asked.profile);
  return {
    yql: `select ${shown} from ${schema.name} where ${found}`,
    hits: limit,
    offset,
    timeout: `${timeoutMs}ms`,
    // What follows `from` may also be the name of a cluster, which would be all of its schemas.
    "model.restrict": schema.name,
    ...(profile === undefined ? {} : { "ranking.profile": profile }),
    ...vector,
    ...typed?.parameters,
  };
}

/** The profile that `schema()` makes for what is asked; nothing where that is the default, or where the default has to do. */
function usualProfile(schema: SearchedSchema, { text, near }: AskedSearch): string | undefined {
  if (near === undefined) return undefined;
  // No other would count both sides.
  if (text !== undefined) return knownProfile(schema, hybridProfileName(near.field));
  const made = nearProfileName(near.field);
  return hasProfile(schema, made) ? made : undefined;
}

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
