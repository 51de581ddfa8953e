/** The request of a search of one group, and its answer read as typed hits. */
import type { SearchNote } from "@brooklet/answers";
import {
  type Coverage,
  membersThere,
  type ResultRoot,
  type Hit as WireHit,
  type SearchResult as WireResult,
} from "@brooklet/wire";
import { shownId } from "../document-id.ts";
import type { DocumentPlace } from "../document-request.ts";
import { BrookletError, unexpectedAnswer } from "../error.ts";
import { exchange } from "../exchange.ts";
import { CODE } from "../grouping/grouped.ts";
import type { WireGroup } from "../grouping/grouping.ts";
import type { Query } from "../query.ts";
import { decodeMembers } from "../schema/codec.ts";
import type { FeatureValue, HitFeatures } from "../schema/ranking.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { FoundDocument } from "./found-document.ts";
import type { withHighlights } from "./highlight.ts";
import { markedFields } from "./marks.ts";
import type { SearchTiming } from "./timing.ts";

/** A document that was found, with the features that its profile lists and whatever else the search asks for. */
export type Hit<Fields, Features = HitFeatures> = FoundDocument<Fields> & Features;

/** What a search found. */
export interface SearchResult<Fields, Features = HitFeatures> {
  readonly hits: readonly Hit<Fields, Features>[];
  /** The number of documents that match, returned or not. */
  readonly totalCount: number;
  readonly coverage?: Coverage;
  /** What there is to say about what was asked: a text without a word finds nothing. */
  readonly note?: SearchNote;
  /** If it was asked for. */
  readonly timing?: SearchTiming;
}

/** What a search of a group answers, as it is on the wire. */
export async function wireResult(
  { exchange: to, group }: DocumentPlace,
  asked: Readonly<Record<string, unknown>>,
  signal: AbortSignal | undefined,
  isExact = false,
): Promise<WireResult> {
  const parameters = { ...asked, "streaming.groupname": group };
  const request = { method: "POST", target: "/search/", parameters, signal, isRepeatable: true, isExact } as const;
  return (await exchange(to, request)).json as WireResult;
}

/** The root of an answer that is whole. */
export function wholeRoot(answer: unknown): ResultRoot {
  const { root } = answer as WireResult;
  if (root === undefined) throw unexpectedAnswer("the answer to a search has no root");
  const problem = root.errors?.[0];
  if (problem === undefined) return root;
  throw new BrookletError("ERROR_IN_REPLY", `The result is not complete: ${problem.message}`, { status: 200 });
}

/** What reads marked texts, and which fields have them; nothing of a schema that has none. */
type Marking = { readonly marked: readonly string[]; readonly read: typeof withHighlights } | undefined;

/** Reads an answer. A part that could not be answered is an error: half a result looks like a whole one. */
export async function readResult<Fields, Features, Grouped>(
  query: Query<AnySchema, Fields, Features, Grouped>,
  answer: unknown,
): Promise<SearchResult<Fields, Features> & Grouped> {
  // Loaded when there are such texts: most schemas have none.
  const marked = markedFields(query.schema);
  const marking = marked.length > 0 ? { marked, read: (await import("./extras.ts")).withHighlights } : undefined;
  const { timing } = answer as WireResult;
  const root = wholeRoot(answer);
  const hits = (root.children ?? []).filter((child): child is WireHit => !child.id.startsWith("group:"));
  const result: SearchResult<Fields, Features> = {
    hits: hits.map((hit) => readHit<Fields, Features>(query, hit, marking)),
    totalCount: root.fields?.totalCount ?? 0,
    ...membersThere({ coverage: root.coverage, note: query.note }),
    ...(timing === undefined ? {} : { timing: (await import("./extras.ts")).readTiming(timing) }),
  };
  const groups = (root.children ?? []).filter((child) => child.id.startsWith("group:root:"));
  return {
    ...result,
    ...readGrouped(query as unknown as Query, groups as unknown as readonly WireGroup[], marking),
  } as typeof result & Grouped;
}

/** Every grouping has a root, in the order of the request: those of facets first. */
function readGrouped(
  query: Query<AnySchema, unknown>,
  roots: readonly WireGroup[],
  marking: Marking,
): Readonly<Record<string, unknown>> {
  const { schema, facets, grouping, zoneMinutes = 0 } = query;
  const asked = Object.entries(facets ?? {});
  const rootAt = (index: number): WireGroup => {
    const root = roots.find(({ id }) => id === `group:root:${index}`);
    if (root === undefined) throw unexpectedAnswer(`the answer has no groups of grouping ${index}`);
    return root;
  };
  const read = asked.map(([name, facet], index) => [name, facet[CODE].read(schema, facet, rootAt(index), zoneMinutes)]);
  // Only the server knows which fields a summary class shows.
  const readAny = (hit: WireHit) => readHit({ ...query, hitFields: undefined }, hit, marking);
  return {
    ...(facets === undefined ? {} : { facets: Object.fromEntries(read) }),
    ...(grouping === undefined ? {} : { grouping: grouping[CODE].read(grouping, rootAt(asked.length), readAny) }),
  };
}

function readHit<Fields, Features>(
  query: Query<AnySchema, Fields, Features>,
  hit: WireHit,
  marking: Marking,
): Hit<Fields, Features> {
  try {
    const { schema, hitFields, highlights: form = "html" } = query;
    const { fields: json, highlights } = marking?.read(marking.marked, hit.fields ?? {}, form) ?? {
      fields: hit.fields ?? {},
      highlights: {},
    };
    const fields =
      hitFields === undefined
        ? decodeMembers(schema.fields, json, Object.keys(schema.fields), "left out")
        : decodeMembers(schema.fields, json, hitFields);
    const { matchfeatures, summaryfeatures } = json as Readonly<Record<string, Readonly<Record<string, FeatureValue>>>>;
    const id = shownId(hit.id, schema.namespace);
    const shown: Record<string, unknown> = { id, relevance: Number(hit.relevance), fields };
    if (matchfeatures !== undefined) shown["matchFeatures"] = matchfeatures;
    if (summaryfeatures !== undefined) shown["summaryFeatures"] = summaryfeatures;
    if (form === "ranges") shown["highlights"] = highlights;
    const { explain } = hit;
    // Not listed among the hit's members: a hit that is printed or compared is its data.
    if (explain !== undefined) Object.defineProperty(shown, "explain", { value: () => explain });
    // The server lists the features that the profile was deployed with: those of the type, unless that is another's.
    return shown as unknown as Hit<Fields, Features>;
  } catch (error) {
    throw unexpectedAnswer(`${hit.id}: ${(error as Error).message}`);
  }
}
