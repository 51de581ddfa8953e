/** Documents of a schema that is known by its name alone: asked of the server's own interfaces, shown as they come. */
import { givenId, shownId, type WireAnswer } from "@brooklet/client";
import type { McpDocuments, McpNamed } from "./documents.ts";

type Json = Readonly<Record<string, unknown>>;

function post(options: McpNamed, target: string, body: Json, signal: AbortSignal): Promise<WireAnswer> {
  return options.client.request({ method: "POST", target, body: JSON.stringify(body), isRepeatable: true, signal });
}

/** The documents of a schema by its name. Nothing is known of its fields, so that there are no filters. */
export function documentsByName(options: McpNamed): McpDocuments {
  return {
    filter: undefined,
    search: ({ query, limit }, signal) => search(options, query, limit, signal),
    get: (id, signal) => get(options, id, signal),
    retrieve: ({ question, tokens }, signal) => retrieve(options, question, tokens, signal),
  };
}

/** Fields without vectors, which say nothing to a reader. */
function readable(fields: Json): Json {
  const isTensor = (value: unknown): boolean => {
    const { type, values, cells, blocks } = Object(value) as Json;
    const isTyped = typeof type === "string" && type.startsWith("tensor");
    return (
      isTyped || [values, cells, blocks].some((part) => part !== undefined && Object.keys(Object(value)).length === 1)
    );
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isTensor(value)));
}

async function search(
  options: McpNamed,
  query: string,
  limit: number,
  signal: AbortSignal,
): Promise<Json & Record<string, unknown>> {
  const { group, schema, near } = options;
  // A profile of its own ranks by the vector alone, so that searches are by words then.
  const beside = near === undefined ? {} : { near: near.profile === undefined ? near : (false as const) };
  const { json } = await post(options, "/brooklet/v1/search", { group, schema, text: query, limit, ...beside }, signal);
  const { root } = json as {
    readonly root: {
      readonly fields?: { readonly totalCount?: number };
      readonly children?: readonly { readonly id: string; readonly relevance: number; readonly fields?: Json }[];
    };
  };
  const hits = (root.children ?? []).map(({ id, relevance, fields = {} }) => ({
    id: shownId(id),
    relevance: Number(relevance),
    fields: readable(
      Object.fromEntries(Object.entries(fields).filter(([field]) => field !== "documentid" && field !== "sddocname")),
    ),
  }));
  return { totalCount: root.fields?.totalCount ?? 0, hits };
}

async function get(options: McpNamed, id: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { namespace = options.schema, schema, group } = options;
  const given = givenId({ namespace, type: schema, group }, id);
  // Some ways to send a request take these for steps in the path.
  if (given === "." || given === "..") return { found: false, fields: {} };
  for (const name of [namespace, group]) {
    if (name === "." || name === "..") throw new Error(`documents of '${name}' cannot be asked for by their path`);
  }
  const [first, second, third, last] = [namespace, schema, group, given].map(encodeURIComponent);
  const target = `/document/v1/${first}/${second}/group/${third}/${last}`;
  try {
    const { json } = await options.client.request({ method: "GET", target, isRepeatable: true, signal });
    return { found: true, fields: readable((json as { readonly fields?: Json }).fields ?? {}) };
  } catch (error) {
    if ((error as { readonly status?: number }).status === 404) return { found: false, fields: {} };
    throw error;
  }
}

async function retrieve(
  options: McpNamed,
  question: string,
  tokens: number,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { group, schema, near } = options;
  const asked = { group, schema, question, tokens, ...(near === undefined ? {} : { near }) };
  const { json } = await post(options, "/brooklet/v1/retrieve", asked, signal);
  const retrieved = json as {
    readonly tokens: number;
    readonly passages: readonly (Json & { readonly documentId: string })[];
  };
  const passages = retrieved.passages.map(({ documentId, field, start, end, text, score }, index) => ({
    number: index + 1,
    id: shownId(documentId),
    field,
    start,
    end,
    text,
    score,
  }));
  return { tokens: retrieved.tokens, passages };
}
