/** Reads answers of a search as typed hits. */
import type { Coverage, Hit as WireHit, SearchResult as WireResult } from "@brooklet/wire";
import { decodeMembers } from "./codec.ts";
import { BrookletError, invalidArgument, unexpectedAnswer } from "./error.ts";
import type { Explanation } from "./explanation.ts";
import type { Query } from "./query.ts";
import type { FeatureValue, HitFeatures } from "./ranking.ts";
import type { AnySchema } from "./schema.ts";

/** A document that was found, but for its features. */
export interface FoundDocument<Fields> {
  /** The id it was put under. */
  readonly id: string;
  /** The whole document id, as in `id:mail:mail:g=alice:m1`. */
  readonly documentId: string;
  readonly relevance: number;
  readonly fields: Fields;
  /** Why it is a hit: what matched where, and how its relevance came about. The search must say `explain: true`. */
  explain(): Explanation;
}

/** A document that was found, with the features that its profile lists. */
export type Hit<Fields, Features = HitFeatures> = FoundDocument<Fields> & Features;

/** How long a search took and what it read. The bytes are this server's own: a Vespa does not tell them. */
export interface SearchTiming {
  readonly searchMs: number;
  /** Bytes read from storage. */
  readonly bytesRead?: number;
  /** Bytes looked at, those that were in memory included. */
  readonly bytesScanned?: number;
}

/** What a search found. */
export interface SearchResult<Fields, Features = HitFeatures> {
  readonly hits: readonly Hit<Fields, Features>[];
  /** How many documents match, returned or not. */
  readonly totalCount: number;
  readonly coverage?: Coverage;
  /** If it was asked for. */
  readonly timing?: SearchTiming;
}

const MS_PER_SECOND = 1000;

/** Reads an answer. A part that could not be answered is an error: half a result looks like a whole one. */
export function readResult<Fields, Features>(
  query: Query<AnySchema, Fields, Features>,
  answer: unknown,
): SearchResult<Fields, Features> {
  const { root, timing } = answer as WireResult;
  if (root === undefined) throw unexpectedAnswer("the answer to a search has no root");
  const problem = root.errors?.[0];
  if (problem !== undefined) {
    throw new BrookletError("ERROR_IN_REPLY", `The result is not complete: ${problem.message}`, { status: 200 });
  }
  const hits = (root.children ?? []).filter((child): child is WireHit => !child.id.startsWith("group:"));
  return {
    hits: hits.map((hit) => readHit<Fields, Features>(query, hit)),
    totalCount: root.fields?.totalCount ?? 0,
    ...(root.coverage === undefined ? {} : { coverage: root.coverage }),
    ...(timing === undefined ? {} : { timing: readTiming(timing) }),
  };
}

function readHit<Fields, Features>(query: Query<AnySchema, Fields, Features>, hit: WireHit): Hit<Fields, Features> {
  const json = hit.fields ?? {};
  try {
    const { schema, hitFields } = query;
    const fields =
      hitFields === undefined
        ? decodeMembers(schema.fields, json, Object.keys(schema.fields), "left out")
        : decodeMembers(schema.fields, json, hitFields);
    const { matchfeatures, summaryfeatures } = json as Readonly<Record<string, Readonly<Record<string, FeatureValue>>>>;
    const shown = {
      id: localId(hit.id),
      documentId: hit.id,
      relevance: Number(hit.relevance),
      fields: fields as Fields,
      ...(matchfeatures === undefined ? {} : { matchFeatures: matchfeatures }),
      ...(summaryfeatures === undefined ? {} : { summaryFeatures: summaryfeatures }),
    };
    // Not listed among the hit's members: a hit that is printed or compared is its data.
    const found = Object.defineProperty(shown, "explain", { value: () => explanationOf(hit) });
    // The server lists the features that the profile was deployed with: those of the type, unless that is another's.
    return found as unknown as Hit<Fields, Features>;
  } catch (error) {
    throw unexpectedAnswer(`${hit.id}: ${(error as Error).message}`);
  }
}

function explanationOf({ id, explain }: WireHit): Explanation {
  if (explain !== undefined) return explain as Explanation;
  throw invalidArgument(`${id} cannot be explained: search with { explain: true }`);
}

/** The part of a document id that the caller chose. It may itself contain colons. */
export function localId(documentId: string): string {
  return /^id:[^:]*:[^:]*:[^:]*:(.*)$/s.exec(documentId)?.[1] ?? documentId;
}

function readTiming(timing: Readonly<Record<string, number>>): SearchTiming {
  const { searchtime = 0, bytesread, bytesscanned } = timing;
  return {
    searchMs: searchtime * MS_PER_SECOND,
    ...(bytesread === undefined ? {} : { bytesRead: bytesread }),
    ...(bytesscanned === undefined ? {} : { bytesScanned: bytesscanned }),
  };
}
