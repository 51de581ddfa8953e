/** Fields that hold several values: lists, weighted sets, maps, and structs. */
import type { Condition } from "../condition.ts";
import { demandKind, excerpt, invalidArgument, refuseUnknown } from "../error.ts";
import { arrayCodec, INT, mapValues, objectCodec, partOf, recordCodec } from "./codec.ts";
import type { StructType } from "./data-type.ts";
import {
  type Field,
  type FieldDefinition,
  type FieldMap,
  type FieldShape,
  type KeyField,
  type ListedField,
  makeField,
  type ShapeOf,
  type WeighedField,
} from "./field.ts";
import type {
  ElementConditions,
  IndexConditions,
  MapConditions,
  PositionConditions,
  ValueConditions,
  WordsOf,
} from "./field-condition.ts";
import type { ConditionsOf, DocumentInputOf, DocumentOf } from "./infer.ts";

/** What a field is in a schema file that another is made of; refuses what is no field, such as `array(string)`. */
function definitionIn(maker: string, field: Field): FieldDefinition {
  if (typeof field?.definition === "object") return field.definition;
  throw invalidArgument(
    `${maker}() is made of fields, and ${excerpt(field)} is none: make one with string(), int() and their kin`,
  );
}

/** Refuses marks where hits have none: the text as it was written would be taken for HTML. */
function unmarked(definition: FieldDefinition): FieldDefinition {
  if (definition.settings.some((setting) => /^(bolding|summary):/.test(setting)))
    throw invalidArgument("'show' has no effect in structs, maps and lists of lists: their texts are shown whole");
  return definition;
}

/** What is not searched itself. */
const STORED = { indexing: ["summary"], settings: [] } as const;

type Collection<Output, Input, Conditions, Kind extends FieldShape["kind"] = "other"> = Field<{
  readonly kind: Kind;
  readonly output: Output;
  readonly input: Input;
  readonly optional: false;
  readonly inHits: true;
  readonly conditions: Conditions;
}>;

/** What lists offer beside what their elements do. */
type ListConditions<Words, Value> = IndexConditions<Value> &
  ([Words] extends [never] ? unknown : ElementConditions<Words>);

/** What fields without members offer. */
type LeafConditions = ValueConditions | PositionConditions | { is(value: never): Condition };

/**
 * What parts of elements offer: the elements around them are those that have numbers, and that fulfil all of a condition, so that no list or
 * map among the parts has a number or an element of its own to ask.
 */
type PartConditions<Conditions> = unknown extends Conditions
  ? Conditions
  : Conditions extends LeafConditions
    ? "at" extends keyof Conditions
      ? Omit<Conditions, OfElements>
      : Conditions
    : Conditions extends (...given: never[]) => Condition
      ? Conditions
      : {
          readonly [Name in keyof Conditions as Conditions[Name] extends (...given: never[]) => Condition
            ? Exclude<Name, OfElements>
            : Name]: PartConditions<Conditions[Name]>;
        };
type OfElements = "at" | "sameElement";

/**
 * What lists offer. Places and bytes have no more than each of them has; a struct at a place is asked for what any member is. What is in
 * lists of lists or sets is searched in structs alone. A member of a struct goes before what lists offer under its name.
 */
type ArrayConditions<Shape extends FieldShape> = Shape["kind"] extends "text" | "sortable"
  ? Shape["conditions"] & ListConditions<WordsOf<Shape["conditions"]>, Shape["output"]>
  : unknown extends Shape["conditions"]
    ? unknown
    : Shape["conditions"] extends LeafConditions
      ? Shape["kind"] extends "array" | "weighted"
        ? unknown
        : Shape["conditions"]
      : StructListConditions<PartConditions<Shape["conditions"]>>;
type StructListConditions<Parts> = Parts & Omit<ListConditions<Parts, string | number | boolean>, keyof Parts>;

/** A list. */
export type ArrayField<Element extends Field> = Collection<
  readonly ShapeOf<Element>["output"][],
  readonly ShapeOf<Element>["input"][],
  ArrayConditions<ShapeOf<Element>>,
  "array"
>;

/**
 * A list. A condition on it is fulfilled when one of its elements fulfils it. A list of lists is stored and returned, and not searched.
 *
 * @example
 * ```ts
 * const note = schema("note", { tags: array(string()) });
 * await alice.search(note, { where: (it) => it.tags.is("urgent") });
 * ```
 */
export function array<Element extends ListedField>(element: Element): ArrayField<Element> {
  const { type, members, isExact, ...rest } = definitionIn("array", element);
  if ("element" in type) unmarked(element.definition);
  // The engine has no words and values of lists within lists.
  const kept: typeof rest = "element" in type ? STORED : rest;
  return makeField({ ...kept, members, isExact, type: { kind: "array", element: type } }, arrayCodec(element.codec));
}

/** Values with a weight each, as an object of weights. */
export type WeightedSetField<Element extends Field> = Collection<
  Readonly<Record<string, number>>,
  Readonly<Record<string, number>>,
  ShapeOf<Element>["conditions"],
  "weighted"
>;

/**
 * A set of texts or integers with an integer weight each.
 *
 * @example
 * ```ts
 * const user = schema("user", { interests: weightedSet(string()) });
 * await alice.put(user, "u1", { interests: { sailing: 80, chess: 20 } });
 * ```
 */
export function weightedSet<Element extends WeighedField>(element: Element): WeightedSetField<Element> {
  const { type, indexing, settings, values } = definitionIn("weightedSet", element);
  const definition = {
    type: { kind: "weightedset", element: type } as const,
    indexing,
    settings,
    values,
  };
  return makeField(definition, recordCodec(element.codec, INT));
}

/** A map, as an object. */
export type MapField<Key extends Field, Value extends Field> = Collection<
  Readonly<Record<string, ShapeOf<Value>["output"]>>,
  Readonly<Record<string, ShapeOf<Value>["input"]>>,
  MapConditions<ShapeOf<Key>["conditions"], PartConditions<ShapeOf<Value>["conditions"]>>
>;

/**
 * A map. Keys are texts in TypeScript, whatever they are in the schema.
 *
 * @example
 * ```ts
 * const note = schema("note", { labels: map(string(), string()) });
 * await alice.put(note, "n1", { labels: { colour: "red" } });
 * ```
 */
export function map<Key extends KeyField, Value extends Field>(key: Key, value: Value): MapField<Key, Value> {
  const [ofKey, ofValue] = [definitionIn("map", key), definitionIn("map", value)];
  const definition: FieldDefinition = {
    type: { kind: "map", key: ofKey.type, value: ofValue.type },
    ...STORED,
    members: { key: unmarked(ofKey), value: unmarked(ofValue) },
  };
  return makeField(definition, recordCodec(key.codec, value.codec));
}

/** An object with known members. */
export type StructField<Members extends FieldMap> = Collection<
  DocumentOf<Members>,
  DocumentInputOf<Members>,
  ConditionsOf<Members>
>;

/** Settings of a struct. */
export interface StructOptions {
  /** Its name in the schema; without one it is named after the field that has it. */
  readonly name?: string;
}

/**
 * A struct: fields under one name. Usually in a list: `array(struct({ name: string() }))`.
 *
 * @example
 * ```ts
 * const contact = schema("contact", { address: struct({ street: string(), city: string() }) });
 * ```
 */
export function struct<Members extends FieldMap>(members: Members, options: StructOptions = {}): StructField<Members> {
  refuseUnknown("struct", options, ["name"]);
  demandKind("the members of a struct", members, "an object");
  const struct: StructType = {
    name: options.name,
    members: mapValues(members, (member) => definitionIn("struct", member).type),
  };
  const definition: FieldDefinition = {
    type: { kind: "struct", struct },
    ...STORED,
    members: mapValues(members, (member) => unmarked(member.definition)),
  };
  const parts = mapValues(members, (member) => ({ ...member, codec: partOf(member.codec) }));
  return makeField(definition, objectCodec(parts));
}
