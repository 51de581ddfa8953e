/** Which rank features hits have, read off the profiles of a schema and off the search. Nothing here exists when the program runs. */
import type { FieldMap, ShapeOf } from "../schema/field.ts";
import type { TextFieldName } from "../schema/infer.ts";
import type { FeatureValue, HitFeatures, IsOpen, OpenFeatures, WithoutSpaces } from "../schema/ranking.ts";

/** Features that are numbers whatever they are of. */
type NumberFeature =
  | "age"
  | "bm25"
  | "closeness"
  | "distance"
  | "fieldLength"
  | "fieldMatch"
  | "fieldTermMatch"
  | "freshness"
  | "matchCount"
  | "nativeFieldMatch"
  | "nativeRank";

/** The value of a feature, by its name. */
type ValueOfFeature<Key extends string> = Key extends `${NumberFeature}(${string}` ? number : FeatureValue;

/** Whether a schema is any: then nothing is known of its profiles. */
type IsAny<Profiles> = string extends keyof Profiles ? true : false;

/** What the made `default` shows: what each text is worth. */
type DefaultFeatures<Fields extends FieldMap> = [TextFieldName<Fields>] extends [never]
  ? undefined
  : { readonly [Name in TextFieldName<Fields> as `bm25(${Name})`]: number };

/** What the made profiles of a vector show. Words are looked for if the text that is asked for has any. */
type NearFeatures<Fields extends FieldMap, Near> = Near extends keyof Fields & string
  ? { readonly [Key in "similarity" | `closeness(field,${Near})`]: number } & ([TextFieldName<Fields>] extends [never]
      ? unknown
      : { readonly words?: number }) &
      (ShapeOf<Fields[Near]>["output"] extends Readonly<Record<string, unknown>>
        ? { readonly [Key in `${Near}_chunks`]: FeatureValue }
        : unknown)
  : never;

/** The features a hit ranked by this profile has, by name. Profiles take what they do not say from `default`. */
export type FeaturesOf<
  Profiles,
  Name,
  List extends "matchFeatures" | "summaryFeatures",
  Fields extends FieldMap = FieldMap,
> = [Name] extends [never]
  ? OpenFeatures
  : IsAny<Profiles> extends true
    ? OpenFeatures
    : Name extends keyof Profiles
      ? IsOpen<Profiles, Name> extends true
        ? OpenFeatures
        : Profiles[Name] extends { readonly [Key in List]: readonly (infer Feature extends string)[] }
          ? string extends Feature
            ? OpenFeatures
            : { readonly [Key in Feature as WithoutSpaces<Key>]: ValueOfFeature<WithoutSpaces<Key>> }
          : Profiles[Name] extends { readonly inherits: infer Parent }
            ? Parent extends string
              ? FeaturesOf<Profiles, Parent, List, Fields>
              : Parent extends readonly []
                ? undefined
                : OpenFeatures
            : Name extends "default"
              ? undefined
              : FeaturesOf<Profiles, "default", List, Fields>
      : Name extends "default"
        ? List extends "matchFeatures"
          ? DefaultFeatures<Fields>
          : undefined
        : Name extends "unranked"
          ? undefined
          : OpenFeatures;

type Member<Name extends string, Value> = undefined extends Value
  ? { readonly [Key in Name]?: Exclude<Value, undefined> }
  : { readonly [Key in Name]: Value };

/** The features of a hit that this profile ranks. */
export type HitFeaturesOf<Profiles, Name, Fields extends FieldMap = FieldMap> = Member<
  "matchFeatures",
  FeaturesOf<Profiles, Name, "matchFeatures", Fields>
> &
  Member<"summaryFeatures", FeaturesOf<Profiles, Name, "summaryFeatures", Fields>>;

/**
 * The features of a hit of a search: of the profile that it names, or of the one that is chosen for it. That is a made one for
 * what is near, and otherwise `default`, unless there are no words and an order is asked for.
 */
export type ChosenFeatures<Profiles, Fields extends FieldMap, Profile, Near, Ordering> = [Profile] extends [never]
  ? IsAny<Profiles> extends true
    ? HitFeatures
    : [Near] extends [never]
      ? [Ordering] extends [never]
        ? HitFeaturesOf<Profiles, "default", Fields>
        : Partial<HitFeaturesOf<Profiles, "default", Fields>>
      : [keyof Profiles & (`near_${Near & string}` | `hybrid_${Near & string}`)] extends [never]
        ? { readonly matchFeatures: NearFeatures<Fields, Near> } & Member<
            "summaryFeatures",
            FeaturesOf<Profiles, "default", "summaryFeatures", Fields>
          >
        : HitFeatures
  : HitFeaturesOf<Profiles, Profile, Fields>;
