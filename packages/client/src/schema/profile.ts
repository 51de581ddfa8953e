/**
 * How hits are scored. A profile is written as one in a schema file is; those of a schema that says nothing are made
 * here: words by bm25, vectors by closeness, both by words and cosine together (docs/decisions/0039).
 */

import { chunkScoresName, hybridProfileName, nearProfileName } from "@brooklet/answers/search";
import { type AnalysisOptions, analysisOf } from "./analysis.ts";
import { type CellType, type DataType, tensorTypeText } from "./data-type.ts";
import type { FieldDefinition, FieldMap } from "./field.ts";
import { similarityOf } from "./similarity.ts";

/** A formula of the ranking language, as in `"bm25(subject) + 2 * bm25(body)"`. */
export type Expression = string;

/** An ONNX model that ranks. */
export type OnnxModel = OnnxModelPlace & OnnxModelSettings;

/** Where an ONNX model is. */
export type OnnxModelPlace =
  /** Its file in the application (`deploy(…, { files })`). */
  | { readonly file: string }
  /** Its address, from which `brooklet model pull` downloaded it for the server; a deploy downloads nothing. */
  | { readonly url: string };

/** What an ONNX model is given, and what it gives. */
export interface OnnxModelSettings {
  /** What each input of the model is. One that is not listed is the function, field or query input of its name. */
  readonly inputs?: Readonly<Record<string, Expression>>;
  /** Names for outputs of the model: `{ logits: "score" }` is `onnx(name).score`. The first one needs none. */
  readonly outputs?: Readonly<Record<string, string>>;
  /** Threads of a run; unless it is said, they adapt to the load. */
  readonly threads?: number;
}

/** A profile. Every name in it means what it means in a schema file. */
export interface Profile {
  /** Profiles to take everything else from; `default` unless said otherwise, `[]` for none. Of several, one may come of `default`. */
  readonly inherits?: string | readonly string[];
  /** What a query may or must give, by name: `double`, or the type of a tensor. */
  readonly inputs?: Readonly<Record<string, string>>;
  readonly constants?: Readonly<Record<string, number>>;
  /** Rank properties: settings of features, by name. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Formulas by name (or by name and parameters: `"scaled(x)"`). */
  readonly functions?: Readonly<Record<string, Expression>>;
  readonly firstPhase?: Expression;
  readonly secondPhase?: Expression;
  /** Scores the best hits anew, once those of all are known: the place for models. The best 100, unless it is said. */
  readonly globalPhase?: Expression | { readonly expression: Expression; readonly rerankCount?: number };
  /** ONNX models by name, `onnx(name)` in expressions. */
  readonly onnxModels?: Readonly<Record<string, OnnxModel>>;
  /** Numbers to return with every hit, in `matchFeatures`. */
  readonly matchFeatures?: readonly string[];
  /** Numbers to return with every hit, in `summaryFeatures`. */
  readonly summaryFeatures?: readonly string[];
}

/** A vector field, as far as ranking goes. */
interface Vector {
  readonly name: string;
  /** Type of the vector a query gives. */
  readonly inputType: string;
  /** Whether each piece of a text has one. */
  readonly isOfChunks: boolean;
  /** The expression that says how similar the query's and the document's are. */
  readonly similarity: string;
}

/**
 * The profiles of a schema: what it says itself, and for what it does not say, the made ones. `default` declares the
 * query vectors, so that whatever inherits from it can be used with `near`.
 */
export function profilesOf(
  fields: FieldMap,
  own: Readonly<Record<string, Profile>>,
  analysis: AnalysisOptions = {},
): ReadonlyMap<string, Profile> {
  const words = textFieldsOf(fields);
  const vectors = Object.entries(fields).flatMap(([name, field]) => vectorOf(name, field.definition));
  const profiles = new Map<string, Profile>([["default", defaultProfile(words, vectors)]]);
  for (const { name, isOfChunks, similarity } of vectors) {
    const closeness = `closeness(field, ${name})`;
    const near = { functions: { similarity }, firstPhase: closeness, matchFeatures: ["similarity", closeness] };
    profiles.set(nearProfileName(name), isOfChunks ? withChunks(name, near) : near);
    if (words.length === 0) continue;
    const hybrid = hybridProfile(words, similarity, closeness);
    profiles.set(hybridProfileName(name), isOfChunks ? withChunks(name, hybrid) : hybrid);
  }
  for (const [name, profile] of Object.entries(own)) profiles.set(name, profile);
  const settings = analysisOf(fields, words.length > 0, analysis);
  for (const [name, profile] of profiles)
    if (parentsOf(name, profile).every((of) => of === "unranked")) profiles.set(name, withSettings(profile, settings));
  return profiles;
}

/** Says with every hit how near each piece is: the product of the vectors, which orders those of one length rightly. */
function withChunks(field: string, profile: Profile): Profile {
  const scores = chunkScoresName(field);
  return {
    ...profile,
    functions: { ...profile.functions, [scores]: `reduce(query(${field}) * attribute(${field}), sum, x)` },
    matchFeatures: [...(profile.matchFeatures ?? []), scores],
  };
}

/** The profiles a profile takes everything else from. */
export function parentsOf(name: string, profile: Profile): readonly string[] {
  const inherits = profile.inherits ?? (name === "default" ? [] : "default");
  return typeof inherits === "string" ? [inherits] : inherits;
}

/**
 * The inputs that a query may give a profile: those that it and the profiles it inherits from declare or read, and the vectors to be near
 * to. Nothing where only the server knows: one of those profiles, or an expression, is not here.
 */
export function inputsOf(
  {
    fields,
    profiles,
    ranking,
  }: {
    readonly fields: FieldMap;
    readonly profiles: readonly string[];
    readonly ranking: Readonly<Record<string, Profile>>;
  },
  name: string,
): readonly string[] | undefined {
  const names = new Set([name]);
  // A set is walked to its end, also to what is added on the way.
  for (const at of names) for (const parent of parentsOf(at, ranking[at] ?? {})) names.add(parent);
  const own = [...names].map((at) => ranking[at]);
  const text = JSON.stringify(own);
  if (text.includes('"file:') || ![...names].every((at) => profiles.includes(at))) return undefined;
  return [
    ...own.flatMap((profile) => Object.keys(profile?.inputs ?? {})),
    ...Array.from(text.matchAll(/\bquery\(\s*([^\s)]+)/g), ([, input]) => input as string),
    ...Object.keys(fields).filter((field) => fields[field]?.definition.type.kind === "tensor"),
  ];
}

/**
 * bm25 counts the group's own documents, unless it is told not to, and words are understood as the schema says. Profiles
 * that inherit from this one do so too.
 */
function withSettings(profile: Profile, settings: Readonly<Record<string, string>>): Profile {
  return { ...profile, properties: { "brooklet.statistics": "group", ...settings, ...profile.properties } };
}

function defaultProfile(words: readonly string[], vectors: readonly Vector[]): Profile {
  const features = words.map(bm25);
  return {
    inherits: [],
    ...(vectors.length === 0 ? {} : { inputs: Object.fromEntries(vectors.map((it) => [it.name, it.inputType])) }),
    ...(words.length === 0 ? {} : { firstPhase: features.join(" + "), matchFeatures: features }),
  };
}

/** What words and vectors count; nearly as much as each other. */
const WORDS_WEIGHT = 0.45;
const VECTOR_WEIGHT = 0.55;
/** The score of words at which they count half of what they can. */
const HALF_SCORE = 20;
/** Above 1, so that a few common words in passing count for next to nothing. */
const STEEPNESS = 1.5;

/**
 * bm25 has no upper bound, so it is brought between 0 and 1, where the cosine is. The numbers are those that lose to neither
 * side alone on any of the judged sets (docs/decisions/0039).
 */
function hybridProfile(words: readonly string[], similarity: string, closeness: string): Profile {
  const half = Number((HALF_SCORE ** STEEPNESS).toFixed(3));
  return {
    functions: {
      words: words.map(bm25).join(" + "),
      words_scaled: `pow(words, ${STEEPNESS}) / (pow(words, ${STEEPNESS}) + ${half})`,
      similarity,
    },
    firstPhase: `${WORDS_WEIGHT} * words_scaled + ${VECTOR_WEIGHT} * similarity`,
    matchFeatures: ["words", "similarity", closeness],
  };
}

function bm25(field: string): string {
  return `bm25(${field})`;
}

function isText(type: DataType | undefined, indexing: readonly string[] = []): boolean {
  if (type === undefined || !indexing.includes("index")) return false;
  return type.kind === "array" ? isText(type.element, indexing) : type.kind === "primitive" && type.name === "string";
}

/** Fields of texts that are searched by word, but for those that the server makes of others. */
export function textFieldsOf(fields: FieldMap): string[] {
  return Object.keys(fields).filter((name) => {
    const { type, indexing, made } = fields[name]?.definition ?? {};
    return made === undefined && isText(type, indexing);
  });
}

function vectorOf(name: string, { type, made, metric }: FieldDefinition): Vector[] {
  if (type.kind !== "tensor") return [];
  const isOfChunks = made?.chunker !== undefined;
  const sized = Object.entries(type.dimensions).filter(([, size]) => !isOfChunks || size !== "mapped");
  const [[, size] = []] = sized;
  if (sized.length !== 1 || size === undefined || size === "mapped") return [];
  const inputType = tensorTypeText(inputCell(type.cell), Object.fromEntries(sized));
  return [{ name, inputType, isOfChunks, similarity: similarityOf(name, { cell: type.cell, size, metric }) }];
}

/** A query's vector is at least as precise as the stored ones; bits are compared as they are. */
function inputCell(cell: CellType): CellType {
  return cell === "bfloat16" ? "float" : cell;
}
