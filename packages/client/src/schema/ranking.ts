/**
 * Types of ranking, read off the profiles of a schema: which features a hit has, and what a profile is given. Nothing
 * here exists when the program runs.
 */
import type { FieldMap } from "./field.ts";
import type { NameWith } from "./infer.ts";
import type { Profile } from "./profile.ts";
import type { Numbers } from "./tensor.ts";

/** A feature of a hit: a number, or a tensor as the server writes it. */
export type FeatureValue = number | Readonly<Record<string, unknown>>;

/** What ranking tells of a hit, where the type of the search does not say which numbers. */
export interface HitFeatures {
  /** The numbers the profile's `matchFeatures` ask for. */
  readonly matchFeatures?: Readonly<Record<string, FeatureValue>>;
  /** The numbers the profile's `summaryFeatures` ask for. */
  readonly summaryFeatures?: Readonly<Record<string, FeatureValue>>;
}

/** Profiles by name. */
export type ProfileMap = Readonly<Record<string, Profile>>;

/** Rank features whose first parameter is a field. */
type FieldFeature =
  | "age"
  | "attribute"
  | "attributeMatch"
  | "averageFieldLength"
  | "bm25"
  | "bm25_for_labels"
  | "closest"
  | "distanceToPath"
  | "dotProduct"
  | "elementCompleteness"
  | "elementSimilarity"
  | "euclideanDistance"
  | "fieldInfo"
  | "fieldLength"
  | "fieldMatch"
  | "fieldTermMatch"
  | "flowCompleteness"
  | "freshness"
  | "jaroWinklerDistance"
  | "matchCount"
  | "matches"
  | "nativeDotProduct"
  | "proximity"
  | "queryCompleteness"
  | "queryTermDocumentFrequency"
  | "rawScore"
  | "reverseProximity"
  | "termDistance"
  | "termEditDistance"
  | "termFieldMd"
  | "textSimilarity";

/** Rank features whose parameters are none, or something else. */
type OtherFeature =
  | "closeness"
  | "constant"
  | "customTokenInputIds"
  | "distance"
  | "elementwise"
  | "firstPhase"
  | "firstPhaseRank"
  | "foreach"
  | "globalSequence"
  | "itemRawScore"
  | "lightgbm"
  | "match"
  | "matches_for_labels"
  | "maxReduceProdJoin"
  | "nativeAttributeMatch"
  | "nativeFieldMatch"
  | "nativeProximity"
  | "nativeRank"
  | "now"
  | "num_docs"
  | "num_docs_indexed"
  | "onnx"
  | "query"
  | "queryTermCount"
  | "random"
  | "randomNormal"
  | "randomNormalStable"
  | "rankingExpression"
  | "relevanceScore"
  | "secondPhase"
  | "subqueries"
  | "tensorFromLabels"
  | "tensorFromLabelsWithOffset"
  | "tensorFromStructs"
  | "tensorFromWeightedSet"
  | "term"
  | "tokenAttentionMask"
  | "tokenInputIds"
  | "tokenTypeIds"
  | "value"
  | "xgboost";

/** A text without spaces: features are shown so. */
export type WithoutSpaces<Text extends string> = Text extends `${infer Before} ${infer After}`
  ? WithoutSpaces<`${Before}${After}`>
  : Text;

type Before<Text extends string, Mark extends string> = Text extends `${infer Head}${Mark}${string}` ? Head : Text;

/** Functions of a profile, by name, without their parameters. */
type FunctionsOf<Own> = Own extends { readonly functions: infer All } ? Before<keyof All & string, "("> : never;

/** Functions of all own profiles, and those that made profiles have. */
type KnownFunction<Profiles> =
  | { [Name in keyof Profiles]: FunctionsOf<Profiles[Name]> }[keyof Profiles]
  | "words"
  | "words_scaled";

/** What is wrong, for who reads the compiler's message: beside a text it stays, where another text would make `never` of the whole. */
type Wrong<Sentence extends string> = { readonly wrong: Sentence };

/** The feature, if it is one, or else what is wrong with it. */
type CheckedFeature<Feature extends string, Fields, Functions> = string extends Feature
  ? Feature
  : WithoutSpaces<Feature> extends `${infer Name}(${infer Parameters})${string}`
    ? Name extends FieldFeature
      ? Before<Before<Parameters, ",">, "."> extends (keyof Fields & string) | `field:${keyof Fields & string}`
        ? Feature
        : Wrong<`there is no field '${Before<Before<Parameters, ",">, ")">}'`>
      : Name extends OtherFeature | Functions
        ? Feature
        : Wrong<`there is no rank feature or function '${Name}'`>
    : Before<WithoutSpaces<Feature>, "."> extends FieldFeature | OtherFeature | Functions
      ? Feature
      : Wrong<`there is no rank feature or function '${Feature}'`>;

type CheckedList<List, Fields, Functions> = {
  readonly [Index in keyof List]: CheckedFeature<List[Index] & string, Fields, Functions>;
};

/** Profiles whose lists of features name fields, functions and features that there are. */
export type CheckedProfiles<Profiles, Fields extends FieldMap> = {
  readonly [Name in keyof Profiles]: {
    readonly [Key in keyof Profiles[Name]]: Key extends "matchFeatures" | "summaryFeatures"
      ? CheckedList<Profiles[Name][Key], Fields, KnownFunction<Profiles>>
      : Profiles[Name][Key];
  };
};

/** Features by name, where only the server knows which. */
export type OpenFeatures = Readonly<Record<string, FeatureValue>> | undefined;

/** What a profile inherits from, if that is one of the schema's own. */
type ParentOf<Profile> = Profile extends { readonly inherits: infer Parent extends string } ? Parent : never;

/** A value for the ranking: a number, a vector, or a tensor as the server writes and reads it. */
export type InputValue = number | string | Numbers | Readonly<Record<string, unknown>>;

/** Cells of one type in an array whose length is not part of its type. */
type TypedNumbers = Float32Array | Float64Array | Int8Array;

type Tuple<Size extends number, Built extends readonly number[] = []> = Built["length"] extends Size
  ? Built
  : Tuple<Size, readonly [...Built, number]>;

/** Sizes up to which a list of numbers must have as many as the dimension. */
type Short = 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14 | 15 | 16;

/** A row of that many numbers. The size of long ones is checked when they are sent. */
type Row<Size extends string> = Size extends `${infer Count extends number}`
  ? (Count extends Short ? Tuple<Count> : readonly number[]) | TypedNumbers
  : Numbers;

/** Dimensions, as they are written between the parentheses. */
type Dimensions<Text extends string> = Text extends `${infer First},${infer Rest}`
  ? [First, ...Dimensions<Rest>]
  : [Text];

type DimensionName<Dimension extends string> = Before<Before<Dimension, "{">, "[">;

/** Cells with their addresses, which name all dimensions. */
interface Cells<Name extends string> {
  readonly cells: readonly { readonly address: Readonly<Record<Name, string | number>>; readonly value: number }[];
}

/** A tensor of these dimensions. */
type TensorInput<List extends readonly string[]> = List extends readonly [infer Only extends string]
  ? Only extends `${string}[${infer Size}]`
    ? Row<Size> | { readonly values: Row<Size> } | Cells<DimensionName<Only>>
    : Readonly<Record<string, number>> | Cells<DimensionName<Only>>
  : List extends
        | readonly [`${string}{}`, `${string}[${infer Size}]`]
        | readonly [`${string}[${infer Size}]`, `${string}{}`]
    ?
        | Readonly<Record<string, Row<Size>>>
        | { readonly blocks: Readonly<Record<string, Row<Size>>> }
        | Cells<DimensionName<List[number]>>
    : Cells<DimensionName<List[number]>> | { readonly values: Numbers } | { readonly blocks: readonly unknown[] };

/** What an input of a declared type is given. A text is taken as the server reads it: `embed(…)`, a tensor as text. */
export type InputOf<Type extends string> =
  WithoutSpaces<Type> extends `tensor${string}(${infer Inside})`
    ? TensorInput<Dimensions<Inside>> | string
    : Type extends "string"
      ? string
      : number;

/** The inputs a profile declares, or inherits from another of the schema's own. */
type DeclaredInputs<Profiles, Name> = [Name] extends [never]
  ? unknown
  : Name extends keyof Profiles
    ? (Profiles[Name] extends { readonly inputs: infer Inputs } ? Inputs : unknown) &
        DeclaredInputs<Profiles, ParentOf<Profiles[Name]>>
    : unknown;

/** Whether nothing is known of a profile but that it is one. */
export type IsOpen<Profiles, Name> = Name extends keyof Profiles
  ? Profile extends Profiles[Name]
    ? true
    : false
  : true;

/** What a search by this profile may be given for its inputs: those it declares, and the vectors to be near to. */
export type InputsOf<Profiles, Name, Fields extends FieldMap> = [Name] extends [never]
  ? Readonly<Record<string, InputValue>>
  : IsOpen<Profiles, Name> extends false
    ? {
        readonly [Key in keyof DeclaredInputs<Profiles, Name>]?: InputOf<DeclaredInputs<Profiles, Name>[Key] & string>;
      } & { readonly [Key in NameWith<Fields, "kind", "vector">]?: Numbers }
    : Readonly<Record<string, InputValue>>;
