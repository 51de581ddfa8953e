/** Writes a search by words, by a vector, or by both, as the parameters that a server takes. What a user typed is one of them. */
import { suggestion } from "@brooklet/wire";
import { type AskedVector, type SearchParameters, vectorParameters } from "./asked-vector.ts";
import { type MatchBy, relevantText } from "./matching.ts";
import { hasProfile, hybridProfileName, nearProfileName, type SearchedSchema } from "./searched-schema.ts";
import { type TextQuery, typedText } from "./typed-text.ts";

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

/** The profile of that name. Throws a `RangeError` if there is none. */
function knownProfile({ name: schema, rankProfiles = [] }: SearchedSchema, name: string): string {
  if (rankProfiles.includes(name)) return name;
  throw new RangeError(`schema ${schema} has no profile '${name}'${suggestion(name, rankProfiles)}`);
}
