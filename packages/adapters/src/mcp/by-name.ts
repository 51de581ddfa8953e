/** Documents of a schema that is known by its name alone: asked of the server's own interfaces, shown as they come. */
import {
  bool,
  double,
  givenId,
  invalidArgument,
  schema as schemaOf,
  shownId,
  string,
  timestamp,
  type WireAnswer,
} from "@brooklet/client";
import { documentNameProblem } from "@brooklet/wire";
import { type ModelFilter, modelFilter } from "../model-field.ts";
import type { ModelSearch } from "../model-search.ts";
import type { McpDocuments, McpNamed } from "./documents.ts";

type Json = Readonly<Record<string, unknown>>;

/** Integers that a number would round are the text of their digits. */
const READ = { isRepeatable: true, isExact: true } as const;
/** What a summary has beside the fields of a document. */
const OF_THE_HIT: ReadonlySet<string> = new Set(["documentid", "sddocname", "matchfeatures", "summaryfeatures"]);

function post(options: McpNamed, target: string, body: Json, signal: AbortSignal): Promise<WireAnswer> {
  return options.client.request({ ...READ, method: "POST", target, body: JSON.stringify(body), signal });
}

/** The documents of a schema by its name. By what is said of its fields they are filtered; without it there are no filters. */
export function documentsByName(options: McpNamed): McpDocuments {
  const { group, schema, namespace = schema } = options;
  for (const [part, name] of [["group", group] as const, ["namespace", namespace] as const]) {
    const problem = documentNameProblem(part, name);
    if (problem !== undefined) throw invalidArgument(`'${String(name)}' cannot be the ${part} of a server: ${problem}`);
  }
  const filter = filterOf(options);
  const where = (filled: unknown): Json => {
    const condition = filter?.condition(filled);
    return condition === undefined ? {} : { filter: String(condition) };
  };
  return {
    filter,
    search: async (asked, signal) => {
      const isInOrder = asked.sort !== undefined || asked.query.trim() === "";
      const body = isInOrder
        ? orderedRequest(options, asked, where(asked.filter))
        : relevanceRequest(options, asked, where(asked.filter));
      return resultOf(options, await post(options, isInOrder ? "/search/" : "/brooklet/v1/search", body, signal));
    },
    get: (id, signal) => get(options, id, signal),
    retrieve: ({ question, tokens, filter: filled }, signal) => {
      return retrieve(options, { question, tokens, ...where(filled) }, signal);
    },
  };
}

const FIELD_OF_KIND = {
  text: () => string().optional(),
  number: () => double().optional(),
  truth: () => bool().optional(),
  date: () => timestamp().optional(),
};

/** What a model filters by: the fields that are told, as if they were all there are. */
function filterOf({ schema, fields = {} }: McpNamed): ModelFilter | undefined {
  const told = Object.entries(fields);
  if (told.length === 0) return undefined;
  return modelFilter(
    schemaOf(schema, Object.fromEntries(told.map(([name, kind]) => [name, FIELD_OF_KIND[kind]()]))),
    undefined,
  );
}

/** Fields with dates as texts, and without vectors, which say nothing to a reader. */
function readable(fields: Json, kinds: McpNamed["fields"] = {}): Json {
  const isDate = (name: string, value: unknown): value is number => {
    return typeof value === "number" && Object.hasOwn(kinds, name) && kinds[name] === "date";
  };
  const isTensor = (value: unknown): boolean => {
    const { type, ...rest } = Object(value) as Json;
    return (
      typeof type === "string" && type.startsWith("tensor") && /^(values|cells|blocks)$/.test(String(Object.keys(rest)))
    );
  };
  const shown = Object.entries(fields).filter(([, value]) => !isTensor(value));
  return Object.fromEntries(shown.map(([name, value]) => [name, isDate(name, value) ? dateText(value) : value]));
}

const SECOND_MS = 1_000;

/** A time in seconds as text; a number that is no time stays one. */
function dateText(seconds: number): string | number {
  const date = new Date(seconds * SECOND_MS);
  return Number.isNaN(date.getTime()) ? seconds : date.toISOString();
}

/** A search in the order of a field, or for what a filter lets through: words, if there are any, have to be there. */
function orderedRequest(
  { group, schema }: McpNamed,
  { query, limit, sort }: ModelSearch,
  { filter = "true" }: Json,
): Json {
  const hasWords = query.trim() !== "";
  const words = hasWords ? ' and ({grammar: "all"}userInput(@words))' : "";
  return {
    yql: `select * from ${schema} where ${filter}${words}${sort === undefined ? "" : ` order by ${sort}`}`,
    ...(hasWords ? { words: query } : {}),
    hits: limit,
    ranking: "unranked",
    "streaming.groupname": group,
  };
}

/** A search for words, and near to them, the best first. */
function relevanceRequest({ group, schema, near }: McpNamed, { query, limit }: ModelSearch, where: Json): Json {
  // A profile of its own ranks by the vector alone, so that searches are by words then.
  const beside = near === undefined ? {} : { near: near.profile === undefined ? near : (false as const) };
  return { group, schema, text: query, limit, ...where, ...beside };
}

/** A part that every answer of an interface has. What stands before a server may answer something else, with status 200. */
function partOf(json: unknown, name: string): object {
  const part = (Object(json) as Json)[name];
  if (typeof part === "object" && part !== null) return part;
  throw new Error(`The answer has no '${name}': is it a server of brooklet that is asked?`);
}

function resultOf(options: McpNamed, { json }: WireAnswer): Record<string, unknown> {
  const root = partOf(json, "root");
  const { children = [], fields: counts } = root as {
    readonly fields?: { readonly totalCount?: number };
    readonly children?: readonly { readonly id: string; readonly relevance: number; readonly fields?: Json }[];
  };
  const hits = children.map(({ id, relevance, fields = {} }) => ({
    id: nameIn(options, id),
    relevance: Number(relevance),
    fields: readable(
      Object.fromEntries(Object.entries(fields).filter(([field]) => !OF_THE_HIT.has(field))),
      options.fields,
    ),
  }));
  return { totalCount: counts?.totalCount ?? 0, hits };
}

/** The id that a model is shown, and reads the document by: the whole one where a document is of another namespace, as any may be that is found. */
function nameIn({ schema, namespace = schema, group }: McpNamed, whole: string): string {
  return whole.startsWith(`id:${namespace}:${schema}:g=${group}:`) ? shownId(whole) : whole;
}

async function get(options: McpNamed, id: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { namespace = options.schema, schema, group } = options;
  const [of, given] = givenId({ namespace, type: schema, group }, id);
  // Some ways to send a request take these for steps in the path.
  if (given === "." || given === "..") return { found: false, fields: {} };
  for (const name of [of, group]) {
    if (name === "." || name === "..") throw new Error(`documents of '${name}' cannot be asked for by their path`);
  }
  const [first, second, third, last] = [of, schema, group, given].map(encodeURIComponent);
  const target = `/document/v1/${first}/${second}/group/${third}/${last}`;
  try {
    const { json } = await options.client.request({ ...READ, method: "GET", target, signal });
    return { found: true, fields: readable((json as { readonly fields?: Json }).fields ?? {}, options.fields) };
  } catch (error) {
    if ((error as { readonly status?: number }).status === 404) return { found: false, fields: {} };
    throw error;
  }
}

async function retrieve(options: McpNamed, question: Json, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { group, schema, near } = options;
  const asked = { group, schema, ...question, ...(near === undefined ? {} : { near }) };
  const { json } = await post(options, "/brooklet/v1/retrieve", asked, signal);
  const found = partOf(json, "passages") as readonly (Json & { readonly documentId: string })[];
  const passages = found.map(({ documentId, field, element, start, end, text, score }, index) => ({
    number: index + 1,
    id: nameIn(options, documentId),
    field,
    ...(element === undefined ? {} : { element }),
    start,
    end,
    text,
    score,
  }));
  return { tokens: (json as Json)["tokens"], passages };
}
