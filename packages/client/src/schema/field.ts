/**
 * The fields of a schema: what each is in a schema file, how its values travel, and what it is to the type checker.
 * Lists, sets, maps and structs are in `collection.ts`, vectors in `vector.ts`.
 */

import { invalidArgument, refuseUnknown } from "../error.ts";
import {
  BOOL,
  BYTE,
  type Codec,
  FLOAT,
  INT,
  LONG,
  NUMBER,
  POSITION,
  type Position,
  partOf,
  RAW,
  TEXT,
} from "./codec.ts";
import type { DataType, DistanceMetric, PrimitiveName } from "./data-type.ts";
import type {
  BoolConditions,
  IntegerConditions,
  OrderConditions,
  PositionConditions,
  StringConditions,
  TextConditions,
} from "./field-condition.ts";
import type { Stemming } from "./language.ts";
import { TIMESTAMP, WHOLE_SECONDS } from "./point-in-time.ts";

/** What a field is to the type checker. */
export interface FieldShape {
  /** `sortable` and `vector` fields can be ordered by, and searched near; all but `vector`, `json` and `other` be grouped by. */
  readonly kind: "text" | "sortable" | "vector" | "array" | "chunks" | "weighted" | "json" | "other";
  /** A value as it is read. */
  readonly output: unknown;
  /** A value as it is given. */
  readonly input: unknown;
  /** Whether documents may lack it; `input`: only those that are given, which get a default. */
  readonly optional: boolean | "input";
  /** Whether hits have it without being asked for it. */
  readonly inHits: boolean;
  /** What `where` offers for it. */
  readonly conditions: unknown;
}

/** What a field is in a schema file. */
export interface FieldDefinition {
  readonly type: DataType;
  /** Where the value goes: shown in hits, searched by word, held as a value. */
  readonly indexing: readonly ("summary" | "index" | "attribute")[];
  /** Lines in the field's block beside its indexing. */
  readonly settings: readonly string[];
  /** Languages in which its words are stemmed. */
  readonly stemming?: Stemming;
  /** Whether it is matched by n-grams. */
  readonly hasGrams?: boolean;
  /** The texts that it may have; the server refuses every other. */
  readonly values?: readonly string[] | undefined;
  /** Whether its integers are read exactly, also those that a number would round. */
  readonly isExact?: boolean | undefined;
  /** The distance of two of its vectors. */
  readonly metric?: DistanceMetric;
  /** How the server makes the value of other fields; documents have no such field. */
  readonly made?: {
    readonly from: readonly string[];
    /** The expression that cuts the text. */
    readonly chunker?: string;
    readonly embedder?: string;
  };
  /** What is said of the members of a struct or map. */
  readonly members?: Readonly<Record<string, FieldDefinition>> | undefined;
}

declare const SHAPE: unique symbol;

/** The same shape, optional. */
export type Optional<Shape extends FieldShape> = {
  readonly [Member in keyof FieldShape]: Member extends "optional" ? true : Shape[Member];
};

/** The same shape, with a default. */
export type Defaulted<Shape extends FieldShape> = {
  readonly [Member in keyof FieldShape]: Member extends "optional" ? "input" : Shape[Member];
};

/** A field. */
export interface Field<out Shape extends FieldShape = FieldShape> {
  readonly definition: FieldDefinition;
  readonly codec: Codec;
  readonly isOptional: boolean;
  /** The same field in documents that may lack it. */
  optional(): Field<Optional<Shape>>;
  /** What a document has that is put without it, and what one is read with that lacks it. */
  readonly defaultValue?: { readonly value: unknown };
  /**
   * The same field with a value for documents that are put without it: it is stored with them. One that was put before the
   * field was there is read with it too, but for texts, bytes and lists, which are empty then, as those are that were put empty.
   */
  default(value: Shape["input"]): Field<Defaulted<Shape>>;
  /** For the type checker only. */
  readonly [SHAPE]?: Shape;
}

/** The shape of a field. */
export type ShapeOf<F> = F extends Field<infer Shape> ? Shape : never;

/** Fields by name. */
export type FieldMap = Readonly<Record<string, Field>>;

/** A field whose value is returned, by kind, value, and conditions. */
export type Plain<Kind extends FieldShape["kind"], Value, Conditions, Input = Value> = Field<{
  readonly kind: Kind;
  readonly output: Value;
  readonly input: Input;
  readonly optional: false;
  readonly inHits: true;
  readonly conditions: Conditions;
}>;

/** A field whose values can be the keys of an object. */
export type KeyField = Field<FieldShape & { readonly output: string | number }>;

/** A field of texts or integers, which is what a set can have weights of. */
export type WeighedField = Field<
  | (FieldShape & { readonly output: string })
  | (FieldShape & { readonly output: number; readonly conditions: IntegerConditions })
>;

/**
 * A field that a list can have many of: no tensor, since one with one more dimension is a list of them, and no pieces of a text, which
 * the server makes as a field of their own.
 */
export type ListedField = Field<
  FieldShape & { readonly inHits: true; readonly kind: Exclude<FieldShape["kind"], "chunks"> }
>;

/** @internal Makes a field; its shape is said by the maker. */
export function makeField<F extends Field>(definition: FieldDefinition, codec: Codec, isOptional = false): F {
  const field: Field = {
    definition,
    codec,
    isOptional,
    optional: () => makeField(definition, partOf(codec), true),
    default: (value) => {
      if (definition.made !== undefined) throw invalidArgument("a field that the server makes has no default");
      const checked = codec.zod.safeParse(value);
      const problem = checked.success ? undefined : checked.error.issues[0]?.message;
      if (problem !== undefined) throw invalidArgument(`the default of a field cannot be stored: ${problem}`);
      return { ...makeField(definition, codec), defaultValue: { value } };
    },
  };
  return field as F;
}

/** The reading of a searched text. */
export interface TextOptions {
  /**
   * Which part of a word a word of the query has to be; the whole word by default. With `gram` all pieces of a word of
   * the query (of `gramSize` characters) have to be somewhere in the text.
   */
  readonly match?: "word" | "prefix" | "suffix" | "substring" | "gram";
  /** Characters of a gram; 2 by default. */
  readonly gramSize?: number;
  /** Languages in which forms of a word find each other, if they are others than the schema's; `none` turns it off. */
  readonly stemming?: Stemming;
  /**
   * What hits show: the whole text, the whole text with the query's words marked, or a teaser around them. What is marked is
   * HTML, unless the search asks for `highlights: "ranges"`.
   */
  readonly show?: "full" | "bold" | "teaser";
}

const TEXT_OPTIONS = {
  match: true,
  gramSize: true,
  stemming: true,
  show: true,
} satisfies Readonly<Record<keyof TextOptions, true>>;

/**
 * A text that is searched by its words, and ranked.
 *
 * @example
 * ```ts
 * const note = schema("note", { title: text(), body: text({ show: "teaser" }) });
 * ```
 */
export function text(options: TextOptions = {}): Plain<"text", string, TextConditions> {
  refuseUnknown("text", options, TEXT_OPTIONS);
  const settings = ["index: enable-bm25"];
  const { match, gramSize = 2, stemming } = options;
  if (match === "gram") settings.push("match: gram", `match { gram-size: ${gramSize} }`);
  else if (match !== undefined && match !== "word") settings.push(`match: ${match}`);
  if (options.show === "bold") settings.push("bolding: on");
  if (options.show === "teaser") settings.push("summary: dynamic");
  const definition = { type: primitive("string"), indexing: ["summary", "index"], settings } as const;
  const analysis = { ...(stemming === undefined ? {} : { stemming }), ...(match === "gram" ? { hasGrams: true } : {}) };
  return makeField({ ...definition, ...analysis }, TEXT);
}

/**
 * A text that is one value: a name, a label, an address. It is compared as a whole, and not ranked.
 *
 * @example
 * ```ts
 * const user = schema("user", { name: text(), email: string() });
 * ```
 */
export function string(): Plain<"sortable", string, StringConditions> {
  const settings = ["match: word", "rank: filter"];
  return makeField({ type: primitive("string"), indexing: ["summary", "attribute"], settings }, TEXT);
}

/**
 * An integer of 32 bits. The least one, -2^31, stands for no value in hits: a required field refuses it.
 *
 * @example
 * ```ts
 * const order = schema("order", { pieces: int() });
 * ```
 */
export function int(): Plain<"sortable", number, IntegerConditions> {
  return attribute("int", INT);
}

/**
 * An integer of 64 bits, of which a number holds those up to 2^53 - 1; others are refused, never rounded.
 *
 * @example
 * ```ts
 * const file = schema("file", { bytes: long() });
 * ```
 */
export function long(): Plain<"sortable", number, IntegerConditions> {
  return attribute("long", LONG);
}

/**
 * An integer of 8 bits, -128 to 127. The least one stands for no value in hits: a required field refuses it.
 *
 * @example
 * ```ts
 * const rating = schema("rating", { stars: byte() });
 * ```
 */
export function byte(): Plain<"sortable", number, IntegerConditions> {
  return attribute("byte", BYTE);
}

/**
 * A floating-point number of 32 bits. One beyond what those hold (3.4e38) is refused.
 *
 * @example
 * ```ts
 * const sensor = schema("sensor", { celsius: float() });
 * ```
 */
export function float(): Plain<"sortable", number, OrderConditions<number>> {
  return attribute("float", FLOAT);
}

/**
 * A floating-point number of 64 bits.
 *
 * @example
 * ```ts
 * const account = schema("account", { balance: double() });
 * ```
 */
export function double(): Plain<"sortable", number, OrderConditions<number>> {
  return attribute("double", NUMBER);
}

/**
 * True or false.
 *
 * @example
 * ```ts
 * const task = schema("task", { title: text(), isDone: bool() });
 * ```
 */
export function bool(): Plain<"sortable", boolean, BoolConditions> {
  return attribute("bool", BOOL);
}

/** What a schema file says of a number that is a time, to who reads it: the type cannot. */
const IN_WORDS = ["# timestamp()"];

/** The stored form of a point in time. */
export interface TimestampOptions {
  /** `seconds`: whole seconds in a `long`, as schemas of a Vespa often have them. Dates with milliseconds are refused. */
  readonly unit?: "seconds";
}

/**
 * A point in time to the millisecond: a `Date` here, a `double` of seconds since the epoch in the schema. Ranking,
 * `freshness`, `age` and selections count in seconds, whatever the unit.
 *
 * @example
 * ```ts
 * const event = schema("event", { title: text(), at: timestamp() });
 * await alice.search(event, { where: (it) => it.at.ge(new Date("2026-01-01")), orderBy: "at desc" });
 * ```
 */
export function timestamp(options: TimestampOptions = {}): Plain<"sortable", Date, OrderConditions<Date>> {
  refuseUnknown("timestamp", options, ["unit"]);
  if (options.unit === undefined) return attribute("double", TIMESTAMP, IN_WORDS);
  if (options.unit === "seconds") return attribute("long", WHOLE_SECONDS, IN_WORDS);
  throw invalidArgument(
    `${JSON.stringify(options.unit)} is no unit of timestamp(): give 'seconds', or none for milliseconds`,
  );
}

/**
 * A place on earth.
 *
 * @example
 * ```ts
 * const place = schema("place", { name: text(), at: position() });
 * await alice.put(place, "p1", { name: "Oslo", at: { lat: 59.9, lng: 10.7 } });
 * ```
 */
export function position(): Plain<"other", Position, PositionConditions> {
  return attribute("position", POSITION);
}

/**
 * Bytes that are kept and returned, and not searched.
 *
 * @example
 * ```ts
 * const icon = schema("icon", { png: raw() });
 * await alice.put(icon, "i1", { png: new Uint8Array([137, 80, 78, 71]) });
 * ```
 */
export function raw(): Plain<"other", Uint8Array, unknown> {
  return makeField({ type: primitive("raw"), indexing: ["summary"], settings: [] }, RAW);
}

function attribute<F extends Field>(name: PrimitiveName, codec: Codec, settings: readonly string[] = []): F {
  return makeField({ type: primitive(name), indexing: ["summary", "attribute"], settings }, codec);
}

function primitive(name: PrimitiveName): DataType {
  return { kind: "primitive", name };
}
