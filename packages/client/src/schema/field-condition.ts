/** The conditions each type of field offers. A list, set or map fulfils a condition when one of its elements does. */

import { clauseText } from "../clause.ts";
import { anyOf, Condition, type Literal, literal } from "../condition.ts";
import { demandKind, excerpt, invalidArgument } from "../error.ts";
import {
  alternatives,
  annotate,
  equiv,
  type InputOptions,
  phrase,
  type Term,
  type TermOptions,
  terms,
  termText,
  word,
} from "../operator.ts";
import { mapValues, type Position } from "./codec.ts";
import type { DataType } from "./data-type.ts";
import { type Comparison, hasWholeSeconds, secondsOf, wholeBound } from "./point-in-time.ts";

/** The distance that words may have. */
export interface NearOptions {
  /** Largest difference between the positions of the first and the last word; 2 by default. */
  readonly distance?: number;
  /** Words that may not be between or around the others. */
  readonly not?: readonly (string | Term)[];
  /** How far around the words those are looked for; half the distance by default. */
  readonly exclusionDistance?: number;
}

/** The difference that a value may have. */
export interface FuzzyOptions {
  /** Insertions, deletions and replacements of characters; 2 by default. */
  readonly maxEditDistance?: number;
  /** How many characters at the beginning must be equal. */
  readonly prefixLength?: number;
  /** Whether the beginning of the value is compared instead of all of it. */
  readonly prefix?: boolean;
}

/** Conditions on texts of either kind. */
export interface ValueConditions {
  /** Has a place that this regular expression matches. */
  matches(expression: string): Condition;
}

/** Conditions on a searched text: on its words. */
export interface TextConditions extends ValueConditions {
  /** Has this word; of several words, has them side by side. */
  contains(words: string | Term, options?: TermOptions): Condition;
  /** Has these words side by side, in this order. */
  phrase(...words: readonly (string | Term)[]): Condition;
  /** Has these words close to each other. */
  near(words: readonly (string | Term)[], options?: NearOptions): Condition;
  /** Has these words close to each other, in this order. */
  onear(words: readonly (string | Term)[], options?: NearOptions): Condition;
  /** Has one of these words or phrases, which mean the same. */
  equiv(...words: readonly (string | Term)[]): Condition;
  /** Has one of these forms of a word, each with how good it is, 0 to 1. */
  alternatives(words: Readonly<Record<string, number>>): Condition;
  /** Has what someone typed. */
  text(typed: string, options?: Omit<InputOptions, "defaultIndex">): Condition;
  /** Has one of these words. */
  in(words: readonly string[]): Condition;
  /** Has a word that begins so. */
  prefix(start: string, options?: TermOptions): Condition;
  /** Has a word that ends so. */
  suffix(end: string, options?: TermOptions): Condition;
  /** Has a word with this in it. */
  substring(part: string, options?: TermOptions): Condition;
}

/** What is found has how many hits at least, and which score. */
export interface WandOptions {
  readonly targetHits?: number;
  readonly totalTargetHits?: number;
  /** What the sum of products must exceed; 0 by default. */
  readonly scoreThreshold?: number;
  readonly label?: string;
}

/** Conditions with a weight for each value. */
export interface WeightedConditions<Key extends string | number> {
  /** Is one of these values; ranking sees the weight. */
  weightedSet(weights: Readonly<Record<Key, number>>, options?: { readonly label?: string }): Condition;
  /** Is one of these values; the raw score is the sum of products of weights. */
  dotProduct(weights: Readonly<Record<Key, number>>, options?: { readonly label?: string }): Condition;
  /** As `dotProduct`, if the raw score is large enough. */
  wand(weights: Readonly<Record<Key, number>>, options?: WandOptions): Condition;
}

/** Conditions on a whole value. */
export interface StringConditions extends ValueConditions, WeightedConditions<string> {
  /** Is few edits away from this text, as a whole. */
  fuzzy(text: string, options?: FuzzyOptions): Condition;
  /** Is this value; upper and lower case are the same. */
  is(value: string, options?: TermOptions): Condition;
  /** Is one of these values. */
  in(values: readonly string[]): Condition;
  /** Begins so. */
  prefix(start: string, options?: TermOptions): Condition;
}

/** Ends of a range. */
export interface RangeOptions {
  /** Which ends do not count: none by default. */
  readonly bounds?: "open" | "leftOpen" | "rightOpen";
  readonly label?: string;
}

/** Conditions on values that have an order. */
export interface OrderConditions<Value> {
  /** Is this value. */
  is(value: Value): Condition;
  /** Is less. */
  lt(bound: Value): Condition;
  /** Is less, or this value. */
  le(bound: Value): Condition;
  /** Is greater. */
  gt(bound: Value): Condition;
  /** Is greater, or this value. */
  ge(bound: Value): Condition;
  /** Lies between the two; both count. */
  between(low: Value, high: Value, options?: RangeOptions): Condition;
}

/** Conditions on integers. */
export interface IntegerConditions extends OrderConditions<number>, WeightedConditions<number> {
  /** Is one of these values. */
  in(values: readonly number[]): Condition;
}

/** Conditions on truth values. */
export interface BoolConditions {
  /** Is this value. A document without the field is neither true nor false. */
  is(value: boolean): Condition;
}

/** A distance with its unit; `"-1 m"` has no limit. */
export type Distance = `${number} ${"km" | "m" | "miles" | "deg"}`;

/** Conditions on places. */
export interface PositionConditions {
  /** Lies so far from a place at most. */
  geoLocation(center: Position, radius: Distance, options?: { readonly label?: string }): Condition;
  /** Lies in a rectangle. */
  geoBoundingBox(box: {
    readonly south: number;
    readonly west: number;
    readonly north: number;
    readonly east: number;
  }): Condition;
}

/** What may be said of a search near a vector. */
export interface NearestOptions {
  /** The number of the nearest to find at least. */
  readonly targetHits?: number;
  readonly totalTargetHits?: number;
  readonly minTargetHits?: number;
  /** The input of the profile that has the vector; named as the field by default. */
  readonly input?: string;
  /** How far away they may be, in the field's metric. */
  readonly distanceThreshold?: number;
  /** Without effect: every search here is exact. */
  readonly approximate?: boolean;
  readonly label?: string;
}

/** Conditions on vectors. */
export interface VectorConditions {
  /** Is one of the nearest of the vector that the search's `inputs` have. */
  nearestNeighbor(options?: NearestOptions): Condition;
}

/**
 * What `sameElement` asks of one element that is no struct: by itself it has words, and no name to compare a value with. `never` for
 * elements without words.
 */
export type WordsOf<Conditions> = Conditions extends ValueConditions
  ? Omit<Conditions, "in" | "matches" | keyof WeightedConditions<string>>
  : Conditions extends { is(value: string): Condition }
    ? Pick<Conditions, "is">
    : never;

/** Conditions on one element of a list or map. */
export interface ElementConditions<Element> {
  /** Has one element that fulfils all of it. */
  sameElement(
    condition: (element: Element) => Condition,
    options?: { readonly elementFilter?: readonly number[] },
  ): Condition;
}

/** Conditions on the elements of a list by their numbers. */
export interface IndexConditions<Value> {
  /** The element of this number, from 0, is this value. */
  at(index: number, value: Value): Condition;
}

/** Conditions on maps. */
export interface MapConditions<Key, Value> extends ElementConditions<{ readonly key: Key; readonly value: Value }> {
  readonly key: Key;
  readonly value: Value;
}

/**
 * Names that mean something else in schema files, in queries, or in answers. Members of structs may have them: what is before those says
 * that they are names, and where nothing is, in `sameElement`, quotation marks do.
 */
export const RESERVED: RegExp =
  /^(position|relevancy|and|asc?|contains|default|false|from|in(dex)?|null|or|timeout|true|documentid|sddocname|(match|summary|rank)features)$/i;

/** All that fields offer; which of it makes sense for a field is for the type checker. */
class FieldCondition {
  /** Empty for the element itself in `sameElement`. */
  readonly #path: string;
  readonly #type: DataType;

  constructor(path: string, type: DataType) {
    this.#path = RESERVED.test(path) ? `"${path}"` : path;
    this.#type = type;
  }

  contains(words: string | Term, options?: TermOptions): Condition {
    return typeof words === "string" ? this.#word(words, options) : this.#leaf(termText(words));
  }

  phrase(...words: readonly (string | Term)[]): Condition {
    return this.#leaf(phrase(...words));
  }

  near(words: readonly (string | Term)[], options?: NearOptions): Condition {
    return this.#near("near", words, options);
  }

  onear(words: readonly (string | Term)[], options?: NearOptions): Condition {
    return this.#near("onear", words, options);
  }

  equiv(...words: readonly (string | Term)[]): Condition {
    return this.#leaf(equiv(...words));
  }

  alternatives(words: Readonly<Record<string, number>>): Condition {
    return this.#leaf(alternatives(words));
  }

  text(typed: string, options?: InputOptions): Condition {
    return this.#leaf(annotate(`text(${literal(typed)})`, options));
  }

  fuzzy(text: string, options?: FuzzyOptions): Condition {
    return this.#leaf(annotate(`fuzzy(${literal(text)})`, options));
  }

  matches(expression: string): Condition {
    return new Condition(`${this.#field} matches ${literal(expression)}`);
  }

  prefix(start: string, options?: TermOptions): Condition {
    return this.#word(start, { part: "prefix", ...options });
  }

  suffix(end: string, options?: TermOptions): Condition {
    return this.#word(end, { part: "suffix", ...options });
  }

  substring(part: string, options?: TermOptions): Condition {
    return this.#word(part, { part: "substring", ...options });
  }

  is(value: Literal | Date, options?: TermOptions): Condition {
    if (typeof value !== "string") return this.#compared("=", value);
    checkEqual(this.#path, this.#type, value);
    // An element has no field whose matching says that it is one value: its words would be looked for side by side.
    return this.#word(value, this.#path ? options : { grammar: "raw", ...options });
  }

  in(values: readonly Literal[]): Condition {
    demandKind("in", values, "a list");
    for (const value of values) checkEqual(this.#path, this.#type, value);
    return values.length === 0 ? anyOf() : new Condition(`${this.#field} in (${values.map(literal).join(", ")})`);
  }

  lt(bound: number | Date): Condition {
    return this.#compared("<", bound);
  }

  le(bound: number | Date): Condition {
    return this.#compared("<=", bound);
  }

  gt(bound: number | Date): Condition {
    return this.#compared(">", bound);
  }

  ge(bound: number | Date): Condition {
    return this.#compared(">=", bound);
  }

  between(low: number | Date, high: number | Date, options: RangeOptions = {}): Condition {
    const { bounds } = options;
    const isOpen = (side: RangeOptions["bounds"]): boolean => bounds === "open" || bounds === side;
    const ends = [
      this.#bound(isOpen("leftOpen") ? ">" : ">=", low),
      this.#bound(isOpen("rightOpen") ? "<" : "<=", high),
    ];
    const range = `range(${this.#field}, ${(ends as Literal[]).map(literal).join(", ")})`;
    return new Condition(annotate(range, options));
  }

  weightedSet(weights: Readonly<Record<string, number>>, options?: object): Condition {
    return this.#weighted("weightedSet", weights, options);
  }

  dotProduct(weights: Readonly<Record<string, number>>, options?: object): Condition {
    return this.#weighted("dotProduct", weights, options);
  }

  wand(weights: Readonly<Record<string, number>>, options?: WandOptions): Condition {
    return this.#weighted("wand", weights, options);
  }

  geoLocation(center: Position, radius: Distance, options?: object): Condition {
    const { lat, lng } = Object(center) as Position;
    const place = `${literal(lat)}, ${literal(lng)}`;
    return new Condition(annotate(`geoLocation(${this.#field}, ${place}, ${literal(radius)})`, options));
  }

  geoBoundingBox(box: { south: number; west: number; north: number; east: number }): Condition {
    const { south, west, north, east } = Object(box) as typeof box;
    const edges = [south, west, north, east].map(literal).join(", ");
    return new Condition(`geoBoundingBox(${this.#path}, ${edges})`);
  }

  nearestNeighbor(given?: NearestOptions): Condition {
    const { input = this.#path, ...options } = Object(given) as NearestOptions;
    const said = options.totalTargetHits === undefined ? { targetHits: TARGET_HITS_DEFAULT, ...options } : options;
    return new Condition(annotate(`nearestNeighbor(${this.#path}, ${literal(input)})`, said));
  }

  /** The field itself. An element by itself has words, and no name to compare a value with. */
  get #field(): string {
    if (this.#path) return this.#path;
    throw invalidArgument("sameElement finds only words in values: ask the field itself");
  }

  #near(name: string, words: readonly (string | Term)[], { not = [], ...options }: NearOptions = {}): Condition {
    const excluded = not.map((it) => `, !${terms(name, [it], 1)}`).join("");
    return this.#leaf(annotate(`${name}(${terms(name, words, 1)}${excluded})`, options));
  }

  #weighted(name: string, weights: Readonly<Record<string, number>>, options?: object): Condition {
    const numbers = isInteger(this.#type);
    demandKind(name, weights, "an object");
    const pairs = Object.entries(weights).map(([key, weight]) => {
      if (!Number.isInteger(weight)) throw invalidArgument(`the weight ${weight} of '${key}' is not an integer`);
      if (!numbers) return `${literal(key)}: ${weight}`;
      checkEqual(this.#path, this.#type, Number(key));
      return `[${Number(key)}, ${weight}]`;
    });
    const list = pairs.join(", ");
    return new Condition(annotate(`${name}(${this.#field}, ${numbers ? `[${list}]` : `{${list}}`})`, options));
  }

  #word(text: string, options?: object): Condition {
    if (text === "") throw invalidArgument(`a condition on '${this.#path}' may not be empty`);
    return this.#leaf(word(text, options));
  }

  #leaf(expression: Term | string): Condition {
    return new Condition(this.#path ? `${this.#path} contains ${expression}` : String(expression));
  }

  #compared(comparison: Comparison, value: Literal | Date): Condition {
    const bound = this.#bound(comparison, value);
    if (bound === undefined) return anyOf();
    // What stands in quotation marks is not compared, but has words, and those of numbers may be ranges.
    if (this.#path[0] === '"')
      return this.#word(
        { "=": `${bound}`, "<=": `[;${bound}]`, ">=": `[${bound};]` }[comparison as string] ?? comparison + bound,
      );
    return new Condition(`${this.#field} ${comparison} ${literal(bound)}`);
  }

  /** What a value is compared with; nothing if none can be equal to it. */
  #bound(comparison: Comparison, value: Literal | Date): Literal | undefined {
    if (!(value instanceof Date)) {
      if (comparison === "=") checkEqual(this.#path, this.#type, value);
      else if (typeof value !== "number" && typeof value !== "bigint")
        throw unequal(this.#path, value, "a number or a Date");
      return value;
    }
    return hasWholeSeconds(this.#type) ? wholeBound(comparison, value) : secondsOf(value);
  }
}

const TARGET_HITS_DEFAULT = 100;

function isInteger(type: DataType): boolean {
  return type.kind === "primitive" && ["byte", "int", "long"].includes(type.name);
}

/** The values of types, to JavaScript and in words; all others are numbers. */
const KINDS: Readonly<Record<string, readonly [type: string, words: string]>> = {
  string: ["string", "a text"],
  bool: ["boolean", "true or false"],
};

/**
 * Refuses what no value of a field can be equal to. Of a fraction a server takes the integer next to it, as Vespa does, and finds
 * what nobody asked for; bounds may be fractions.
 */
function checkEqual(path: string, type: DataType, value: Literal): void {
  if (type.kind !== "primitive") return;
  const isWhole = isInteger(type);
  const [kind, words] = KINDS[type.name] ?? ["number", isWhole ? "an integer" : "a number or a Date"];
  if (isWhole && (Number.isInteger(value) || typeof value === "bigint")) return;
  if (isWhole || typeof value !== kind) throw unequal(path, value, words);
}

function unequal(path: string, value: unknown, words: string): Error {
  return invalidArgument(`${path || "an element"} cannot be compared with ${excerpt(value)}: give ${words}`);
}

/** What lists, sets and maps offer for their elements. */
function elementConditions(path: string, inside: () => object, type: DataType, hasWords?: boolean) {
  const sameElement = (condition: (element: FieldCondition) => Condition, options?: object): Condition => {
    demandKind("sameElement", condition, "a function");
    const element = clauseText("condition", `sameElement of '${path}'`, () => condition(inside() as FieldCondition));
    return new Condition(`${path} contains ${annotate(`sameElement(${element})`, options)}`);
  };
  const at = (index: number, value: Literal | Date): Condition => {
    if (!Number.isInteger(index) || index < 0) throw invalidArgument(`${index} is no number of an element`);
    const numbered = `${path}[${index}]`;
    if (typeof value !== "string") return new FieldCondition(numbered, type).is(value);
    checkEqual(path, type, value);
    if (hasWords) return new Condition(`${numbered} = ${literal(value)}`);
    return sameElement((element) => element.is(value), { elementFilter: [index] });
  };
  return { sameElement, at };
}

/** The conditions of a field at `path`, with those of its members below it. A field that has words is searched by them. */
export function conditionsOf(path: string, type: DataType, hasWords?: boolean): object {
  const below = (name: string) => (path ? `${path}.${name}` : name);
  switch (type.kind) {
    case "array":
    case "weightedset": {
      const own = conditionsOf(path, type.element);
      const isStruct = !(own instanceof FieldCondition);
      const elements = elementConditions(
        path,
        () => conditionsOf("", type.element),
        type.element,
        hasWords || isStruct,
      );
      // A member of that name is the member.
      return isStruct ? { ...elements, ...own } : Object.assign(own, elements);
    }
    case "map": {
      const inside = () => ({ key: conditionsOf("key", type.key), value: conditionsOf("value", type.value) });
      const { sameElement } = elementConditions(path, inside, type);
      return {
        key: conditionsOf(below("key"), type.key),
        value: conditionsOf(below("value"), type.value),
        sameElement,
      };
    }
    case "struct":
      return mapValues(type.struct.members, (member, name) => conditionsOf(below(name), member));
    default:
      return new FieldCondition(path, type);
  }
}
