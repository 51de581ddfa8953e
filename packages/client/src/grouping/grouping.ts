/** Groups in groups, written with the whole grouping language, and read with the types of its expressions. */
import type { Hit as WireHit } from "@brooklet/wire";
import { textOfClause, withoutLeftovers } from "../clause.ts";
import { demandKind, invalidArgument, unexpectedAnswer } from "../error.ts";
import type { FoundDocument } from "../hit/found-document.ts";
import type { Field, FieldMap, ShapeOf } from "../schema/field.ts";
import { hasWholeSeconds } from "../schema/point-in-time.ts";
import { type AnySchema, demandSchema } from "../schema/schema.ts";
import { CODE, type GroupingCode } from "./grouped.ts";
import {
  type Aggregation,
  expressionText,
  GROUPING_LANGUAGE,
  type GroupingExpression,
  GroupingField,
  type GroupingFilter,
  identifier,
  quote,
  type ReadValue,
  readBigint,
  readBool,
  readDate,
  readNumber,
  readScalar,
  readText,
  readWholeDate,
} from "./grouping-expression.ts";

type Scalar = string | number | bigint | boolean | Date;
type OnlyScalar<Value> = Value extends Scalar ? Value : never;

/** A value that a field opens groups by: its own, or those of its elements; `never` for what cannot be grouped by. */
export type GroupValueOf<F> = ShapeOf<F>["kind"] extends "text" | "sortable"
  ? OnlyScalar<ShapeOf<F>["output"]>
  : ShapeOf<F>["kind"] extends "weighted"
    ? string
    : ShapeOf<F>["kind"] extends "array" | "chunks"
      ? ShapeOf<F>["output"] extends readonly (infer Element)[]
        ? OnlyScalar<Element>
        : never
      : never;

/** The fields of documents as expressions. */
export type GroupingFieldsOf<Fields extends FieldMap> = {
  readonly [Name in keyof Fields]: GroupingField<
    [GroupValueOf<Fields[Name]>] extends [never] ? unknown : GroupValueOf<Fields[Name]>
  >;
};

/** The grouping language. */
export type GroupingLanguage = typeof GROUPING_LANGUAGE & {
  /** Opens a group for every value of an expression. */
  readonly groups: typeof groups;
};

/** Aggregations by the names their values shall have. */
export type OutputMap = Readonly<Record<string, Aggregation>>;

/** Lists of groups by the names they shall have. */
export type GroupListMap = Readonly<Record<string, GroupList>>;

/** What is said of a list of groups. */
export interface GroupListOptions<Outputs extends OutputMap, Groups extends GroupListMap, Hits extends boolean> {
  /** The most groups; 10 by default. */
  readonly max?: number;
  /** The groups that are kept before the last cut. */
  readonly precision?: number;
  /** Which come first: by aggregations, the least first unless `descending()`; without it by relevance. */
  readonly order?: GroupingExpression | readonly GroupingExpression[];
  /** Which documents, or elements, open groups. */
  readonly filter?: GroupingFilter;
  /** What is computed of each group. */
  readonly output?: Outputs;
  /** Groups in each group. */
  readonly groups?: Groups;
  /** Whether each group has its hits. */
  readonly hits?: Hits;
  /** How many hits of each group at most; 10 by default. */
  readonly hitsMax?: number;
  /** Whether to count all groups, shown or not: `total` of the list. */
  readonly total?: boolean;
  /** The summary class of hits. */
  readonly summary?: string;
  /** Operations as text, in the body of the list: for what is missing here. */
  readonly raw?: string;
}

/** A list of groups that is asked for. */
export interface GroupList<
  out Value = unknown,
  out Outputs extends OutputMap = OutputMap,
  out Groups extends GroupListMap = GroupListMap,
  out Hits extends boolean = boolean,
> {
  readonly by: GroupingExpression<Value>;
  readonly options: GroupListOptions<Outputs, Groups, Hits>;
}

/** A grouping that is written. `String(…)` gives its text. */
export interface Grouping<out Outputs extends OutputMap = OutputMap, out Groups extends GroupListMap = GroupListMap> {
  readonly output: Outputs;
  readonly groups: Groups;
  /** @internal How its answer is read. */
  readonly [CODE]: GroupingCode;
  toString(): string;
}

/** What is asked of all documents that match. */
export interface GroupingDefinition<Outputs extends OutputMap, Groups extends GroupListMap> {
  /** What is computed of all of them. */
  readonly output?: Outputs;
  /** Lists of groups. */
  readonly groups?: Groups;
  /** Only so many documents are looked at: the first ones in the order of their ids. */
  readonly first?: number;
  /** Whether all documents are looked at, those that do not match too. Their groups have no hits. */
  readonly allDocuments?: boolean;
}

/** A part of a list that goes on before or after it. What `next` and `previous` are is for `continuations` of a search. */
export type Page<Element> = readonly Element[] & {
  readonly next?: string;
  readonly previous?: string;
  /** How many groups there are, shown or not, if it was asked for. */
  readonly total?: number;
};

/** Values of aggregations. */
export type OutputsOf<Outputs extends OutputMap> = {
  readonly [Name in keyof Outputs]: Outputs[Name] extends Aggregation<infer Value> ? Value : never;
};

/** A group of an answer. `value` is null for what is in none of the predefined ranges. */
export type GroupOf<List, Fields> =
  List extends GroupList<infer Value, infer Outputs, infer Groups, infer Hits>
    ? {
        readonly value: Value | null;
        readonly relevance: number;
        readonly output: OutputsOf<Outputs>;
        readonly groups: GroupListsOf<Groups, Fields>;
      } & (Hits extends true ? { readonly hits: Page<FoundDocument<Fields>> } : unknown)
    : never;

/** Lists of groups of an answer. */
export type GroupListsOf<Groups extends GroupListMap, Fields> = {
  readonly [Name in keyof Groups]: Page<GroupOf<Groups[Name], Fields>>;
};

/** What a grouping answers: aggregations of all documents, and groups of them. */
export interface GroupingAnswer<G extends Grouping, Fields> {
  readonly output: OutputsOf<G["output"]>;
  readonly groups: GroupListsOf<G["groups"], Fields>;
}

/** A group or list of an answer, as the server writes it. */
export interface WireGroup {
  readonly id: string;
  readonly label?: string;
  readonly value?: string;
  readonly limits?: { readonly from: string; readonly to: string };
  readonly relevance: unknown;
  readonly continuation?: { readonly this?: string; readonly next?: string; readonly prev?: string };
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly children?: readonly WireGroup[];
}

const GROUPS_DEFAULT = 10;

/** Opens a group for every value of an expression. */
function groups<
  Value,
  const Outputs extends OutputMap = Readonly<Record<never, Aggregation>>,
  const Groups extends GroupListMap = Readonly<Record<never, GroupList>>,
  const Hits extends boolean = false,
>(
  by: GroupingExpression<Value>,
  options: GroupListOptions<Outputs, Groups, Hits> = {},
): GroupList<Value, Outputs, Groups, Hits> {
  return { by, options };
}

const LANGUAGE: GroupingLanguage = { ...GROUPING_LANGUAGE, groups };

/**
 * Writes a grouping of what a search matches:
 * `grouping(mail, (it, g) => ({ groups: { senders: g.groups(it.sender, { output: { bytes: g.sum(it.size) } }) } }))`.
 *
 * @example
 * ```ts
 * const bySender = grouping(mail, (it, g) => ({
 *   groups: { senders: g.groups(it.sender, { output: { bytes: g.sum(it.size) } }) },
 * }));
 * const { grouping: found } = await alice.search(mail, { grouping: bySender });
 * ```
 */
export function grouping<
  S extends AnySchema,
  const Outputs extends OutputMap = Readonly<Record<never, Aggregation>>,
  const Groups extends GroupListMap = Readonly<Record<never, GroupList>>,
>(
  schema: S,
  write: (fields: GroupingFieldsOf<S["fields"]>, language: GroupingLanguage) => GroupingDefinition<Outputs, Groups>,
): Grouping<Outputs, Groups> {
  demandSchema(schema);
  demandKind("what grouping is given", write, "a function");
  const fields = Object.entries(schema.fields).map(([name, field]) => [name, groupingField(name, field)]);
  return withoutLeftovers("a grouping", () =>
    groupingOf(write(Object.fromEntries(fields) as GroupingFieldsOf<S["fields"]>, LANGUAGE)),
  );
}

function groupingOf<Outputs extends OutputMap, Groups extends GroupListMap>({
  output = {} as Outputs,
  groups = {} as Groups,
  first,
  allDocuments,
}: GroupingDefinition<Outputs, Groups>): Grouping<Outputs, Groups> {
  const parts = [...outputText(output), ...listTexts(groups)];
  if (parts.length === 0) throw invalidArgument("a grouping needs an output or groups");
  if (first !== undefined) parts.unshift(`max(${count("first", first)})`);
  const text = `all(${parts.join(" ")})${allDocuments === true ? " where(true)" : ""}`;
  return { output, groups, [CODE]: { read: readGrouping }, toString: () => text };
}

function groupingField(name: string, field: Field): GroupingField {
  return new GroupingField(name, readerOf(field));
}

/** @internal How the values of a field are read where it is grouped by. */
export function readerOf({ definition, codec }: Field): ReadValue {
  const { type, isExact } = definition;
  if (isExact === true) return readBigint;
  const single = type.kind === "array" ? type.element : type;
  if (single.kind === "weightedset") return readText;
  if (single.kind !== "primitive") return readScalar;
  if (single.name === "string" || single.name === "uri" || single.name === "raw") return readText;
  if (single.name === "bool") return readBool;
  if (single.name === "position") return readScalar;
  // What a second is decoded as tells a timestamp from a number.
  const decoded = type.kind === "array" ? (codec.decode([0]) as readonly unknown[])[0] : codec.decode(0);
  if (!(decoded instanceof Date)) return readNumber;
  return hasWholeSeconds(single) ? readWholeDate : readDate;
}

function outputText(output: OutputMap): string[] {
  const outputs = Object.entries(output).map(
    ([name, aggregation]) => `${expressionText(`the output '${name}'`, aggregation)} as(${quote(name)})`,
  );
  return outputs.length === 0 ? [] : [`output(${outputs.join(", ")})`];
}

function listTexts(lists: GroupListMap): string[] {
  return Object.entries(lists).map(([name, list]) => listText(name, list));
}

function listText(name: string, { by, options }: GroupList): string {
  const { max = GROUPS_DEFAULT, precision, order = [], filter, raw, output = {}, groups: inner = {} } = options;
  const orders = [order].flat().map((given) => expressionText(`the order of '${name}'`, given));
  const body = [`group(${expressionText(`what '${name}' groups by`, by)})`];
  if (filter !== undefined) body.push(`filter(${textOfClause("filter", `the filter of '${name}'`, filter)})`);
  // Always said: a list inside would take over the `max` of its group's hits.
  body.push(`max(${max === Infinity ? "inf" : count("max", max)})`);
  if (precision !== undefined) body.push(`precision(${count("precision", precision)})`);
  if (orders.length > 0) body.push(`order(${orders.join(", ")})`);
  if (raw !== undefined) body.push(raw);
  if (options.total === true) body.push(`output(count() as(${quote(totalOf(name))}))`);
  const each = [...hitsText(options), ...outputText(output), ...hitsEach(options), ...listTexts(inner)];
  if (each.length === 0) each.push("output(count())");
  return `all(${body.join(" ")} each(${each.join(" ")}) as(${quote(name)}))`;
}

/** The label of the number of groups of a list, which stands among the outputs of the group around it. */
function totalOf(name: string): string {
  return `${name}: total`;
}

function hitsText({ hits, hitsMax }: GroupList["options"]): string[] {
  return hits === true && hitsMax !== undefined ? [`max(${count("hitsMax", hitsMax)})`] : [];
}

function hitsEach({ hits, summary }: GroupList["options"]): string[] {
  return hits === true ? [`each(output(summary(${summary === undefined ? "" : identifier(summary)})))`] : [];
}

function count(name: string, value: number): string {
  if (Number.isInteger(value) && value > 0) return String(value);
  throw invalidArgument(`${name} is ${value}: give a positive integer`);
}

/** Reads the root group of an answer. */
function readGrouping(
  asked: Grouping,
  root: WireGroup,
  readHit: (hit: WireHit) => FoundDocument<unknown>,
): GroupingAnswer<Grouping, unknown> {
  const reading: Reading = { readHit, here: root.continuation?.this ?? "" };
  return { output: readOutputs(asked.output, root), groups: readLists(asked.groups, root, reading) };
}

/** What is needed to read any part of an answer. */
interface Reading {
  readonly readHit: (hit: WireHit) => FoundDocument<unknown>;
  /** The continuation of the answer as it is. */
  readonly here: string;
}

/** A list with where it goes on. That is not among its members: a list that is printed or compared is its elements. */
function pageOf<Element>(
  elements: readonly Element[],
  list: WireGroup | undefined,
  { here }: Reading,
  total: unknown,
): Page<Element> {
  const moved = (to: string | undefined) => (to === undefined ? undefined : `${here} ${to}`.trim());
  const { next, prev } = list?.continuation ?? {};
  const properties = {
    next: moved(next),
    previous: moved(prev),
    total: total === undefined ? undefined : Number(total),
  };
  for (const [name, value] of Object.entries(properties)) {
    if (value !== undefined) Object.defineProperty(elements, name, { value });
  }
  return elements as Page<Element>;
}

function readOutputs(output: OutputMap, group: WireGroup): OutputsOf<OutputMap> {
  const values = Object.entries(output).map(([name, { read }]) => {
    const json = group.fields?.[name];
    return [name, json === undefined ? undefined : read(json)];
  });
  return Object.fromEntries(values) as OutputsOf<OutputMap>;
}

function readLists(lists: GroupListMap, parent: WireGroup, reading: Reading): GroupListsOf<GroupListMap, unknown> {
  const read = Object.entries(lists).map(([name, list]) => {
    const found = listOf(parent, "grouplist:", name);
    const groups = (found?.children ?? []).map((group) => readGroup(list, group, reading));
    return [
      name,
      pageOf(groups, found, reading, list.options.total === true ? parent.fields?.[totalOf(name)] : undefined),
    ];
  });
  return Object.fromEntries(read) as GroupListsOf<GroupListMap, unknown>;
}

function readGroup(list: GroupList, group: WireGroup, reading: Reading): unknown {
  const { output = {}, groups: inner = {}, hits } = list.options;
  const shown = {
    value: readValue(group, list.by.read),
    relevance: Number(group.relevance),
    output: readOutputs(output, group),
    groups: readLists(inner, group, reading),
  };
  if (hits !== true) return shown;
  const found = listOf(group, "hitlist:", "hits");
  const read = (found?.children ?? []).map((hit) => reading.readHit(hit as unknown as WireHit));
  return { ...shown, hits: pageOf(read, found, reading, undefined) };
}

/** @internal A list of a group. An empty one is left out of answers. */
export function listOf(parent: WireGroup, kind: string, label: string): WireGroup | undefined {
  return parent.children?.find((child) => child.id.startsWith(kind) && child.label === label);
}

/** @internal What a group is the group of: a value, a range, or null for what is in no range. */
export function readValue(group: WireGroup, read: ReadValue): unknown {
  if (group.id === "group:null") return null;
  if (group.limits !== undefined) return { from: read(group.limits.from), to: read(group.limits.to) };
  if (group.value === undefined) throw unexpectedAnswer(`the group ${group.id} has no value`);
  return read(group.value);
}
