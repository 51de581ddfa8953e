/** Retrieval as the SDK says it: what is asked is checked against the schema, and handed to the one retrieval there is. */
import {
  ChatError,
  type RetrievalOptions,
  type RetrievalRequest,
  type RetrievalSource,
  type Retrieved,
  retrievePassages as retrieve,
  type VectorSide,
  type WordSide,
} from "@brooklet/answers";
import { membersThere } from "@brooklet/wire";
import type { Condition } from "../condition.ts";
import { demandKind, invalidArgument, type Kind, refuseUnknown } from "../error.ts";
import { checkedVector, checkText, filterText } from "../query.ts";
import type { ConditionsOf, NameWith } from "../schema/infer.ts";
import type { AnySchema } from "../schema/schema.ts";
import { searchedSchema } from "../schema/searched-schema.ts";
import type { NearQuery } from "../search-options.ts";
import { failureOfModel } from "./model-failure.ts";

/** How documents are found by words. With a profile or a weight of its own it is a search of its own, and fused. */
export interface TextRetrieval<Profile extends string = string> extends Omit<WordSide, "profile"> {
  readonly profile?: Profile;
}

/**
 * How documents are found by a vector: one that is given, or that of the question, made by the server's embedder. With a
 * profile or a weight of its own it is a search of its own, and fused.
 */
export interface NearRetrieval<VectorName extends string = string, Profile extends string = string>
  extends Omit<VectorSide, "field" | "input" | "vector" | "profile"> {
  readonly field: VectorName;
  /** The vector of the question. */
  readonly vector?: NearQuery["vector"];
  readonly profile?: Profile;
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
}

const OPTIONS = {
  where: true,
  from: "a list",
  text: true,
  near: true,
  elementScores: true,
  timeoutMs: true,
  passages: true,
  passagesOfDocument: true,
  tokens: true,
  countTokens: "a function",
  candidates: true,
  floor: true,
  passageLength: true,
  fusion: true,
  rerank: "a function",
  rerankCount: true,
  signal: true,
} satisfies Readonly<Record<keyof RetrieveOptions, Kind>>;

/** Searches, and gives the passages for a question. */
export async function retrievePassages(
  schema: AnySchema,
  question: string,
  options: RetrieveOptions,
  source: RetrievalSource,
): Promise<Retrieved> {
  refuseUnknown("a retrieval", options, OPTIONS);
  demandKind("question", question, "a text");
  const { where, text, near, ...others } = options;
  for (const [name, side] of Object.entries({ text, near }))
    if (side !== undefined && side !== false) demandKind(name, side, "an object");
  const request: RetrievalRequest = {
    ...others,
    ...membersThere({
      filter: where === undefined ? where : filterText(schema, where),
      text: text && checkedSide(schema, text),
      near: near && checkedNear(schema, near),
    }),
  };
  try {
    return await retrieve(searchedSchema(schema), question, request, source);
  } catch (error) {
    if (ChatError.is(error)) throw failureOfModel(error);
    throw error instanceof RangeError ? invalidArgument(error.message) : error;
  }
}

function checkedSide(schema: AnySchema, side: TextRetrieval): TextRetrieval {
  const { profile, weight, ...how } = side;
  checkText(schema, { query: "", ...how });
  return side;
}

function checkedNear(schema: AnySchema, near: NearRetrieval): VectorSide {
  return near.vector === undefined
    ? near
    : { ...near, vector: checkedVector(schema, { ...near, vector: near.vector }) };
}
