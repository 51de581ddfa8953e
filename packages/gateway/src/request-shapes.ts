/**
 * What the routes of our own may be asked. The message of each part is what it expects, as the end of "expected …"; that of
 * an object with strange members the names of those it may have.
 */
import type { AskedSearch, AskedVector, RetrievalRequest, TextQuery } from "@brooklet/answers";
import * as z from "zod";
import { isTimeSpan } from "./parameters.ts";

/** What a request to one group names. */
interface OfGroup {
  readonly group: string;
  readonly schema: string;
}

/** The body of a retrieval: what the SDK's may say, but for what is a function there. */
export interface RetrievalBody extends OfGroup, Omit<RetrievalRequest, "countTokens" | "rerank" | "signal"> {
  readonly question: string;
  /** Whether the reranker of the server orders the best passages anew. */
  readonly rerank?: boolean;
}

/** The body of a search by what a person typed. */
export interface SearchBody extends OfGroup, Omit<AskedSearch, "text" | "near" | "fields" | "limit" | "offset"> {
  /** What a person typed, and how to take it. */
  readonly text: string | TextQuery;
  /** Unless it is said, the vector that the server makes, if the schema has one such field. */
  readonly near?: false | AskedVector;
  readonly limit?: number;
  readonly offset?: number;
}

/** The parameters of a feed. */
export interface FeedParameters {
  readonly timeout?: string;
  /** The only content cluster that is written. */
  readonly cluster?: string;
}

/** A name that is put into a query. */
const NAME = /^[A-Za-z_][\w.]*$/;
const EMBEDDER = /^[\w.-]+$/;

const name = (what: string): z.ZodString => z.string({ error: what }).regex(NAME, { error: what });
const texts = (what: string): z.ZodString => z.string({ error: what }).min(1, { error: what });
const flag = z.boolean({ error: "true or false" });

function count(least: number, most: number = Number.MAX_SAFE_INTEGER): z.ZodNumber {
  const error = most === Number.MAX_SAFE_INTEGER ? `an integer from ${least}` : `an integer from ${least} to ${most}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

function number(least: number, most: number = Number.MAX_VALUE): z.ZodNumber {
  const error = most === Number.MAX_VALUE ? `a number from ${least}` : `a number from ${least} to ${most}`;
  return z.number({ error }).min(least, { error }).max(most, { error });
}

function choice<const Ways extends readonly [string, ...string[]]>(
  ways: Ways,
): z.ZodEnum<{ [Way in Ways[number]]: Way }> {
  return z.enum(ways, { error: ways.map((way) => JSON.stringify(way)).join(" or ") });
}

/** An object of these members and no others. */
function object<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape).join(", ");
  return z.strictObject(shape, { error: ({ code }) => (code === "unrecognized_keys" ? known : "an object") });
}

function orFalse<Shape extends z.ZodType>(shape: Shape): z.ZodUnion<[z.ZodLiteral<false>, Shape]> {
  return z.union([z.literal(false), shape], { error: "an object, or false" });
}

const GROUP = {
  group: texts("the name of a group"),
  schema: name("the name of a schema"),
  filter: texts("a condition in YQL").exactOptional(),
  timeoutMs: number(0).exactOptional(),
};

const WORDS = {
  in: name("the name of a field or field set").exactOptional(),
  match: choice(["any", "all"]).exactOptional(),
  language: choice(["words", "simple"]).exactOptional(),
  asYouType: flag.exactOptional(),
  typos: flag.exactOptional(),
};

const VECTOR = {
  field: name("the name of a field"),
  input: name("the name of an input of the profile").exactOptional(),
  vector: z
    .array(z.number({ error: "a number" }), { error: "a list of numbers" })
    .min(1, { error: "a list of numbers" })
    .exactOptional(),
  embedder: z
    .string({ error: "the name of an embedder" })
    .regex(EMBEDDER, { error: "the name of an embedder" })
    .exactOptional(),
  targetHits: count(1).exactOptional(),
  distanceMax: z.number({ error: "a number" }).exactOptional(),
  similarityMin: number(-1, 1).exactOptional(),
};

const SIDE = {
  profile: name("the name of a rank profile").exactOptional(),
  weight: number(0).exactOptional(),
};

/** Each passage is compared with those that are kept, and all are held at once: more, or shorter ones, would be the server's time and memory. */
const PASSAGES_MAX = 400;
const PASSAGE_LENGTH_MIN = 50;

/** The body of `POST /brooklet/v1/retrieve`. */
export const RETRIEVAL: z.ZodType<RetrievalBody> = object({
  ...GROUP,
  question: texts("a text"),
  from: z
    .array(name("the name of a field"), { error: "a list of names of fields" })
    .min(1, { error: "a list of names of fields" })
    .exactOptional(),
  text: orFalse(object({ ...WORDS, ...SIDE })).exactOptional(),
  near: orFalse(object({ ...VECTOR, ...SIDE })).exactOptional(),
  elementScores: z
    .record(z.string(), texts("the name of a feature"), { error: "an object of names of features" })
    .exactOptional(),
  passages: count(1, PASSAGES_MAX).exactOptional(),
  passagesOfDocument: count(1, PASSAGES_MAX).exactOptional(),
  tokens: number(0).exactOptional(),
  candidates: count(1).exactOptional(),
  floor: number(0, 1).exactOptional(),
  passageLength: count(PASSAGE_LENGTH_MIN).exactOptional(),
  fusion: choice(["relativeScore", "reciprocalRank"]).exactOptional(),
  rerank: flag.exactOptional(),
  rerankCount: count(1, PASSAGES_MAX).exactOptional(),
});

/** The body of `POST /brooklet/v1/search`. */
export const SEARCH: z.ZodType<SearchBody> = object({
  ...GROUP,
  text: z.union([texts("a text"), object({ query: texts("a text"), ...WORDS })], { error: "a text, or an object" }),
  near: orFalse(object(VECTOR)).exactOptional(),
  matchBy: choice(["either", "words", "neighbours", "both"]).exactOptional(),
  profile: SIDE.profile,
  limit: count(0).exactOptional(),
  offset: count(0).exactOptional(),
});

const TIME = "a time span such as 500ms, 10s or 10";

/** The parameters of a list of groups. */
export interface GroupsParameters {
  readonly wantedGroupCount?: string;
  readonly continuation?: string;
}

const PAGE_MAX = 1_000;
const PAGE_COUNT = `a whole number from 1 to ${PAGE_MAX}`;

/** How many there are to be of a page. */
function pageCount(): z.ZodString {
  return z
    .string({ error: PAGE_COUNT })
    .refine((text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= PAGE_MAX, { error: PAGE_COUNT });
}

/** A list of groups. */
export const GROUPS_PARAMETERS: z.ZodType<GroupsParameters> = object({
  wantedGroupCount: pageCount().exactOptional(),
  continuation: texts("a continuation of a list of groups").exactOptional(),
});

/** The parameters of the tail of a group. */
export interface TailParameters {
  readonly wantedOperationCount?: string;
  readonly selection?: string;
  readonly continuation?: string;
}

/** The tail of a group. */
export const TAIL_PARAMETERS: z.ZodType<TailParameters> = object({
  wantedOperationCount: pageCount().exactOptional(),
  selection: texts("a document selection").exactOptional(),
  continuation: texts("a continuation of the tail of a group").exactOptional(),
});

/** The parameters of `POST /brooklet/v1/feed`. */
export const FEED_PARAMETERS: z.ZodType<FeedParameters> = object({
  timeout: z.string({ error: TIME }).refine(isTimeSpan, { error: TIME }).exactOptional(),
  cluster: texts("the id of a content cluster").exactOptional(),
});

/** The parameters of a route that takes none. */
export const NO_PARAMETERS: z.ZodType<object> = object({});
