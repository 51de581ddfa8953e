/**
 * Retrieval from a group: which fields passages are of, which searches find them, and how their texts are read off the hits.
 * The SDK, the gateway and whatever else retrieves differ in how a search gets to its server, and in nothing else.
 */

import { type Hit, membersThere } from "@brooklet/wire";
import type { AskedVector, SearchParameters } from "./asked-vector.ts";
import { textsOfHit } from "./hit-texts.ts";
import { passageFields, pieceScores } from "./passage-fields.ts";
import {
  type FoundTexts,
  HYBRID_FLOOR,
  type RetrievalOptions,
  type RetrievalSearch,
  type Retrieved,
  retrieve,
  WORDS_FLOOR,
  weightOf,
} from "./retrieve.ts";
import { type AskedSearch, searchParameters } from "./search-parameters.ts";
import { hasProfile, hybridProfileName, knownField, madeVector, type SearchedSchema } from "./searched-schema.ts";
import type { TextQuery } from "./typed-text.ts";

/** How documents are found by words. With a profile or a weight of its own it is a search of its own, and fused. */
export interface WordSide extends Omit<TextQuery, "query"> {
  readonly profile?: string;
  /** How much it counts in a fusion: as much as the other unless it is said. */
  readonly weight?: number;
}

/** How documents are found by a vector: one that is given, or that of the question. */
export interface VectorSide extends Omit<AskedVector, "text"> {
  readonly profile?: string;
  /** How much it counts in a fusion: as much as the other unless it is said. */
  readonly weight?: number;
}

/** What to retrieve. */
export interface RetrievalRequest extends RetrievalOptions {
  /** A condition in YQL that every document fulfils. */
  readonly filter?: string;
  /** The fields that passages are taken from; all texts that are searched by their words unless it is said. */
  readonly from?: readonly string[];
  readonly text?: false | WordSide;
  /** Unless it is said, by the vector that the server makes, if the schema has one such field. */
  readonly near?: false | VectorSide;
  /** For a list of texts, the feature that says how good each element is. */
  readonly elementScores?: Readonly<Record<string, string | undefined>>;
}

/** The way to a group. */
export interface RetrievalSource {
  /** The hits of a search, the best first. */
  search(parameters: SearchParameters): Promise<readonly Hit[]>;
  /** The fields of one document as they are stored, in the content cluster of its hit; nothing if it is gone. */
  stored(documentId: string, cluster?: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** Searches, and gives the passages for a question. Throws a `RangeError` where what is asked cannot be. */
export async function retrievePassages(
  schema: SearchedSchema,
  question: string,
  request: RetrievalRequest,
  source: RetrievalSource,
): Promise<Retrieved> {
  const searches = searchesOf(schema, question, request, source);
  if (searches.length === 0) {
    const reason = question.trim() === "" ? "the question is empty" : "neither words nor a vector are asked for";
    throw new RangeError(`nothing can be retrieved: ${reason}`);
  }
  return await retrieve(question, searches, request);
}

const NEIGHBOURS_MIN = 100;

function searchesOf(
  schema: SearchedSchema,
  question: string,
  request: RetrievalRequest,
  source: RetrievalSource,
): RetrievalSearch[] {
  const reader = new TextReader(schema, request, source);
  const { filter, timeoutMs, fusion } = request;
  const common = { fields: reader.fields, ...membersThere({ filter, timeoutMs }) };
  const search = (name: string, { text, near, profile }: Sides): RetrievalSearch => {
    const run: RetrievalSearch["run"] = async (page) => {
      // Deeper pages have further neighbours: what is too far is left out by the floor of passages.
      const targetHits = Math.max(NEIGHBOURS_MIN, page.limit + page.offset);
      const sides = membersThere({ text, near: near === undefined ? undefined : { targetHits, ...near }, profile });
      const written = searchParameters(schema, { ...common, ...sides, ...page });
      return await reader.readAll(await source.search({ ...written, "presentation.bolding": false }));
    };
    return { name, run };
  };
  const { text, near } = sidesOf(schema, question, request);
  // What cannot be is told before anything is sent.
  for (const asked of [text, near]) if (asked !== undefined) searchParameters(schema, { ...asked, ...FIRST_PAGE });
  if (text !== undefined && near !== undefined && isOneSearch(schema, request, near.near.field)) {
    const { distanceMax, similarityMin = -1 } = near.near;
    const floor = distanceMax === undefined ? { similarityMin } : {};
    const hybrid = search("hybrid", { text: text.text, near: { ...near.near, ...floor } });
    return [{ ...hybrid, floor: HYBRID_FLOOR }];
  }
  const usual = weightOf(fusion);
  return [
    ...(text === undefined ? [] : [{ ...search("text", text), weight: text.weight ?? usual, ...floorOf(text) }]),
    ...(near === undefined ? [] : [{ ...search("vector", near), weight: near.weight ?? usual }]),
  ];
}

/** What a profile of its own scores is not known. */
function floorOf({ profile }: Sides): Pick<RetrievalSearch, "floor"> {
  return profile === undefined ? { floor: WORDS_FLOOR } : {};
}

const FIRST_PAGE = { limit: 1, offset: 0 };

/** What a search is asked, beside what all are. */
type Sides = Pick<AskedSearch, "text" | "near" | "profile">;

/** What a side counts in a fusion. */
interface Weighted {
  readonly weight?: number;
}

/** What is asked by words and by a vector; nothing of what is not asked for. */
function sidesOf(
  schema: SearchedSchema,
  question: string,
  request: RetrievalRequest,
): {
  readonly text: (Sides & Weighted & { readonly text: TextQuery }) | undefined;
  readonly near: (Sides & Weighted & { readonly near: AskedVector }) | undefined;
} {
  const { text: words = {}, near: vector = usualVector(schema) } = request;
  const hasWords = question.trim() !== "";
  let text: ReturnType<typeof sidesOf>["text"];
  if (words !== false && hasWords) {
    const { profile, weight, ...how } = words;
    text = { text: { query: question, ...how }, ...membersThere({ profile, weight }) };
  }
  let near: ReturnType<typeof sidesOf>["near"];
  if (vector !== false && (vector.vector !== undefined || hasWords)) {
    const { profile, weight, ...how } = vector;
    near = { near: how.vector === undefined ? { ...how, text: question } : how, ...membersThere({ profile, weight }) };
  }
  return { text, near };
}

function usualVector(schema: SearchedSchema): false | VectorSide {
  const field = madeVector(schema);
  return field === undefined ? false : { field };
}

/** Whether one search by the schema's own ranking of both is all that is asked for. */
function isOneSearch(schema: SearchedSchema, request: RetrievalRequest, field: string): boolean {
  const { text, near, fusion, elementScores } = request;
  const isOfItsOwn = (side: false | WordSide | VectorSide | undefined): boolean =>
    side !== undefined && side !== false && (side.profile !== undefined || side.weight !== undefined);
  // Scores of elements are those of the profiles of either side.
  const asksForTwo = isOfItsOwn(text) || isOfItsOwn(near) || fusion !== undefined || elementScores !== undefined;
  return !asksForTwo && hasProfile(schema, hybridProfileName(field));
}

/** Takes the texts out of hits, each as it is stored. */
class TextReader {
  readonly fields: readonly string[];
  readonly #scores: Readonly<Record<string, string | undefined>>;
  readonly #source: RetrievalSource;
  /** Fields of which hits show something else, so that their text must be fetched. */
  readonly #abridged: readonly string[];

  constructor(schema: SearchedSchema, { from, elementScores }: RetrievalRequest, source: RetrievalSource) {
    this.fields = passageFields(schema, from);
    this.#scores = { ...pieceScores(schema), ...elementScores };
    this.#source = source;
    this.#abridged = this.fields.filter((name) => knownField(schema, name).abridged === true);
  }

  async readAll(hits: readonly Hit[]): Promise<readonly FoundTexts[]> {
    if (this.#abridged.length === 0) return hits.map((hit) => this.#textsOf(hit, {}));
    return await Promise.all(
      hits.map(async (hit) => {
        const stored = await this.#source.stored(hit.id, hit.source);
        return this.#textsOf(hit, Object.fromEntries(this.#abridged.map((name) => [name, stored?.[name]])));
      }),
    );
  }

  #textsOf({ id, relevance, fields = {} }: Hit, stored: Readonly<Record<string, unknown>>): FoundTexts {
    const features = { ...objectOf(fields["matchfeatures"]), ...objectOf(fields["summaryfeatures"]) };
    const texts = textsOfHit({ fields: { ...fields, ...stored }, features }, this.fields, this.#scores);
    return { documentId: id, relevance: Number(relevance), texts };
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
