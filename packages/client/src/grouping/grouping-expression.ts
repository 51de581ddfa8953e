/** Expressions and aggregations of Vespa's grouping language, with what their values are in TypeScript. */
import { Clause } from "../clause.ts";
import { demandKind, invalidArgument, unexpectedAnswer } from "../error.ts";
import { type Comparison, dateOf, secondsOf, wholeBound } from "../schema/point-in-time.ts";

/** Makes a value of what an answer has. */
export type ReadValue = (json: unknown) => unknown;

/**
 * Something to compute of a document, or of aggregations. `String(…)` gives its text.
 *
 * @example
 * ```ts
 * grouping(mail, (it, g) => {
 *   const kilobytes: GroupingExpression = g.div(it.size, 1_000);
 *   return { groups: { sizes: g.groups(kilobytes, { output: { count: g.count() } }) } };
 * });
 * ```
 */
export class GroupingExpression<out Value = unknown> {
  /** For the type checker only. */
  declare readonly valueType?: Value;
  readonly #text: string;
  /** @internal */
  readonly read: ReadValue;

  /** @internal */
  constructor(text: string, read: ReadValue) {
    this.#text = text;
    this.read = read;
  }

  /** In an order: largest first. */
  descending(): GroupingExpression<Value> {
    return new GroupingExpression(`-${this.#text}`, this.read);
  }

  /** The text in the grouping language. */
  toString(): string {
    return this.#text;
  }
}

/**
 * Something to compute of all documents of a group.
 *
 * @example
 * ```ts
 * grouping(mail, (it, g) => {
 *   const bytes: Aggregation = g.sum(it.size);
 *   return { output: { bytes } };
 * });
 * ```
 */
export class Aggregation<out Value = unknown> extends GroupingExpression<Value> {
  /** Tells it from an expression of one document. */
  readonly isAggregation = true;
}

/**
 * A field of documents.
 *
 * @example
 * ```ts
 * grouping(mail, (it, g) => {
 *   const sender: GroupingField = it.sender;
 *   return { groups: { senders: g.groups(sender, { output: { count: g.count() } }) } };
 * });
 * ```
 */
export class GroupingField<out Value = unknown> extends GroupingExpression<Value> {
  /** A member of a struct, or `key` or `value` of a map: `it.people.member("name")`. */
  member(name: string): GroupingField<string | number> {
    return new GroupingField(`${this}.${identifier(name)}`, readScalar);
  }

  /** The value of a map at a key. */
  entry(key: string): GroupingField<string | number> {
    return new GroupingField(`${this}{${quote(key)}}`, readScalar);
  }
}

/**
 * A filter of documents, or of elements. `String(…)` gives its text. Filters are joined by their methods, not by `&&`.
 *
 * @example
 * ```ts
 * grouping(mail, (it, g) => {
 *   const ours: GroupingFilter = g.regex("@x[.]org$", it.sender);
 *   return { groups: { ours: g.groups(it.sender, { filter: ours }) } };
 * });
 * ```
 */
export class GroupingFilter extends Clause<"filter"> {
  /** @internal */
  constructor(text: string) {
    super("filter", text);
  }

  /** This one and the others. */
  and(...others: readonly GroupingFilter[]): GroupingFilter {
    return new GroupingFilter(`(${[this, ...others].join(" and ")})`);
  }

  /** This one or one of the others. */
  or(...others: readonly GroupingFilter[]): GroupingFilter {
    return new GroupingFilter(`(${[this, ...others].join(" or ")})`);
  }

  /** Not this one. */
  not(): GroupingFilter {
    return new GroupingFilter(`not (${this})`);
  }
}

/** Values from one up to another, which is not among them. */
export interface GroupingRange<Value = number> {
  readonly from: Value;
  readonly to: Value;
}

/** What can be an argument: an expression, or a constant. */
export type GroupingArgument = GroupingExpression | number | string;

/** One of the quantiles asked for. */
export interface Quantile {
  readonly quantile: number;
  readonly value: number;
}

const LONG_MIN = "-9223372036854775808";
const LONG_MAX = "9223372036854775807";

/** @internal A text as it is. */
export const readText: ReadValue = String;

/** @internal A truth value: the value of a group is always a text. */
export const readBool: ReadValue = (json) => json === true || json === "true";

/** @internal A number; the ends of 64 bits are those of an open range. */
export const readNumber: ReadValue = (json) => {
  if (json === LONG_MIN) return -Infinity;
  if (json === LONG_MAX) return Infinity;
  const value = Number(json);
  const isExact = typeof json !== "string" || !/^-?\d+$/.test(json) || Number.isSafeInteger(value);
  if (isExact && (typeof json === "number" || typeof json === "string")) return value;
  throw unexpectedAnswer(`expected a number of at most 2^53 - 1, got ${JSON.stringify(json)?.slice(0, 80)}`);
};

/** @internal An integer of 64 bits: the value of a group is a text of its digits. */
export const readBigint: ReadValue = (json) => {
  if (Number.isSafeInteger(json) || (typeof json === "string" && /^-?\d{1,19}$/.test(json)))
    return BigInt(json as number | string);
  throw unexpectedAnswer(`expected an integer of 64 bits, got ${JSON.stringify(json)?.slice(0, 80)}`);
};

/** @internal Seconds since the epoch, with a fraction; an open end is the first or last date there is. */
export const readDate: ReadValue = (json) => dateOf(readNumber(json) as number);

/** @internal The same of whole seconds, whose ends of ranges are integers. */
export const readWholeDate: ReadValue = (json) => readDate(json);

/** @internal What has a type that only the server knows. */
export const readScalar: ReadValue = (json) => json;

const readQuantiles: ReadValue = (json) => {
  if (!Array.isArray(json)) throw unexpectedAnswer("expected a list of quantiles");
  return (json as Quantile[]).map(({ quantile, value }) => ({ quantile, value: readNumber(value) }));
};

/** A text in the grouping language. A backslash before a quote is read in more than one way, so none is written. */
export function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped
  const escaped = text.replace(/["\\\u0000-\u001f\u007f\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

/** A name that stands in an expression as it is. */
export function identifier(name: string): string {
  if (/^[A-Za-z][A-Za-z0-9_@]*(\.[A-Za-z][A-Za-z0-9_@]*)*$/.test(name)) return name;
  throw invalidArgument(`'${name}' cannot be in a grouping: it is no name`);
}

/** A number in the grouping language, where only what has a point is floating. */
function numeral(value: number, floating: boolean = !Number.isInteger(value)): string {
  if (!Number.isFinite(value)) throw invalidArgument(`${value} cannot be in a grouping: give a finite number`);
  if (!floating) {
    if (Number.isSafeInteger(value)) return String(value);
    throw invalidArgument(`${value} cannot be in a grouping as an integer: a number does not hold it exactly`);
  }
  const text = String(value);
  if (text.includes(".")) return text;
  return text.includes("e") ? text.replace("e", ".0e") : `${text}.0`;
}

/** The edges of ranges as buckets, each from one edge to the next. */
export function buckets(edges: readonly number[], floating: boolean): string[] {
  if (edges.length < 2)
    throw invalidArgument("ranges need at least two edges: from the first to the second, and so on");
  return edges.slice(1).map((to, index) => {
    const from = edges[index] as number;
    if (!(from < to)) throw invalidArgument(`the edges of ranges must grow: ${to} follows ${from}`);
    if (from === -Infinity && to === Infinity) throw invalidArgument("a range needs an end: both are infinite");
    return `bucket[${edge(from, floating)}, ${edge(to, floating)}>`;
  });
}

function edge(value: number, floating: boolean): string {
  if (Math.abs(value) === Infinity) return value < 0 ? "-inf" : "inf";
  return numeral(value, floating);
}

function argument(value: GroupingArgument): string {
  if (typeof value === "string") return quote(value);
  return typeof value === "number" ? numeral(value) : expressionText("an argument", value);
}

/** What is no expression does not become one: the text of a caller without types could be anything. */
export function expressionText(place: string, given: unknown): string {
  if (given instanceof Object && "read" in given) return String(given);
  throw invalidArgument(
    `${place} is ${String(given)}, which is no expression: write one with what the callback is given`,
  );
}

function call<Value>(name: string, args: readonly GroupingArgument[], read: ReadValue): GroupingExpression<Value> {
  // The reference implementation's parser takes no space between the arguments of math functions.
  const separator = name.startsWith("math.") ? "," : ", ";
  return new GroupingExpression(`${name}(${args.map(argument).join(separator)})`, read);
}

type OfNumbers = (...args: readonly [GroupingArgument, ...GroupingArgument[]]) => GroupingExpression<number>;
type Functions<Name extends string> = Readonly<Record<Name, OfNumbers>>;
type OfTexts = (...args: readonly [GroupingArgument, ...GroupingArgument[]]) => GroupingExpression<string>;

const numbers =
  (name: string): OfNumbers =>
  (...args) =>
    call(name, args, readNumber);
const texts =
  (name: string): OfTexts =>
  (...args) =>
    call(name, args, readText);

function functionsOf<Name extends string>(names: readonly Name[], room = ""): Functions<Name> {
  return Object.fromEntries(names.map((name) => [name, numbers(room + name)])) as Functions<Name>;
}

/** Functions of whole seconds: a fraction would be rounded, up too, before they see it. */
function ofSeconds<Made extends Readonly<Record<string, OfNumbers | OfTexts>>>(made: Made): Made {
  const whole = (of: GroupingArgument): GroupingArgument =>
    of instanceof GroupingExpression && of.read === readDate ? call("math.floor", [of], readNumber) : of;
  const wrapped = Object.entries(made).map(([name, make]) => [
    name,
    (...args: readonly GroupingArgument[]) => make(...(args.map(whole) as [GroupingArgument])),
  ]);
  return Object.fromEntries(wrapped) as Made;
}

function aggregation<Value>(name: string, of: GroupingArgument, read: ReadValue = readNumber): Aggregation<Value> {
  return new Aggregation(`${name}(${argument(of)})`, read);
}

const MATH = [
  "exp",
  "log",
  "log1p",
  "log10",
  "sqrt",
  "cbrt",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "floor",
  "pow",
  "hypot",
] as const;
const CALENDAR = [
  "year",
  "monthofyear",
  "dayofmonth",
  "dayofyear",
  "dayofweek",
  "hourofday",
  "minuteofhour",
  "secondofminute",
] as const;
const ARITHMETIC = ["add", "sub", "mul", "div", "mod", "neg", "and", "or", "strlen", "size"] as const;

/** The differences of texts that `uca` sees. */
export type CollationStrength = "PRIMARY" | "SECONDARY" | "TERTIARY" | "QUATERNARY" | "IDENTICAL";

/** Aggregations: what is computed of all documents of a group. */
const aggregations = {
  /** The number of documents. */
  count: (): Aggregation<number> => new Aggregation("count()", readNumber),
  sum: (of: GroupingArgument): Aggregation<number> => aggregation("sum", of),
  avg: (of: GroupingArgument): Aggregation<number> => aggregation("avg", of),
  /** The exclusive or of 64 bits; beyond 2^53 a number does not hold it exactly. */
  xor: (of: GroupingArgument): Aggregation<number> => aggregation("xor", of),
  /** The deviation of the whole population. */
  stddev: (of: GroupingArgument): Aggregation<number> => aggregation("stddev", of),
  /** The least value. */
  min: <Value>(of: GroupingExpression<Value>): Aggregation<Value> => aggregation("min", of, of?.read),
  /** The largest value. */
  max: <Value>(of: GroupingExpression<Value>): Aggregation<Value> => aggregation("max", of, of?.read),
  /** Values below which these parts of the documents are, each from 0 to 1. */
  quantiles: (parts: readonly number[], of: GroupingArgument): Aggregation<readonly Quantile[]> => {
    demandKind("what quantiles is given first", parts, "a list");
    return new Aggregation(`quantiles([${parts.map((part) => numeral(part, true))}], ${argument(of)})`, readQuantiles);
  },
};

/** What makes ranges of values. */
const ranges = {
  /** Ranges of one width. */
  fixedWidth: <Value>(of: GroupingExpression<Value>, width: number): GroupingExpression<GroupingRange<Value>> =>
    new GroupingExpression(`fixedwidth(${argument(of)}, ${numeral(width)})`, of.read),
  /** The ranges from each edge to the next; floating numbers are compared as such when `floating` says so. */
  predefined: (
    of: GroupingExpression<number>,
    edges: readonly number[],
    options: { readonly floating?: boolean } = {},
  ): GroupingExpression<GroupingRange> => {
    demandKind("edges", edges, "a list");
    const floating = options.floating ?? edges.some((value) => Number.isFinite(value) && !Number.isInteger(value));
    return new GroupingExpression(`predefined(${[argument(of), ...buckets(edges, floating)].join(", ")})`, of.read);
  },
  /** Ranges one by one, in their order, with or without their ends: of numbers, texts or dates. */
  buckets: <Value extends BucketEnd>(
    of: GroupingExpression<Value>,
    ranges: readonly Bucket<NoInfer<Value>>[],
    options: { readonly floating?: boolean } = {},
  ): GroupingExpression<GroupingRange<Value>> => {
    const isFraction = (value: unknown) => typeof value === "number" && !Number.isInteger(value);
    demandKind("what buckets is given", ranges, "a list");
    const first = argument(of);
    const hasFraction = of.read === readDate || ranges.some(({ from, to }) => isFraction(from) || isFraction(to));
    const floating = options.floating ?? hasFraction;
    if (ranges.length === 0) throw invalidArgument("buckets need at least one range");
    const texts = ranges.map((range) => bucketText(range, floating));
    return new GroupingExpression(`predefined(${[first, ...texts].join(", ")})`, of.read);
  },
};

/** An end of a bucket. */
export type BucketEnd = number | string | Date;

/** A range of values; without an end it is open there. */
export interface Bucket<Value extends BucketEnd = BucketEnd> {
  readonly from?: Value;
  readonly to?: Value;
  /** `from` itself is not in it. */
  readonly excludeFrom?: boolean;
  /** `to` itself is in it. */
  readonly includeTo?: boolean;
}

function bucketText({ from, to, excludeFrom = false, includeTo = false }: Bucket, floating: boolean): string {
  if (from === undefined && to === undefined) throw invalidArgument("a bucket needs an end: give it a from or a to");
  const end = (value: BucketEnd | undefined, open: string, comparison: Comparison): string => {
    if (value === undefined) return open;
    if (typeof value === "string") return quote(value);
    if (!(value instanceof Date)) return edge(value, floating);
    return numeral(floating ? secondsOf(value) : (wholeBound(comparison, value) ?? 0), floating);
  };
  const [first, last] = [end(from, "-inf", excludeFrom ? ">" : ">="), end(to, "inf", includeTo ? "<=" : "<")];
  return `bucket${excludeFrom ? "<" : "["}${first}, ${last}${includeTo ? "]" : ">"}`;
}

/** Filters. */
const filters = {
  /** The whole value matches a regular expression (RE2). */
  regex: (pattern: string, of: GroupingExpression): GroupingFilter =>
    new GroupingFilter(`regex(${quote(pattern)}, ${argument(of)})`),
  /** From one number up to another; the first is among them unless it is excluded, the other only if it is included. */
  range: (
    from: number,
    to: number,
    of: GroupingExpression,
    options: { readonly excludeFrom?: boolean; readonly includeTo?: boolean } = {},
  ): GroupingFilter => {
    // The reference implementation's parser has no sign here.
    if (from < 0 || to < 0) {
      throw invalidArgument("a range filter has no negative bounds: shift it, as in g.range(0, 2, g.add(it.size, 1))");
    }
    const { excludeFrom = false, includeTo = false } = options;
    const bounds = excludeFrom || includeTo ? `, ${!excludeFrom}, ${includeTo}` : "";
    return new GroupingFilter(`range(${numeral(from)}, ${numeral(to)}, ${argument(of)}${bounds})`);
  },
  /** A bool is true; anything else is none, and its documents would be in no group. */
  isTrue: (of: GroupingExpression<boolean>): GroupingFilter => new GroupingFilter(`istrue(${argument(of)})`),
};

/** Functions of texts and bytes; bytes are in base64. */
const conversions: Readonly<Record<"strcat" | "toText" | "toRaw" | "cat" | "normalizeSubject", OfTexts>> = {
  strcat: texts("strcat"),
  toText: texts("tostring"),
  toRaw: texts("toraw"),
  cat: texts("cat"),
  normalizeSubject: texts("normalizesubject"),
};

type OfSeveral = (
  first: GroupingArgument,
  ...rest: readonly [GroupingArgument, ...GroupingArgument[]]
) => GroupingExpression<number>;

/** Functions that are called otherwise in the language, where an aggregation has their name. */
const choices: Readonly<Record<"least" | "greatest" | "mean" | "bitXor", OfSeveral>> = {
  least: numbers("min"),
  greatest: numbers("max"),
  mean: numbers("avg"),
  bitXor: numbers("xor"),
};

const functions = {
  toDouble: (of: GroupingArgument): GroupingExpression<number> => call("todouble", [of], readNumber),
  toLong: (of: GroupingArgument): GroupingExpression<number> => call("tolong", [of], readNumber),
  md5: (of: GroupingArgument, bits: number): GroupingExpression<string> => call("md5", [of, bits], readText),
  xorbit: (of: GroupingArgument, bits: number): GroupingExpression<string> => call("xorbit", [of, bits], readText),
  /** A sort key as a language orders texts. */
  uca: (of: GroupingArgument, locale: string, strength: CollationStrength = "PRIMARY"): GroupingExpression<string> =>
    call("uca", [of, locale, strength], readText),
  /** The element at an index; beyond the ends, the first or last. */
  at: <Value>(array: GroupingExpression<Value>, index: GroupingArgument): GroupingExpression<Value> =>
    call("array.at", [array, index], array?.read),
  interpolatedLookup: (array: GroupingExpression, of: GroupingArgument): GroupingExpression<number> =>
    call("interpolatedlookup", [array, of], readNumber),
  sort: <Value>(array: GroupingExpression<Value>): GroupingExpression<Value> => call("sort", [array], array?.read),
  reverse: <Value>(array: GroupingExpression<Value>): GroupingExpression<Value> =>
    call("reverse", [array], array?.read),
  relevance: (): GroupingExpression<number> => call("relevance", [], readNumber),
  now: (): GroupingExpression<Date> => call("now", [], readWholeDate),
  /** The part of the document's id that its putter chose. */
  documentId: (): GroupingExpression<string> => call("docidnsspecific", [], readText),
  zcurveX: (of: GroupingArgument): GroupingExpression<number> => call("zcurve.x", [of], readNumber),
  zcurveY: (of: GroupingArgument): GroupingExpression<number> => call("zcurve.y", [of], readNumber),
  geoDistance: (
    of: GroupingField,
    place: { readonly lat: number; readonly lng: number },
    unit: "km" | "miles" = "km",
  ): GroupingExpression<number> => {
    const [lat, lng] = [numeral(place.lat, true), numeral(place.lng, true)];
    return new GroupingExpression(`geo_distance(attribute(${argument(of)}), ${lat}, ${lng}).${unit}`, readNumber);
  },
  /** Text of the language as it is, for what is missing here. Never put in it what a user typed. */
  raw: <Value = unknown>(text: string): GroupingExpression<Value> => new GroupingExpression(text, readScalar),
  /** The same for an aggregation. */
  rawAggregation: <Value = unknown>(text: string): Aggregation<Value> => new Aggregation(text, readScalar),
};

/** Functions of numbers, by their names. */
interface Rooms {
  readonly math: Functions<(typeof MATH)[number]>;
  /** Parts of points in time, in UTC; days of the week count from Sunday, which is 0. */
  readonly time: Functions<(typeof CALENDAR)[number]> & { readonly date: OfTexts };
}

/** Everything the grouping language has: aggregations, functions by their names there, ranges and filters. */
export const GROUPING_LANGUAGE: typeof aggregations &
  typeof ranges &
  typeof filters &
  typeof conversions &
  typeof choices &
  typeof functions &
  Functions<(typeof ARITHMETIC)[number]> &
  Rooms = {
  ...aggregations,
  ...ranges,
  ...filters,
  ...conversions,
  ...choices,
  ...functions,
  ...functionsOf(ARITHMETIC),
  math: functionsOf(MATH, "math."),
  time: { ...ofSeconds(functionsOf(CALENDAR, "time.")), ...ofSeconds({ date: texts("time.date") }) },
};
