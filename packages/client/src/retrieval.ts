/** Retrieval over a group: the search by words and vector, or one by each that are fused, and the texts of their hits. */
import {
  ChatError,
  type FoundTexts,
  HYBRID_FLOOR,
  type RetrievalOptions,
  type RetrievalSearch,
  type Retrieved,
  retrieve,
  textsOfHit,
  weightOf,
} from "@brooklet/answers";
import type { Condition } from "./condition.ts";
import { invalidArgument, refuseUnknown, suggestion } from "./error.ts";
import type { ConditionsOf, NameWith } from "./infer.ts";
import { failureOfModel } from "./model-failure.ts";
import { chunkScoresName, hybridProfileName, nearProfileName, textFieldsOf } from "./profile.ts";
import { type NearQuery, type Query, query, type SearchOptions } from "./query.ts";
import type { HitFeatures } from "./ranking.ts";
import type { Hit, SearchResult } from "./result.ts";
import type { AnySchema } from "./schema.ts";
import type { TextQuery } from "./typed-text.ts";

/** How documents are found by words. With a profile or a weight of its own it is a search of its own, and fused. */
export interface TextRetrieval<Profile extends string = string> extends Omit<TextQuery, "query"> {
  readonly profile?: Profile;
  /** How much it counts in a fusion: as much as the other unless it is said. */
  readonly weight?: number;
}

/**
 * How documents are found by a vector: one that is given, or that of the question, made by the server's embedder. With a
 * profile or a weight of its own it is a search of its own, and fused.
 */
export interface NearRetrieval<VectorName extends string = string, Profile extends string = string>
  extends Omit<NearQuery<VectorName>, "vector" | "text" | "targetHits"> {
  /** The vector of the question. */
  readonly vector?: NearQuery["vector"];
  readonly profile?: Profile;
  /** How much it counts in a fusion: as much as the other unless it is said. */
  readonly weight?: number;
}

/** The fields of texts and of lists of texts. */
type TextName<S extends AnySchema> = NameWith<S["fields"], "output", string | readonly string[]>;

/** What to retrieve. */
export interface RetrieveOptions<S extends AnySchema = AnySchema> extends RetrievalOptions {
  /** Conditions on fields, which every passage's document fulfils. */
  readonly where?: Condition | ((fields: ConditionsOf<S["fields"]>) => Condition);
  /** The fields that passages are taken from; all texts that are searched by their words unless it is said. */
  readonly from?: readonly TextName<S>[];
  /** How documents are found by words; `false`: they are not. */
  readonly text?: false | TextRetrieval<S["profiles"][number]>;
  /**
   * Finds documents by a vector too; `false`: it does not. Unless it is said, by the vector that the server makes, if the
   * schema has one such field.
   */
  readonly near?: false | NearRetrieval<NameWith<S["fields"], "kind", "vector">, S["profiles"][number]>;
  /**
   * For a list of texts, the feature that says how good each element is: a tensor with one mapped dimension, whose labels
   * are the numbers of elements, listed among the match or summary features of a profile.
   */
  readonly elementScores?: Readonly<Partial<Record<TextName<S>, string>>>;
  /** Time each search may take; 5 s by default. */
  readonly timeoutMs?: number;
}

type AnyQuery = Query<AnySchema, Readonly<Record<string, unknown>>>;

/** What retrieval asks of a group. */
export interface RetrievalSource {
  /** Sends a query, with further parameters. */
  run(query: AnyQuery): Promise<SearchResult<Readonly<Record<string, unknown>>>>;
  /** The fields of one document as they are stored; nothing if it is gone. */
  stored(documentId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

const OPTIONS = Object.keys({
  where: true,
  from: true,
  text: true,
  near: true,
  elementScores: true,
  timeoutMs: true,
  passages: true,
  passagesOfDocument: true,
  tokens: true,
  countTokens: true,
  candidates: true,
  floor: true,
  passageLength: true,
  fusion: true,
  rerank: true,
  rerankCount: true,
  signal: true,
} satisfies Readonly<Record<keyof RetrieveOptions, true>>);

/** Searches, and gives the passages for a question. */
export async function retrievePassages(
  schema: AnySchema,
  question: string,
  options: RetrieveOptions,
  source: RetrievalSource,
): Promise<Retrieved> {
  refuseUnknown("a retrieval", options, OPTIONS);
  const searches = searchesOf(schema, question, options, source);
  if (searches.length === 0) {
    const reason = question.trim() === "" ? "the question is empty" : "neither words nor a vector are asked for";
    throw invalidArgument(`nothing can be retrieved: ${reason}`);
  }
  try {
    return await retrieve(question, searches, options);
  } catch (error) {
    if (error instanceof ChatError) throw failureOfModel(error);
    throw error instanceof RangeError ? invalidArgument(error.message) : error;
  }
}

const NEIGHBOURS_MIN = 100;

function searchesOf(
  schema: AnySchema,
  question: string,
  options: RetrieveOptions,
  source: RetrievalSource,
): RetrievalSearch[] {
  const fields = textFields(schema, options.from);
  const scores = { ...madeScores(schema), ...options.elementScores };
  const reader = new TextReader(schema, fields, scores, source);
  const common = { fields, ...given({ where: options.where, timeoutMs: options.timeoutMs }) };
  const search = (name: string, { text, near, ...asked }: Asked): RetrievalSearch => ({
    name,
    run: async (page) => {
      // Deeper pages have further neighbours: what is too far is left out by the floor of passages.
      const targetHits = Math.max(NEIGHBOURS_MIN, page.limit + page.offset);
      const sides = given({ text, near: near === undefined ? undefined : { targetHits, ...near } });
      const written = query(schema, { ...common, ...asked, ...sides, ...page } as unknown as SearchOptions<AnySchema>);
      const parameters = { ...written.parameters, "presentation.bolding": false };
      const toJSON = (): Readonly<Record<string, unknown>> => ({ ...written.toJSON(), ...parameters });
      const { hits } = await source.run({ ...written, parameters, toJSON } as unknown as AnyQuery);
      return Promise.all(hits.map((hit) => reader.read(hit)));
    },
  });
  const { text, near } = sidesOf(schema, question, options);
  if (text !== undefined && near !== undefined && isOneSearch(schema, options, near.asked.field)) {
    const { distanceMax, similarityMin = -1 } = near.asked;
    const floor = distanceMax === undefined ? { similarityMin } : {};
    const hybrid = search("hybrid", { text: text.asked, near: { ...near.asked, ...floor } });
    return [{ ...hybrid, floor: HYBRID_FLOOR }];
  }
  const usual = weightOf(options.fusion);
  const sided = (name: "text" | "vector", { profile, weight = usual }: Side, asked: Asked): RetrievalSearch => ({
    ...search(name, { ...asked, ...given({ profile }) }),
    weight,
  });
  return [
    ...(text === undefined ? [] : [sided("text", text, { text: text.asked })]),
    ...(near === undefined ? [] : [sided("vector", near, { near: near.asked })]),
  ];
}

/** What a search is asked, beside what all are. */
interface Asked {
  readonly text?: TextQuery;
  readonly near?: NearQuery;
  readonly profile?: string;
}

/** What is said of one of the two searches. */
interface Side {
  readonly profile: string | undefined;
  readonly weight: number | undefined;
}

/** What is asked by words and by a vector; nothing of what is not asked for. */
function sidesOf(
  schema: AnySchema,
  question: string,
  options: RetrieveOptions,
): { readonly text?: Side & { readonly asked: TextQuery }; readonly near?: Side & { readonly asked: NearQuery } } {
  const { text = {} } = options;
  const near: false | NearRetrieval = options.near ?? madeVector(schema);
  const hasWords = question.trim() !== "";
  const sides: ReturnType<typeof sidesOf>[] = [];
  if (text !== false && hasWords) {
    const { profile, weight, ...how } = text;
    sides.push({ text: { profile, weight, asked: { query: question, ...how } } });
  }
  if (near !== false && (near.vector !== undefined || hasWords)) {
    const { profile, weight, vector, ...how } = near;
    sides.push({
      near: { profile, weight, asked: { ...how, ...(vector === undefined ? { text: question } : { vector }) } },
    });
  }
  return Object.assign({}, ...sides);
}

/** Whether one search by the schema's own ranking of both is all that is asked for. */
function isOneSearch(schema: AnySchema, options: RetrieveOptions, field: string): boolean {
  const { text, near, fusion, elementScores } = options;
  const isOfItsOwn = (side: false | Partial<Side> | undefined): boolean =>
    side !== undefined && side !== false && (side.profile !== undefined || side.weight !== undefined);
  // Scores of elements are those of the profiles of either side.
  const asksForTwo = isOfItsOwn(text) || isOfItsOwn(near) || fusion !== undefined || elementScores !== undefined;
  return !asksForTwo && schema.profiles.includes(hybridProfileName(field));
}

/** The vector that the server makes, of a schema with one. */
function madeVector(schema: AnySchema): false | NearRetrieval {
  const isVector = (name: string): boolean => schema.profiles.includes(nearProfileName(name));
  const made = Object.keys(schema.fields).filter((name) => schema.fields[name]?.definition.made !== undefined);
  const [field, ...others] = made.filter(isVector);
  return field === undefined || others.length > 0 ? false : { field };
}

function given<Members extends object>(
  members: Members,
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

/** Lists of pieces that the server makes of texts. */
function madeLists({ fields }: AnySchema): string[] {
  return Object.keys(fields).filter((name) => {
    const { made, type } = fields[name]?.definition ?? {};
    return made?.chunker !== undefined && type?.kind === "array";
  });
}

/** The features that score the pieces of each list: those of a vector of the same pieces. */
function madeScores(schema: AnySchema): Readonly<Record<string, string>> {
  const sameness = (name: string): string => {
    const { from, chunker } = schema.fields[name]?.definition.made ?? {};
    return chunker === undefined ? "" : JSON.stringify([from, chunker]);
  };
  const vectors = Object.keys(schema.fields).filter((name) => schema.profiles.includes(nearProfileName(name)));
  return Object.fromEntries(
    madeLists(schema).flatMap((list) => {
      const vector = vectors.find((name) => sameness(name) === sameness(list));
      return vector === undefined ? [] : [[list, chunkScoresName(vector)]];
    }),
  );
}

function textFields(schema: AnySchema, from: readonly string[] | undefined): string[] {
  const texts = textFieldsOf(schema.fields);
  const known = Object.keys(schema.fields);
  const stranger = from?.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw invalidArgument(`schema ${schema.name} has no field '${stranger}'${suggestion(stranger, known)}`);
  }
  if (from === undefined && texts.length === 0) {
    throw invalidArgument(`schema ${schema.name} has no text to take passages from: declare a text() field`);
  }
  return [...(from ?? [...texts, ...madeLists(schema)])];
}

/** Takes the texts out of hits, each as it is stored. */
class TextReader {
  readonly #fields: readonly string[];
  readonly #scores: Readonly<Record<string, string | undefined>>;
  readonly #source: RetrievalSource;
  /** Fields of which hits show a teaser, so that their text must be fetched. */
  readonly #teasers: readonly string[];

  constructor(
    schema: AnySchema,
    fields: readonly string[],
    scores: Readonly<Record<string, string | undefined>>,
    source: RetrievalSource,
  ) {
    this.#fields = fields;
    this.#scores = scores;
    this.#source = source;
    this.#teasers = fields.filter((name) => schema.fields[name]?.definition.settings.includes("summary: dynamic"));
  }

  async read(hit: Hit<Readonly<Record<string, unknown>>>): Promise<FoundTexts> {
    const { id: documentId, relevance } = hit;
    const stored = this.#teasers.length === 0 ? undefined : await this.#source.stored(documentId);
    const teased = Object.fromEntries(this.#teasers.map((name) => [name, stored?.[name]]));
    const { matchFeatures, summaryFeatures } = hit as HitFeatures;
    const shown = { fields: { ...hit.fields, ...teased }, features: { ...matchFeatures, ...summaryFeatures } };
    return { documentId, relevance, texts: textsOfHit(shown, this.#fields, this.#scores) };
  }
}
