/**
 * `POST /brooklet/v1/retrieve`: the passages of one group for a question, as the SDK's `retrieve` gives them, for callers
 * without it. An extension of this server; docs/answers.md has its members.
 */
import {
  ChatError,
  type FoundTexts,
  type HitTexts,
  HYBRID_FLOOR,
  type RetrievalOptions,
  type RetrievalSearch,
  type Retrieved,
  retrieve,
  textsOfHit,
  weightOf,
} from "@brooklet/answers";
import { ServiceError } from "@brooklet/wire";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { echo } from "../echo.ts";
import { type DefectListener, jsonReply, searchFailure, serviceErrorOf } from "../failure.ts";
import { searchAnswer, type Waiting } from "../searching.ts";

/** What a request may say. */
interface RetrievalRequest extends Pick<RetrievalOptions, (typeof CHOICES)[number]> {
  readonly group: string;
  readonly schema: string;
  readonly question: string;
  /** A condition in YQL that every document fulfils. */
  readonly filter?: string;
  /** Fields of texts and lists of texts; all that there are without it. */
  readonly from?: readonly string[];
  readonly text?: false | TextRetrieval;
  readonly near?: NearRetrieval;
  readonly elementScores?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Whether the reranker of the server orders the best passages anew. */
  readonly rerank?: boolean;
}

interface TextRetrieval {
  readonly profile?: string;
  readonly in?: string;
  readonly match?: "any" | "all";
  readonly weight?: number;
}

interface NearRetrieval {
  readonly field: string;
  readonly embedder?: string;
  /** The profile's input that the vector is; the field's name without it. */
  readonly input?: string;
  readonly vector?: readonly number[];
  readonly profile?: string;
  readonly weight?: number;
}

const CHOICES = [
  "passages",
  "passagesOfDocument",
  "tokens",
  "candidates",
  "floor",
  "passageLength",
  "fusion",
  "rerankCount",
] as const;
const MEMBERS = [
  "group",
  "schema",
  "question",
  "filter",
  "from",
  "text",
  "near",
  "elementScores",
  "timeoutMs",
  "rerank",
  ...CHOICES,
];
const TIMEOUT_MS = 5_000;
const TARGET_HITS = 100;

/** Answers a retrieval. Does not throw. */
export async function answerRetrieval(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  try {
    if (call.method !== "POST") throw new ServiceError("METHOD_NOT_ALLOWED", "Only POST is supported here");
    demandApplication(context.cluster);
    await context.searches.enter();
    try {
      const body = await context.bodies.read(call, { name: "Retrieval", limitBytes: context.limits.bodyBytes });
      try {
        return jsonReply(200, await retrieved(requestOf(body.bytes), call, context));
      } finally {
        body.release();
      }
    } finally {
      context.searches.leave();
    }
  } catch (error) {
    return searchFailure(serviceErrorOf(failureOf(error), onDefect));
  }
}

/** What went wrong, where it is no defect of ours: a number that cannot be, a reranker that does not answer. */
function failureOf(error: unknown): unknown {
  if (error instanceof RangeError) return new ServiceError("BAD_REQUEST", error.message);
  if (!(error instanceof ChatError)) return error;
  return new ServiceError(error.failure === "timed out" ? "TIMED_OUT" : "UNAVAILABLE", error.message, { cause: error });
}

function requestOf(bytes: Uint8Array): RetrievalRequest {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ServiceError("BAD_REQUEST", "The body must be a JSON object", { cause });
  }
  const request = objectOf(json, "The body", MEMBERS) as unknown as RetrievalRequest;
  for (const name of ["group", "schema", "question"] as const) textOf(request[name], name);
  if (!["undefined", "boolean"].includes(typeof request.rerank)) {
    throw new ServiceError("BAD_REQUEST", "'rerank' must be true or false: the reranker is the server's");
  }
  if (request.filter !== undefined) textOf(request.filter, "filter");
  for (const name of [...(request.from ?? []), ...Object.keys(request.elementScores ?? {})]) nameOf(name);
  if (request.text !== undefined && request.text !== false) {
    const { profile, in: where } = objectOf(request.text, "'text'", ["profile", "in", "match", "weight"]);
    for (const name of [profile, where]) if (name !== undefined) nameOf(name);
  }
  if (request.near !== undefined) {
    const members = ["field", "embedder", "input", "vector", "profile", "weight"];
    const { field, input, profile, embedder } = objectOf(request.near, "'near'", members);
    for (const name of [field, input ?? field, profile ?? field]) nameOf(name);
    if (embedder !== undefined && !/^[\w.-]+$/.test(textOf(embedder, "near.embedder"))) nameOf(embedder);
  }
  return request;
}

function objectOf(json: unknown, what: string, known: readonly string[]): Readonly<Record<string, unknown>> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new ServiceError("BAD_REQUEST", `${what} must be a JSON object`);
  }
  const stranger = Object.keys(json).find((name) => !known.includes(name));
  if (stranger === undefined) return json as Readonly<Record<string, unknown>>;
  throw new ServiceError("BAD_REQUEST", `${what} has no member '${echo(stranger)}': there are ${known.join(", ")}`);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new ServiceError("BAD_REQUEST", `'${name}' must be a text`);
}

/** A name that is put into YQL. */
function nameOf(value: unknown): string {
  if (typeof value === "string" && /^[A-Za-z_][\w.]*$/.test(value)) return value;
  throw new ServiceError("BAD_REQUEST", `'${echo(String(value))}' is no name`);
}

async function retrieved(request: RetrievalRequest, call: Waiting, context: GatewayContext): Promise<Retrieved> {
  const schema = demandApplication(context.cluster).schemas.find(({ name }) => name === request.schema);
  if (schema === undefined) {
    throw new ServiceError("BAD_REQUEST", `There is no schema '${echo(request.schema)}'`);
  }
  const isText = ({ type }: { readonly type: string }): boolean => type === "string" || type === "array<string>";
  const fields = request.from ?? schema.fields.filter(isText).map(({ name }) => name);
  const chosen = CHOICES.filter((name) => request[name] !== undefined).map((name) => [name, request[name]]);
  const options = {
    ...(Object.fromEntries(chosen) as RetrievalOptions),
    signal: call.gone,
    ...rerankerOf(request, context),
  };
  const abridged = fields.filter((name) => schema.fields.some((field) => field.name === name && field.abridged));
  const reading = { fields, abridged, call, profiles: schema.rankProfiles ?? [] };
  return await retrieve(request.question, searchesOf(request, reading, context), options);
}

function rerankerOf({ rerank }: RetrievalRequest, { reranker }: GatewayContext): Pick<RetrievalOptions, "rerank"> {
  if (rerank !== true) return {};
  if (reranker !== undefined) return { rerank: reranker };
  throw new ServiceError("UNSUPPORTED", "This server has no reranker: leave 'rerank' out, or start it with --reranker");
}

/** What is read of hits. */
interface Reading {
  readonly fields: readonly string[];
  /** Those of them that hits do not show as they are stored: their texts are read from the documents. */
  readonly abridged: readonly string[];
  /** The rank profiles of the schema. */
  readonly profiles: readonly string[];
  readonly call: Waiting;
}

function searchesOf(request: RetrievalRequest, reading: Reading, context: GatewayContext): RetrievalSearch[] {
  const { text = {}, near, question, filter, fusion } = request;
  const { fields, profiles } = reading;
  const search = (name: string, asked: (depth: number) => string, more: Properties): RetrievalSearch => ({
    name,
    run: async ({ limit, offset }) => {
      const found = `${asked(limit + offset)}${filter === undefined ? "" : ` and (${filter})`}`;
      const shown = [...fields, "matchfeatures", "summaryfeatures"].join(", ");
      const yql = `select ${shown} from ${nameOf(request.schema)} where ${found}`;
      const page = { yql, hits: String(limit), offset: String(offset) };
      return await hitsOf(request, reading, { ...page, question, ...more }, context);
    },
  });
  const words = text === false ? undefined : wordsOf(text);
  const neighbours = near === undefined ? undefined : neighboursOf(near);
  const hybrid = hybridProfileOf(request);
  if (words !== undefined && neighbours !== undefined && hybrid !== undefined && profiles.includes(hybrid)) {
    const asked = (depth: number): string => `(${words} or ${neighbours.asked(depth)})`;
    return [{ ...search("hybrid", asked, { ...neighbours.given, "ranking.profile": hybrid }), floor: HYBRID_FLOOR }];
  }
  const searches: RetrievalSearch[] = [];
  if (words !== undefined && text !== false) {
    const { profile, weight = weightOf(fusion) } = text;
    searches.push({ ...search("text", () => words, { "ranking.profile": profile }), weight });
  }
  if (near !== undefined && neighbours !== undefined) {
    const made = nearProfileName(near.field);
    const { profile = profiles.includes(made) ? made : undefined, weight = weightOf(fusion) } = near;
    const given = { ...neighbours.given, "ranking.profile": profile };
    searches.push({ ...search("vector", neighbours.asked, given), weight });
  }
  return searches;
}

type Properties = Readonly<Record<string, string | undefined>>;

/** The profiles that the SDK's `schema()` makes for words and a vector, and for a vector alone. */
function hybridProfileOf({ text, near, fusion, elementScores }: RetrievalRequest): string | undefined {
  const isOfItsOwn = (side: TextRetrieval | NearRetrieval): boolean =>
    side.profile !== undefined || side.weight !== undefined;
  if (near === undefined || text === false || fusion !== undefined || elementScores !== undefined) return undefined;
  return isOfItsOwn(text ?? {}) || isOfItsOwn(near) ? undefined : `hybrid_${near.field}`;
}

function nearProfileName(field: string): string {
  return `near_${field}`;
}

/** A question is words, whatever signs are in it, and one without any is found nothing for. */
function wordsOf(text: TextRetrieval): string {
  const settings = ['grammar: "tokenize"', `grammar.composite: "${text.match === "all" ? "and" : "or"}"`];
  if (text.in !== undefined) settings.push(`defaultIndex: "${text.in}"`);
  return `({${settings.join(", ")}}userInput(@question))`;
}

/** The condition for so many neighbours, and the vector they are near to. */
function neighboursOf({ field, input = field, embedder, vector }: NearRetrieval): {
  readonly asked: (depth: number) => string;
  readonly given: Properties;
} {
  const called = `embed(${embedder === undefined ? "" : `${embedder}, `}@question)`;
  return {
    asked: (depth) => `({targetHits: ${Math.max(TARGET_HITS, depth)}}nearestNeighbor(${field}, ${input}))`,
    given: { [`input.query(${input})`]: vector === undefined ? called : JSON.stringify(vector) },
  };
}

interface ResultJson {
  readonly root?: {
    readonly errors?: readonly { readonly code: number; readonly message: string }[];
    readonly children?: readonly {
      readonly id: string;
      readonly relevance: number;
      readonly fields?: HitTexts["fields"];
    }[];
  };
}

async function hitsOf(
  request: RetrievalRequest,
  { fields, abridged, call }: Reading,
  asked: Readonly<Record<string, string | undefined>>,
  context: GatewayContext,
): Promise<readonly FoundTexts[]> {
  const { group, schema, timeoutMs = TIMEOUT_MS, elementScores = {} } = request;
  const all = {
    ...asked,
    "streaming.groupname": group,
    "model.restrict": schema,
    "presentation.bolding": "false",
    timeout: `${timeoutMs}ms`,
  };
  const properties = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const { status, body } = await searchAnswer({ properties, body: NO_BYTES, accept: "" }, context, call);
  const { root } = JSON.parse(new TextDecoder().decode(body)) as ResultJson;
  const problem = root?.errors?.[0];
  if (status >= 400 || problem !== undefined) {
    const message = problem?.message ?? "The search failed";
    throw new ServiceError(status >= 500 ? "ERROR_IN_REPLY" : "ILLEGAL_QUERY", message, {
      ...(status >= 400 ? { status } : {}),
      ...(problem === undefined ? {} : { number: problem.code }),
    });
  }
  const found: FoundTexts[] = [];
  for (const { id, relevance, fields: shown = {} } of root?.children ?? []) {
    const features = { ...featuresOf(shown["matchfeatures"]), ...featuresOf(shown["summaryfeatures"]) };
    const values = abridged.length === 0 ? shown : { ...shown, ...(await storedOf(id, group, abridged, context)) };
    const texts = textsOfHit({ fields: values, features }, fields, elementScores);
    found.push({ documentId: id, relevance: Number(relevance), texts });
  }
  return found;
}

/** These fields of a document as they are stored; none of them if the document is gone by now. */
async function storedOf(
  id: string,
  group: string,
  names: readonly string[],
  context: GatewayContext,
): Promise<HitTexts["fields"]> {
  const request = { rawPath: "/brooklet/v1/retrieve", id, fieldSet: "", tensorFormat: "" };
  const { status, body } = await context.access.partition(`g:${group}`).get(request, context.limits.documentTimeoutMs);
  if (status !== 200 && status !== 404) throw new ServiceError("ERROR_IN_REPLY", `${id} could not be read`);
  const { fields = {} } = JSON.parse(new TextDecoder().decode(body)) as { readonly fields?: HitTexts["fields"] };
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

function featuresOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
