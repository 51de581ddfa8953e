/** Facets: how often each value of a field, each month, or each range of numbers is among what a search matches. */
import { membersThere } from "@brooklet/wire";
import { demandKind, invalidArgument, type Kind, refuseUnknown } from "../error.ts";
import type { DataType } from "../schema/data-type.ts";
import type { FieldMap } from "../schema/field.ts";
import type { NameWith } from "../schema/infer.ts";
import { type AnySchema, noField } from "../schema/schema.ts";
import { CODE, type FacetCode } from "./grouped.ts";
import { type GroupValueOf, listOf, readerOf, readValue, type WireGroup } from "./grouping.ts";
import { buckets, identifier, readNumber } from "./grouping-expression.ts";
import { fixedZone, minutesAhead } from "./time-zone.ts";

/** The aggregation of a facet. */
export type FacetAggregate = "sum" | "avg" | "min" | "max";

/** Fields of which each value of a facet tells a sum or mean, if they are numbers, or the least or largest value. */
export type FacetAggregates = { readonly [Name in FacetAggregate]?: string | undefined };

/** What is said of a facet. */
export interface FacetOptions {
  /** How many values at most; 10 by default, 1000 for a date histogram. */
  readonly top?: number;
  /** Which come first; those with the most documents by default. `relevance` is that of the best document. */
  readonly orderBy?: "relevance" | `${"count" | FacetAggregate} ${"asc" | "desc"}`;
}

/** Periods of a date histogram, in UTC or in the `timeZone` of the search. Weeks begin on Monday. */
export type DateInterval = "year" | "quarter" | "month" | "week" | "day" | "hour" | "minute";

/** A facet that is asked for. */
export interface Facet<
  out Kind extends "value" | "date" | "range" = "value" | "date" | "range",
  out Name extends string = string,
  out Aggregates extends FacetAggregates = FacetAggregates,
> {
  readonly kind: Kind;
  readonly field: Name;
  readonly aggregates: Aggregates;
  readonly options: FacetOptions;
  readonly interval?: DateInterval;
  readonly edges?: readonly number[];
  /** @internal How it is written and read. */
  readonly [CODE]: FacetCode;
}

type Picked<Options extends FacetAggregates> = Pick<Options, keyof Options & FacetAggregate>;

/**
 * The values of a field, the most frequent first: `facet("sender", { top: 10, sum: "size" })`.
 *
 * @example
 * ```ts
 * const { facets } = await alice.search(mail, { facets: { from: facet("sender", { top: 10, sum: "size" }) } });
 * ```
 */
export function facet<
  Name extends string,
  const Options extends FacetAggregates & FacetOptions = Readonly<Record<never, string>>,
>(field: Name, options?: Options): Facet<"value", Name, Picked<Options>> {
  return { kind: "value", field, ...split<Options>(options) };
}

/**
 * The periods of a timestamp (or of a number of seconds since the epoch), in their order, without empty ones.
 *
 * @example
 * ```ts
 * await alice.search(mail, { facets: { days: dateHistogram("sentAt", "day") }, timeZone: "Europe/Oslo" });
 * ```
 */
export function dateHistogram<
  Name extends string,
  const Options extends FacetAggregates & Pick<FacetOptions, "top"> = Readonly<Record<never, string>>,
>(field: Name, interval: DateInterval, options?: Options): Facet<"date", Name, Picked<Options>> {
  demandKind("interval", interval, INTERVALS);
  return { kind: "date", field, interval, ...split<Options>(options) };
}

/**
 * Ranges of a number, from each edge up to the next, in their order, without empty ones. The first edge may be
 * `-Infinity`, the last one `Infinity`; what is outside is not counted.
 *
 * @example
 * ```ts
 * await alice.search(mail, { facets: { size: ranges("size", [0, 1_000, Infinity]) } });
 * ```
 */
export function ranges<Name extends string, const Options extends FacetAggregates = Readonly<Record<never, string>>>(
  field: Name,
  edges: readonly number[],
  options?: Options,
): Facet<"range", Name, Picked<Options>> {
  return { kind: "range", field, edges, ...split<Options>(options) };
}

const INTERVALS: Kind = ["year", "quarter", "month", "week", "day", "hour", "minute"] satisfies readonly DateInterval[];
const OPTIONS = {
  top: true,
  orderBy: "a text",
  sum: "a text",
  avg: "a text",
  min: "a text",
  max: "a text",
} satisfies Readonly<Record<FacetAggregate | keyof FacetOptions, Kind>>;

function split<Options extends FacetAggregates>(
  options: (FacetAggregates & FacetOptions) | undefined,
): {
  readonly aggregates: Picked<Options>;
  readonly options: FacetOptions;
  readonly [CODE]: FacetCode;
} {
  refuseUnknown("a facet", options ?? {}, OPTIONS);
  const { top, orderBy, ...others } = options ?? {};
  const aggregates = membersThere(others) as unknown as Picked<Options>;
  return { aggregates, options: membersThere({ top, orderBy }), [CODE]: FACET_CODE };
}

/** Fields that can be grouped by. */
export type GroupableName<Fields extends FieldMap> = {
  [Name in keyof Fields]: [GroupValueOf<Fields[Name]>] extends [never] ? never : Name;
}[keyof Fields] &
  string;

/** Fields with one number. */
export type NumericName<Fields extends FieldMap> = NameWith<
  Pick<Fields, NameWith<Fields, "kind", "sortable">>,
  "output",
  number
>;

/** Fields with one point in time. */
type TimeName<Fields extends FieldMap> = NameWith<Fields, "output", Date>;

/** Fields with one value that has an order. */
type OrderedName<Fields extends FieldMap> = NumericName<Fields> | TimeName<Fields> | SortableTextName<Fields>;

type SortableTextName<Fields extends FieldMap> = NameWith<
  Pick<Fields, NameWith<Fields, "kind", "sortable">>,
  "output",
  string
>;

type AggregatesOf<Fields extends FieldMap> = {
  readonly sum?: NumericName<Fields> | undefined;
  readonly avg?: NumericName<Fields> | undefined;
  readonly min?: OrderedName<Fields> | undefined;
  readonly max?: OrderedName<Fields> | undefined;
};

/** The facets that fields can have. */
export type FacetsOf<Fields extends FieldMap> = Readonly<
  Record<
    string,
    | Facet<"value", GroupableName<Fields>, AggregatesOf<Fields>>
    | Facet<"date", TimeName<Fields> | NumericName<Fields>, AggregatesOf<Fields>>
    | Facet<"range", NumericName<Fields>, AggregatesOf<Fields>>
  >
>;

type Counted<Aggregates, Fields extends FieldMap> = { readonly count: number } & {
  readonly [Name in keyof Aggregates]: Name extends "min" | "max"
    ? Aggregates[Name] extends keyof Fields
      ? GroupValueOf<Fields[Aggregates[Name]]>
      : never
    : number;
};

/** One value of a facet, one period by its beginning, or one range. */
export type FacetValue<F, Fields extends FieldMap> =
  F extends Facet<infer Kind, infer Name, infer Aggregates>
    ? (Kind extends "range"
        ? { readonly from: number; readonly to: number }
        : { readonly value: Kind extends "date" ? Date : GroupValueOf<Fields[Name]> }) &
        Counted<Aggregates, Fields>
    : never;

/** The answers of facets. */
export type FacetAnswers<Facets, Fields extends FieldMap> = {
  readonly [Name in keyof Facets]: readonly FacetValue<Facets[Name], Fields>[];
};

const TOP_DEFAULT = 10;
const PERIODS_DEFAULT = 1000;
const MS_PER_SECOND = 1000;
/** From the Monday before the epoch to the epoch, which is a Thursday. */
const MONDAY_TO_EPOCH_S = 259_200;
const LABEL = "facet";

/** Periods of one width, in seconds, and how far before the epoch one of them begins. */
interface FixedWidth {
  readonly width: number;
  readonly shift: number;
}

const WIDTHS: Readonly<Record<string, FixedWidth>> = {
  week: { width: 604_800, shift: MONDAY_TO_EPOCH_S },
  day: { width: 86_400, shift: 0 },
  hour: { width: 3_600, shift: 0 },
  minute: { width: 60, shift: 0 },
};

/** The text of a facet in the grouping language, where time is so many minutes ahead of UTC. */
function facetText(schema: AnySchema, asked: Facet, zoneMinutes: number): string {
  const { field, aggregates, options } = asked;
  demandField(schema, field, asked.kind !== "value");
  for (const [name, of] of Object.entries(aggregates as Readonly<Record<string, string>>))
    demandField(schema, of, name === "sum" || name === "avg");
  const top = options.top ?? (asked.kind === "date" ? PERIODS_DEFAULT : TOP_DEFAULT);
  if (!Number.isInteger(top) || top < 1) throw invalidArgument(`top is ${top}: give a positive integer`);
  // Beside the ranges there is the group of all that is in none.
  const max = asked.kind === "range" ? (asked.edges?.length ?? 0) : top;
  const outputs = ["count()", ...Object.entries(aggregates).map(([name, of]) => `${name}(${of}) as(${name})`)];
  const order = orderText(asked);
  return `all(group(${groupText(schema, asked, zoneMinutes)}) max(${max})${order} each(output(${outputs.join(", ")})) as(${LABEL}))`;
}

/** Refuses what is no field, or has no numbers where they are needed: an answer would come all the same, and mean nothing. */
function demandField(schema: AnySchema, name: string, isNumber: boolean): void {
  demandKind("the field of a facet", name, "a text");
  const type = schema.fields[name]?.definition.type;
  if (type === undefined) throw noField(schema, name);
  if (isNumber && !isNumeric(type)) throw invalidArgument(`a facet needs numbers, which '${name}' has none of`);
}

function isNumeric(type: DataType): boolean {
  if (type.kind === "array" || type.kind === "weightedset") return isNumeric(type.element);
  return type.kind === "primitive" && ["byte", "int", "long", "float", "double"].includes(type.name);
}

function groupText(schema: AnySchema, asked: Facet, zoneMinutes: number): string {
  const { kind, field, interval, edges = [] } = asked;
  const name = identifier(field);
  // A fraction of a second would be rounded, up too.
  const seconds = isFloating(schema, field) ? `tolong(math.floor(${name}))` : name;
  if (kind === "range") {
    return `predefined(${[name, ...buckets(edges, isFloating(schema, field))].join(", ")})`;
  }
  if (kind === "value" || interval === undefined) return name;
  const fixed = WIDTHS[interval];
  if (fixed !== undefined) {
    const shift = shiftOf(fixed, zoneMinutes);
    const shifted = shift === 0 ? seconds : `add(${seconds}, ${shift})`;
    return `fixedwidth(${shifted}, ${fixed.width})`;
  }
  const year = `time.year(${seconds})`;
  const month = `time.monthofyear(${seconds})`;
  if (interval === "year") return year;
  // Year and month as one number: 202603.
  const part = interval === "month" ? month : `sub(${month}, mod(sub(${month}, 1), 3))`;
  return `add(mul(${year}, 100), ${part})`;
}

/** How far before the epoch one of the periods begins in a zone, in seconds. */
function shiftOf({ width, shift }: FixedWidth, zoneMinutes: number): number {
  const all = shift + zoneMinutes * 60;
  return ((all % width) + width) % width;
}

function isFloating(schema: AnySchema, field: string): boolean {
  const type = schema.fields[field]?.definition.type;
  return type?.kind === "primitive" && (type.name === "float" || type.name === "double");
}

function orderText({ kind, field, aggregates, options }: Facet): string {
  // When there are more periods than shown, the last ones are.
  if (kind === "date") return ` order(-max(${field}))`;
  if (kind === "range" || options.orderBy === "relevance") return "";
  const [by = "count", direction] = (options.orderBy ?? "count desc").split(" ");
  const of = by === "count" ? "" : aggregates[by as FacetAggregate];
  if (of === undefined)
    throw invalidArgument(`a facet cannot be ordered by its ${by}: say which field's with { ${by}: … }`);
  return ` order(${direction === "asc" ? "" : "-"}${by}(${of}))`;
}

/** Reads the root group of a facet, where time is so many minutes ahead of UTC. */
function readFacet(schema: AnySchema, asked: Facet, root: WireGroup, zoneMinutes: number): unknown[] {
  const list = listOf(root, "grouplist:", LABEL)?.children ?? [];
  const found = list.filter((group) => group.id !== "group:null");
  const values = found.map((group) => {
    const aggregates = Object.entries(asked.aggregates as Readonly<Record<string, string>>).map(([name, of]) => {
      const field = schema.fields[of];
      const isValue = (name === "min" || name === "max") && field !== undefined;
      return [name, (isValue ? readerOf(field) : readNumber)(group.fields?.[name])];
    });
    return {
      ...facetValue(schema, asked, group, zoneMinutes),
      count: readNumber(group.fields?.["count()"]) as number,
      ...Object.fromEntries(aggregates),
    };
  });
  if (asked.kind === "value") return values;
  return values.sort((left, right) => Number(left.from ?? left.value) - Number(right.from ?? right.value));
}

interface ValueOrRange {
  readonly value?: unknown;
  readonly from?: number;
  readonly to?: number;
}

function facetValue(schema: AnySchema, asking: Facet, group: WireGroup, zoneMinutes: number): ValueOrRange {
  const { kind, field, interval } = asking;
  const asked = schema.fields[field];
  if (kind === "value" && asked !== undefined) return { value: readValue(group, readerOf(asked)) };
  const read = readValue(group, readNumber);
  if (kind === "range") return read as ValueOrRange;
  return { value: periodOf(interval as DateInterval, read, zoneMinutes) };
}

/** When a period begins. */
function periodOf(interval: DateInterval, read: unknown, zoneMinutes: number): Date {
  const fixed = WIDTHS[interval];
  if (fixed !== undefined) {
    return new Date(((read as { readonly from: number }).from - shiftOf(fixed, zoneMinutes)) * MS_PER_SECOND);
  }
  const number = read as number;
  const [year, month] = interval === "year" ? [number, 0] : [Math.floor(number / 100), (number % 100) - 1];
  return new Date(Date.UTC(year, month, 1, 0, -zoneMinutes));
}

const FACET_CODE: FacetCode = {
  zone: (timeZone) => {
    const minutes = minutesAhead(timeZone, new Date());
    return { minutes, name: fixedZone(minutes) };
  },
  text: facetText,
  read: readFacet,
};
