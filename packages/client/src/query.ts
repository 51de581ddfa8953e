/** Writes a search as YQL and the parameters beside it. What a user typed is a parameter, never part of the YQL. */

import {
  hybridProfileName,
  type MatchBy,
  nearProfileName,
  relevantText,
  type SearchNote,
  type TextQuery,
  type TypedText,
  typedText,
  vectorParameters,
} from "@brooklet/answers/search";
import { type CellDigits, membersThere, suggestion } from "@brooklet/wire";
import { clauseText, textOfClause } from "./clause.ts";
import { type Condition, everything, literal } from "./condition.ts";
import { excerpt, FLAG, invalidArgument, type Kind, refuseUnknown, withOwnErrors } from "./error.ts";
import type { Facet, FacetsOf } from "./grouping/facet.ts";
import { CODE, type FacetCode } from "./grouping/grouped.ts";
import type { Grouping } from "./grouping/grouping.ts";
import { CONTROL_MARKS, type HighlightForm, markedFields } from "./hit/marks.ts";
import { CONSISTENCY } from "./request-options.ts";
import { mapValues } from "./schema/codec.ts";
import { inputsOf } from "./schema/profile.ts";
import type { HitFeatures } from "./schema/ranking.ts";
import { type AnySchema, noField } from "./schema/schema.ts";
import { searchedSchema } from "./schema/searched-schema.ts";
import { type Numbers, plainRow, rowValue } from "./schema/tensor.ts";
import type {
  CollapseBy,
  CommonSearchOptions,
  GroupedAnswer,
  NearQuery,
  Orders,
  SearchedMembers,
  SearchOptions,
  SelectedFields,
  SomeFields,
  SortOrder,
  VectorName,
  YqlMembers,
  YqlSearchOptions,
} from "./search-options.ts";

/** A search that is written, and not sent yet. */
export interface Query<S extends AnySchema = AnySchema, Fields = unknown, Features = HitFeatures, Grouped = unknown> {
  readonly schema: S;
  /** How hits tell what matched; as HTML unless it is said. */
  readonly highlights?: HighlightForm;
  /** @internal What hits have beside their fields: nothing but a type. */
  readonly features?: Features;
  /** @internal What the answer has beside hits: nothing but a type. */
  readonly grouped?: Grouped;
  /** The facets asked for, in the order of their groupings. */
  readonly facets?: Readonly<Record<string, Facet>>;
  /** The grouping asked for, which follows those of facets. */
  readonly grouping?: Grouping;
  /** What there is to say about what was asked. */
  readonly note?: SearchNote;
  /** @internal How many minutes ahead of UTC the periods of its date histograms are. */
  readonly zoneMinutes?: number;
  readonly yql: string;
  /** Everything beside the YQL, by the names the server has for it. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The fields that every hit has; nothing where only the server knows. */
  readonly hitFields: readonly (keyof Fields & string)[] | undefined;
  /** The YQL. */
  toString(): string;
  /** The body of the request, but for the group. */
  toJSON(): Readonly<Record<string, unknown>>;
}

/** What both kinds of search may say, as the type has it. */
const COMMON_OPTIONS = {
  profile: "a text",
  inputs: "an object",
  limit: true,
  offset: true,
  timeoutMs: true,
  timing: FLAG,
  explain: FLAG,
  highlights: ["html", "ranges"],
  partialResults: FLAG,
  consistency: CONSISTENCY,
  signal: true,
} satisfies Readonly<Record<"signal" | keyof CommonSearchOptions<AnySchema>, Kind>>;
const SEARCH_OPTIONS = {
  ...COMMON_OPTIONS,
  text: true,
  near: "an object",
  matchBy: true,
  where: true,
  orderBy: true,
  collapse: true,
  fields: "a list",
  facets: "an object",
  grouping: "an object",
  continuations: true,
  timeZone: "a text",
} satisfies Readonly<Record<"signal" | keyof AnySearch, Kind>>;
const YQL_OPTIONS = { ...COMMON_OPTIONS, parameters: "an object", summary: "a text" } as const;

const TIMEOUT_MS_DEFAULT = 5_000;
const LIMIT_DEFAULT = 10;

/**
 * Writes a search. `group.search` does it too; this is for looking at it, or for sending it again and again.
 *
 * @example
 * ```ts
 * const written = query(mail, { text: "invoice", where: (it) => it.isUnread.is(true), limit: 5 });
 * console.log(String(written)); // the YQL
 * const { hits } = await alice.run(written);
 * ```
 */
export function query<
  S extends AnySchema,
  Selected extends keyof S["fields"] & string = never,
  Profile extends S["profiles"][number] = never,
  Facets extends FacetsOf<S["fields"]> = never,
  G extends Grouping = never,
  Near extends VectorName<S> = never,
  Ordering extends Orders<S> = never,
  Explain extends boolean = false,
  Form extends HighlightForm = "html",
>(
  schema: S,
  options: SearchOptions<S, Selected, Profile, Facets, G, Near, Ordering, Explain, Form> = {},
): Query<
  S,
  SelectedFields<S, Selected>,
  SearchedMembers<S, Profile, Near, Ordering, Explain, Form>,
  GroupedAnswer<S, Facets, G>
> {
  refuseUnknown("a search", options, SEARCH_OPTIONS);
  const asked = options as unknown as AnySearch;
  const { facets, grouping } = asked;
  for (const it of [...Object.values(facets ?? {}), ...[grouping ?? []].flat()])
    if (!Object(it)[CODE]) throw invalidArgument("facets are made by facet(), groupings by grouping()");
  const text = textOf(schema, asked.text);
  const vector = asked.near === undefined ? undefined : nearParameters(schema, asked.near);
  const parameters = Object.assign(commonParameters(schema, asked, profileFor(asked, text)), vector);
  const typed = text === undefined ? undefined : withOwnErrors(() => typedText(text));
  Object.assign(parameters, typed?.parameters, collapseParameters(asked));
  const zone = zoneOf(asked);
  const zoneMinutes = zone?.minutes;
  // Whatever is read of the answer, and when: the zone that was asked for is told by its distance.
  const timeZone = zone?.name ?? asked.timeZone;
  if (timeZone !== undefined) parameters["timezone"] = timeZone;
  const hitFields = (asked.fields ?? shownFields(schema)) as (keyof SelectedFields<S, Selected> & string)[];
  return {
    ...makeQuery(schema, writeYql(schema, asked, typed, zoneMinutes ?? 0), parameters, hitFields),
    ...(asked.highlights && { highlights: asked.highlights }),
    ...membersThere({ facets, grouping, note: typed?.note, zoneMinutes }),
  };
}

/**
 * Makes a search of YQL: for what `query` has no words for. Its hits have the fields that the server chooses.
 *
 * @example
 * ```ts
 * const written = yqlQuery(mail, "select * from mail where size > @least", { parameters: { least: 1_000 } });
 * const { hits } = await alice.run(written);
 * ```
 */
export function yqlQuery<
  S extends AnySchema,
  Profile extends S["profiles"][number] = never,
  Explain extends boolean = false,
  Form extends HighlightForm = "html",
>(
  schema: S,
  yql: string,
  options: YqlSearchOptions<S, Profile, Explain, Form> = {},
): Query<S, SomeFields<S>, YqlMembers<S, Profile, Explain, Form>> {
  refuseUnknown("a search in YQL", options, YQL_OPTIONS);
  const given = mapValues(options.parameters ?? {}, (value, name) => sentValue(name, value));
  const parameters = { ...given, ...commonParameters(schema, options as unknown as AnySearch, "default") };
  if (options.summary !== undefined) parameters["presentation.summary"] = options.summary;
  return {
    ...makeQuery(schema, yql, parameters, undefined),
    ...(options.highlights && { highlights: options.highlights }),
  };
}

/** A search, once the type checker is done with it. */
interface AnySearch extends Omit<CommonSearchOptions<AnySchema>, "inputs"> {
  readonly inputs?: Readonly<Record<string, unknown>>;
  readonly text?: string | TextQuery;
  readonly near?: NearQuery;
  readonly matchBy?: MatchBy;
  readonly where?: Condition | ((fields: unknown) => Condition);
  readonly orderBy?: string | SortOrder | readonly (string | SortOrder)[];
  readonly collapse?: string | CollapseBy | readonly (string | CollapseBy)[];
  readonly fields?: readonly string[];
  readonly facets?: Readonly<Record<string, Facet>>;
  readonly grouping?: Grouping;
  readonly continuations?: string | readonly string[];
  readonly timeZone?: string;
}

function makeQuery<S extends AnySchema, Fields>(
  schema: S,
  yql: string,
  parameters: Readonly<Record<string, unknown>>,
  hitFields: Query<S, Fields>["hitFields"],
): Query<S, Fields, never, never> {
  return { schema, yql, parameters, hitFields, toString: () => yql, toJSON: () => ({ yql, ...parameters }) };
}

function commonParameters(schema: AnySchema, options: AnySearch, profile: string): Record<string, unknown> {
  const { limit = LIMIT_DEFAULT, offset = 0, timeoutMs = TIMEOUT_MS_DEFAULT } = options;
  for (const [name, count] of Object.entries({ limit, offset })) {
    if (!Number.isInteger(count) || count < 0) {
      throw invalidArgument(`${name} is ${excerpt(count)}: give an integer that is not negative`);
    }
  }
  const parameters: Record<string, unknown> = { hits: limit, offset, timeout: `${timeoutMs}ms` };
  const ranked = checkProfile(schema, options.profile ?? profile);
  parameters["ranking.profile"] = ranked;
  // What follows `from` may also be the name of a cluster, which would be all of its schemas.
  parameters["model.restrict"] = schema.name;
  for (const [name, value] of Object.entries(options.inputs ?? {}))
    parameters[inputName(schema, ranked, name)] = sentValue(name, value);
  if (options.timing === true) parameters["presentation.timing"] = true;
  if (options.explain === true) parameters["explain"] = true;
  if (options.partialResults === true) parameters["brooklet.partial"] = true;
  if (options.consistency !== undefined) parameters["consistency"] = options.consistency;
  if (markedFields(schema).length > 0) Object.assign(parameters, CONTROL_MARKS);
  return parameters;
}

function collapseParameters({ collapse }: AnySearch): Record<string, unknown> | undefined {
  if (collapse === undefined) return;
  const all = [collapse].flat().map((it) => (typeof it === "string" ? { by: it } : it));
  for (const each of all) refuseUnknown("collapse", each, ["by", "size"]);
  if (all.length === 0) return;
  const parameters: Record<string, unknown> = { collapsefield: all.map(({ by }) => by).join(",") };
  for (const { by, size = 1 } of all) {
    if (!Number.isInteger(size) || size < 1)
      throw invalidArgument(`collapse leaves ${size} hits of a '${by}': give 1 or more`);
    parameters[`collapsesize.${by}`] = size;
  }
  return parameters;
}

/** The zone of date histograms, if there are any in one. */
function zoneOf({ timeZone, facets = {} }: AnySearch): ReturnType<FacetCode["zone"]> | undefined {
  const histogram = Object.values(facets).find(({ kind }) => kind === "date");
  return timeZone === undefined ? undefined : histogram?.[CODE].zone(timeZone);
}

/** Each is one continuation or several, the first of which says where the answer was that they are of. */
function continuationsText({ continuations = [] }: AnySearch): string {
  const texts = [...new Set([continuations].flat().flatMap((text) => text.split(/\s+/)))].filter((text) => text !== "");
  const stranger = texts.find((text) => !/^[\w-]+$/.test(text));
  if (stranger !== undefined) throw invalidArgument(`${JSON.stringify(stranger)} is not a continuation of a grouping`);
  return texts.length === 0 ? "" : `{ 'continuations':[${texts.map((text) => `'${text}'`).join(", ")}] }`;
}

/** An input, as parameters name it. A server takes any, since features may ask for it: one that nothing reads is misspelt. */
function inputName(schema: AnySchema, profile: string, name: string): string {
  const known = inputsOf(schema, profile);
  if (known === undefined || known.includes(name)) return `input.query(${name})`;
  throw invalidArgument(
    `profile '${profile}' of schema ${schema.name} has no input '${name}'${suggestion(name, known)}`,
  );
}

function shownFields(schema: AnySchema): string[] {
  return Object.keys(schema.fields).filter((name) => schema.fields[name]?.definition.indexing.includes("summary"));
}

function textOf(schema: AnySchema, text: string | TextQuery | undefined): TextQuery | undefined {
  const asked = typeof text === "string" ? { query: text } : text;
  if (asked === undefined) return undefined;
  if (typeof Object(asked).query !== "string") throw invalidArgument("text is no text: give one, or { query, in }");
  if (asked.query.trim() === "") return undefined;
  checkText(schema, asked);
  return asked;
}

const TEXT_OPTIONS = {
  query: true,
  match: ["any", "all"],
  in: "a text",
  language: true,
  asYouType: FLAG,
  typos: FLAG,
} satisfies Readonly<Record<keyof TextQuery, Kind>>;
const NEAR_OPTIONS = ["field", "input", "vector", "text", "embedder", "targetHits", "distanceMax", "similarityMin"];

/** Refuses a text that says what there is not, or that is to be looked for where there is nothing. */
export function checkText(schema: AnySchema, text: TextQuery): void {
  refuseUnknown("a text", text, TEXT_OPTIONS);
  const where = text.in ?? "default";
  if (Object.hasOwn(schema.fields, where) || schema.fieldsets.includes(where)) return;
  const hint = suggestion(where, [...schema.fieldsets, ...Object.keys(schema.fields)]);
  throw invalidArgument(
    text.in === undefined
      ? `schema ${schema.name} has no text to search: declare a text() field, or say which field with { query, in }`
      : `schema ${schema.name} has no field or field set '${where}'${hint}`,
  );
}

function nearParameters(schema: AnySchema, near: NearQuery): Readonly<Record<string, unknown>> {
  refuseUnknown("near", near, NEAR_OPTIONS);
  const { vector } = near;
  const asked = vector === undefined ? near : { ...near, vector: checkedVector(schema, { ...near, vector }) };
  return withOwnErrors(() => vectorParameters(searchedSchema(schema), asked));
}

/** A vector as JSON has it, if it is one of the field's. */
export function checkedVector(
  schema: AnySchema,
  { field, vector }: { readonly field: string; readonly vector: Numbers },
): readonly number[] | string | CellDigits {
  const { codec, definition } = schema.fields[field] ?? {};
  // A profile of one's own may declare the vector with other cells, which hold other numbers and would take other digits.
  const isDeclared = Object.values(schema.ranking).some(({ inputs }) => inputs?.[field] !== undefined);
  const { zod, anyCell = zod } = codec?.near ?? codec ?? {};
  const outcome = (isDeclared ? anyCell : zod)?.safeParse(vector);
  if (outcome?.success === true) {
    const cell = definition?.type.kind === "tensor" && !isDeclared ? definition.type.cell : undefined;
    return cell === undefined ? plainRow(vector) : rowValue(cell, vector);
  }
  const known =
    definition?.type.kind === "tensor" ? outcome?.error.issues[0]?.message : definition && "it is no vector";
  const reason = known ?? `there is no such field${suggestion(field, Object.keys(schema.fields))}`;
  throw invalidArgument(`near '${field}' of schema ${schema.name} cannot be searched: ${reason}`);
}

function profileFor(
  options: { readonly near?: NearQuery; readonly orderBy?: unknown },
  text: TextQuery | undefined,
): string {
  if (options.near === undefined) return text === undefined && options.orderBy !== undefined ? "unranked" : "default";
  return text === undefined ? nearProfileName(options.near.field) : hybridProfileName(options.near.field);
}

function checkProfile(schema: AnySchema, profile: string): string {
  if (schema.profiles.includes(profile)) return profile;
  throw invalidArgument(`schema ${schema.name} has no profile '${profile}'${suggestion(profile, schema.profiles)}`);
}

/** What a caller gives for a name, as JSON has it: what JSON would change, or leave out, is refused. */
function sentValue(name: string, value: unknown): unknown {
  if (value instanceof Float32Array || value instanceof Float64Array || value instanceof Int8Array)
    return plainRow(value);
  if (Number.isFinite(value) || / (Object|Array|String|Boolean|Undefined)]/.test({}.toString.call(value))) return value;
  throw invalidArgument(`${name} is ${excerpt(value)}, which cannot be sent`);
}

function writeYql(schema: AnySchema, options: AnySearch, text: TypedText | undefined, zoneMinutes: number): string {
  const { where, fields, orderBy, limit = LIMIT_DEFAULT } = options;
  const { matchBy } = options;
  const near = text === undefined ? nearOfPage(options) : options.near;
  const matching = { limit, ...membersThere({ near, matchBy }) };
  const relevant = withOwnErrors(() => relevantText(searchedSchema(schema), text?.condition, matching));
  const parts = relevant === undefined ? [] : [relevant];
  if (where !== undefined) parts.push(filterText(schema, where));
  const condition = parts.length === 0 ? String(everything) : parts.join(" and ");
  const selected =
    fields === undefined
      ? "*"
      : [...fields.map((name) => fieldIn(schema, name)), "matchfeatures", "summaryfeatures"].join(", ");
  const orders = Array.isArray(orderBy) ? (orderBy as readonly (string | SortOrder)[]) : [orderBy ?? []].flat();
  const order = orders.length === 0 ? "" : ` order by ${orders.map((order) => sortKey(schema, order)).join(", ")}`;
  const grouped = Object.values(options.facets ?? {}).map((facet) => facet[CODE].text(schema, facet, zoneMinutes));
  if (options.grouping !== undefined) grouped.push(`${continuationsText(options)}${options.grouping}`);
  else if (options.continuations !== undefined)
    throw invalidArgument("continuations are those of a grouping: give it too");
  const groupings = grouped.map((text) => ` | ${text}`).join("");
  return `select ${selected} from ${schema.name} where ${condition}${order}${groupings}`;
}

/**
 * The vector to be near to, where nothing else is asked: the neighbours of the page, and one more if there is one, which tells by
 * the total that more follows (docs/decisions/0094). Where something is counted, sorted or ranked anew of those that match, it
 * is of as many as ever.
 */
function nearOfPage(options: AnySearch): NearQuery | undefined {
  const { near, limit = LIMIT_DEFAULT, offset = 0 } = options;
  const decides = [near?.targetHits, near?.distanceMax, near?.similarityMin, options.profile, options.orderBy];
  const counts = [options.collapse, options.facets, options.grouping];
  const isPage = limit > 0 && [...decides, ...counts].every((it) => it === undefined);
  if (near === undefined || !isPage) return near;
  return { ...near, targetHits: offset + limit + 1 };
}

/** The YQL of a condition. */
export function filterText(schema: AnySchema, where: Condition | ((fields: never) => Condition)): string {
  if (typeof where !== "function") return textOfClause("condition", "where", where);
  return clauseText("condition", "where", () => where(namingStrangers(schema) as never));
}

/** The conditions of a schema's fields, where another field is an error that names it: for callers without types. */
function namingStrangers(schema: AnySchema): object {
  return new Proxy(schema.conditions, {
    get(conditions, name, receiver): unknown {
      if (typeof name !== "string" || name in conditions) return Reflect.get(conditions, name, receiver);
      throw noField(schema, name);
    },
  });
}

/** The name of a field that there is: nothing else becomes part of the query, whatever a caller without types was given. */
function fieldIn(schema: AnySchema, name: string): string {
  if (Object.hasOwn(schema.fields, name)) return name;
  throw noField(schema, name);
}

function sortKey(schema: AnySchema, order: string | SortOrder): string {
  if (typeof order === "string") {
    const [by = "", direction, ...more] = order.trim().split(/\s+/);
    if (more.length > 0) throw invalidArgument(`'${order}' is no order: give a field, and 'asc' or 'desc'`);
    return sortKey(schema, { by, direction } as SortOrder);
  }
  refuseUnknown("an order", order, ["by", "direction", "function", "locale", "strength"]);
  const { by, direction, ...annotations } = order;
  if (direction !== undefined && !/^(asc|desc)$/i.test(direction))
    throw invalidArgument(`an order is 'asc' or 'desc', not '${direction}'`);
  const said = Object.entries(annotations).filter(([, value]) => value !== undefined);
  const annotation = said.map(([name, value]) => `${name}: ${literal(value)}`).join(", ");
  const name = typeof by === "string" && by.startsWith("[") ? literal(by) : fieldIn(schema, by);
  // Behind an annotation alone the name of a field might be that of an operator: `matches`.
  return `${annotation ? `{${annotation}}(${name})` : name}${direction === undefined ? "" : ` ${direction}`}`;
}
