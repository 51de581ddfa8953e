/**
 * A search read to its end, however much it finds: page after page in the order of fields and, among equals, of ids. A page
 * begins after the last document of the one before, by a selection of what comes behind it, so nothing is counted off: no
 * limit on what is skipped applies, and no document comes twice or is left out while nobody writes.
 */
import { decodeBase64, encodeBase64, type Hit as WireHit, type SearchResult as WireResult } from "@brooklet/wire";
import { type DocumentSet, wholeId } from "./document-id.ts";
import { type DocumentPlace, documentSet } from "./document-request.ts";
import { demandKind, invalidArgument, refuseUnknown, unexpectedAnswer } from "./error.ts";
import { exchange } from "./exchange.ts";
import { type Hit, readResult, wholeRoot } from "./hit/result.ts";
import { type Query, query } from "./query.ts";
import { memberOf } from "./schema/check.ts";
import type { Field } from "./schema/field.ts";
import type { AnySchema } from "./schema/schema.ts";
import type { SearchOptions, SortOrder } from "./search-options.ts";
import { selectionLiteral } from "./selection-clause.ts";

/** A page of a search that is read to its end. */
export interface Page<Fields, Features> {
  readonly hits: readonly Hit<Fields, Features>[];
  /** What to give as `after` for the next page; nothing: this is the last one. */
  readonly next?: string;
}

/** Where a page begins: values of the sort keys, and the id of the document that it comes after. */
interface Position {
  readonly order: string;
  readonly values: readonly KeyValue[];
  readonly id: string;
}

type KeyValue = string | number | boolean | null;

/** A field that is ordered by. */
interface SortedField {
  readonly name: string;
  readonly field: Field;
  readonly isDescending: boolean;
}

const PAGE_SIZE = 100;
const PAGE_SIZE_MAX = 400;

const OF_ALL = "facets and groups are of all matches: ask for them by search";

/** What the order of fields leaves no room for. */
const MEANINGLESS: Readonly<Record<string, string>> = {
  offset: "it goes on after the page before: give `after`",
  limit: "give pageSize, and stop when there is enough",
  collapse: "what one page leaves out would be the first of its kind in the next",
  facets: OF_ALL,
  grouping: OF_ALL,
  continuations: OF_ALL,
  timeZone: OF_ALL,
  partialResults: "a part of a page would be gone on after as if it were whole",
};

/** One page. */
export async function searchPage<Fields, Features>(
  place: DocumentPlace,
  schema: AnySchema,
  options: object,
): Promise<Page<Fields, Features>> {
  checkOptions(options as Readonly<Record<string, unknown>>);
  const { pageSize = PAGE_SIZE, after, orderBy, signal, fields, ...search } = options as PageRequest;
  const sorted = sortedFields(schema, orderBy);
  const order = sortingText(sorted);
  const set = documentSet(schema, place.group);
  const from = after === undefined ? undefined : positionOf(after, order, sorted, set);
  // Nothing is ranked, unless a profile is asked for, or a vector, which decides nothing else here.
  const rank = search.near === undefined && { profile: "unranked" };
  const asked = { ...rank, ...search, limit: pageSize } as SearchOptions<AnySchema>;
  const written = query(schema, { ...asked, ...(fields === undefined ? {} : { fields: withKeys(fields, sorted) }) });
  const body = JSON.stringify({ ...written.toJSON(), sorting: order, ...scopeOf(place.group, schema, sorted, from) });
  const request = { method: "POST", target: "/search/", body, signal, isRepeatable: true, isExact: true } as const;
  const answer = (await exchange(place.exchange, request)).json as WireResult;
  const shown = fields === undefined ? written : { ...written, hitFields: fields };
  const { hits } = await readResult(shown as unknown as Query<AnySchema, Fields, Features>, answer);
  const last = wholeRoot(answer).children?.at(-1) as WireHit | undefined;
  if (last === undefined || hits.length < pageSize) return { hits };
  return { hits, next: nextOf(last, order, sorted, set) };
}

/** All pages, one hit after another. */
export async function* searchAll<Fields, Features>(
  place: DocumentPlace,
  schema: AnySchema,
  options: object,
): AsyncGenerator<Hit<Fields, Features>, void, undefined> {
  checkOptions(options as Readonly<Record<string, unknown>>);
  const asked: PageRequest = { pageSize: PAGE_SIZE_MAX, ...options };
  let next = asked.after;
  do {
    const from = next === undefined ? asked : { ...asked, after: next };
    const page: Page<Fields, Features> = await searchPage(place, schema, from);
    for (const hit of page.hits) {
      asked.signal?.throwIfAborted();
      place.exchange.closed?.throwIfAborted();
      yield hit;
    }
    ({ next } = page);
  } while (next !== undefined);
}

interface PageRequest {
  readonly pageSize?: number;
  readonly after?: string;
  readonly orderBy?: string | SortOrder | readonly (string | SortOrder)[];
  readonly signal?: AbortSignal;
  readonly fields?: readonly string[];
  readonly near?: unknown;
}

const OPTIONS = [
  ...["text", "near", "matchBy", "where", "profile", "inputs", "fields", "orderBy", "timeoutMs", "timing", "explain"],
  ...["highlights", "consistency", "pageSize", "after", "signal"],
];

function checkOptions(options: Readonly<Record<string, unknown>>): void {
  demandKind("a cursor", options, "an object");
  for (const [name, reason] of Object.entries(MEANINGLESS)) {
    if (options[name] !== undefined) throw invalidArgument(`a cursor takes no '${name}': ${reason}`);
  }
  refuseUnknown("a cursor", options, OPTIONS);
  if (options["fields"] !== undefined) demandKind("fields", options["fields"], "a list");
  const { pageSize = PAGE_SIZE } = options as PageRequest;
  if (!(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= PAGE_SIZE_MAX))
    throw invalidArgument(`pageSize is ${pageSize}: give a whole number from 1 to ${PAGE_SIZE_MAX}`);
  if (options["near"] === undefined || options["matchBy"] === "words") return;
  throw invalidArgument("a cursor takes no 'near' that decides what matches: search, with targetHits");
}

function sortedFields(schema: AnySchema, orderBy: PageRequest["orderBy"] = []): SortedField[] {
  return [orderBy].flat().map((given) => {
    const { name, isDescending } = typeof given === "string" ? keyOfText(given) : keyOfOrder(given as SortOrder);
    const field = memberOf(schema.fields, name) as Field | undefined;
    if (field === undefined)
      throw invalidArgument(`a cursor cannot be ordered by '${name}': give fields of the schema`);
    const { type, indexing } = field.definition;
    if (type.kind === "primitive" && type.name !== "position" && indexing.includes("attribute"))
      return { name, field, isDescending };
    throw invalidArgument(`a cursor cannot be ordered by '${name}': it has no single value that is compared`);
  });
}

function keyOfText(text: string): { readonly name: string; readonly isDescending: boolean } {
  const [name = "", direction] = text.trim().split(/\s+/);
  return { name, isDescending: direction === "desc" };
}

function keyOfOrder({ by, direction, ...others }: SortOrder): ReturnType<typeof keyOfText> {
  const { function: compared = "raw", ...more } = others;
  const said = Object.entries(more).find(([, value]) => value !== undefined);
  if (compared === "raw" && said === undefined) return { name: by, isDescending: direction === "desc" };
  throw invalidArgument(`a cursor compares texts by their bytes: leave out '${said?.[0] ?? "function"}' of '${by}'`);
}

/** The order as the server reads it. A text that is not set is as an empty one: answers do not tell them apart. */
function sortingText(sorted: readonly SortedField[]): string {
  const keys = sorted.map(({ name, field, isDescending }) => {
    const by = isText(field) ? `missing(raw(${name}),as,"")` : name;
    return `${isDescending ? "-" : "+"}${by}`;
  });
  return [...keys, "+[docid]"].join(" ");
}

function isText({ definition: { type } }: Field): boolean {
  return type.kind === "primitive" && type.name === "string";
}

function withKeys(fields: readonly string[], sorted: readonly SortedField[]): never[] {
  return [...new Set([...fields, ...sorted.map(({ name }) => name)])] as never[];
}

/** What is searched: the group, or of it what comes after a position. */
function scopeOf(
  group: string,
  schema: AnySchema,
  sorted: readonly SortedField[],
  from: Position | undefined,
): Readonly<Record<string, string>> {
  if (from === undefined) return { "streaming.groupname": group };
  const behind = behindOf(schema, sorted, from).map((part) => `(${part})`);
  return { "streaming.selection": `id.group == ${selectionLiteral(group)} and (${behind.join(" or ")})` };
}

/** The ways to come after a position: by the first key that differs, or by the id where all are equal. */
function behindOf(schema: AnySchema, sorted: readonly SortedField[], { values, id }: Position): string[] {
  const ways: string[] = [];
  const equal: string[] = [];
  for (const [index, key] of sorted.entries()) {
    const compared = comparisons(`${schema.name}.${key.name}`, key, values[index] ?? null);
    for (const after of compared.after) ways.push([...equal, after].join(" and "));
    equal.push(compared.equal);
  }
  return [...ways, [...equal, `id > ${selectionLiteral(id)}`].join(" and ")];
}

/** What of a field comes after a value, and what equals it. What is not set is first, or last where the order descends. */
function comparisons(
  path: string,
  { field, isDescending }: SortedField,
  value: KeyValue,
): { readonly equal: string; readonly after: readonly string[] } {
  const unset = `${path} == null`;
  if (value === null || value === "") {
    const equal = isText(field) ? `(${unset} or ${path} == "")` : unset;
    const isSet = isText(field) ? `${path} > ""` : `${path} != null`;
    return { equal, after: isDescending ? [] : [isSet] };
  }
  const written = literalOf(field, value);
  const equal = `${path} == ${written}`;
  if (typeof value === "boolean") {
    const other = value === isDescending ? [`${path} == ${selectionLiteral(!value)}`] : [];
    return { equal, after: isDescending ? [...other, unset] : other };
  }
  return { equal, after: isDescending ? [`${path} < ${written}`, unset] : [`${path} > ${written}`] };
}

/** A value in a selection. Integers that a number would round are texts of their digits until here. */
function literalOf(field: Field, value: string | number | boolean): string {
  if (typeof value !== "string" || isText(field)) return selectionLiteral(value);
  if (/^-?\d{1,19}$/.test(value)) return value;
  throw invalidArgument("`after` is not what a page gave as `next`");
}

function nextOf({ id, fields = {} }: WireHit, order: string, sorted: readonly SortedField[], set: DocumentSet): string {
  const values = sorted.map(({ name, field }) => keyValue(name, field, memberOf(fields, name)));
  return encodeBase64(new TextEncoder().encode(JSON.stringify([order, values, wholeId(set, id)])), "url");
}

/** A value exactly as it is stored. */
function keyValue(name: string, { definition: { type } }: Field, shown: unknown): KeyValue {
  if (shown === undefined || shown === null) return null;
  if (typeof shown === "string" || typeof shown === "boolean") return shown;
  if (typeof shown !== "number" || !Number.isFinite(shown))
    throw unexpectedAnswer(`a cursor cannot go on after the value ${JSON.stringify(shown)} of '${name}'`);
  // It is shown by as few digits as tell it from other floats; compared it is a double.
  return type.kind === "primitive" && type.name === "float" ? Math.fround(shown) : shown;
}

/** The position that `after` means. Throws if it is of another order. */
function positionOf(after: string, order: string, sorted: readonly SortedField[], set: DocumentSet): Position {
  const read = parseCursor(after);
  if (!Array.isArray(read) || read.length !== 3) throw invalidArgument("`after` is not what a page gave as `next`");
  const [of, values, id] = read as readonly unknown[];
  if (of !== order) throw invalidArgument("`after` is of a page in another order: give the same orderBy");
  const isPosition =
    typeof id === "string" && Array.isArray(values) && values.length === sorted.length && values.every(isKeyValue);
  if (!isPosition) throw invalidArgument("`after` is not what a page gave as `next`");
  return { order, values, id: wholeId(set, id) };
}

function isKeyValue(value: unknown): value is KeyValue {
  return value === null || ["string", "boolean", "number"].includes(typeof value);
}

function parseCursor(text: string): unknown {
  const bytes = decodeBase64(String(text), "url");
  try {
    return bytes === undefined ? undefined : JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
