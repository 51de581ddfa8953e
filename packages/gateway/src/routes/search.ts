/**
 * `/search/`: opens the query with the parameters and the body as they came, and sends its answer untouched. What a query
 * means, and which partitions it is for, is the core's business.
 */
import type { QueryHandle, SearchRequest } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { HeldBody } from "../bodies.ts";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { echo } from "../echo.ts";
import { type DefectListener, MethodRefused, searchFailure, serviceErrorOf } from "../failure.ts";
import { isTimeSpan, type Parameter, parseParameters, timeSpanMs } from "../parameters.ts";
import { plainAnswer, type SearchAnswer, searchAnswer, withQuery } from "../search/searching.ts";
import { splitTarget } from "../target.ts";
import { searchChainOf } from "./chosen-chain.ts";
import type { PreparedGeneration } from "./generation.ts";

/** Chains with a language model, with all that asks one: loaded with the first such query. */
const generations = (): Promise<typeof import("./generation.ts")> => import("./generation.ts");

const METHODS = ["GET", "POST"];
const JSON_MEDIA = "application/json";

/** Answers a search. Does not throw. */
export async function answerSearch(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  if (call.method === "OPTIONS") return { status: 204, headers: { allow: METHODS.join(",") }, body: "" };
  try {
    if (call.method !== "GET" && call.method !== "POST") return notAllowed(call.method);
    context.access.demandSearch();
    demandApplication(context.cluster);
    await context.searches.enter();
    let answer: Reply | PreparedGeneration;
    try {
      answer = await search(call, context);
    } finally {
      context.searches.leave();
    }
    // A model takes its time, in which others may search.
    return "generation" in answer ? await (await generations()).answerGeneration(answer, call, context) : answer;
  } catch (error) {
    return searchFailure(serviceErrorOf(error, onDefect));
  }
}

function notAllowed(method: string): Reply {
  return searchFailure(
    new MethodRefused(`'${echo(method)}' not allowed. Allowed methods are: ${METHODS.join(",")}`, METHODS),
  );
}

async function search(call: Call, context: GatewayContext): Promise<Reply | PreparedGeneration> {
  const fromUrl = parseParameters(splitTarget(call.target).query, context.limits.parameterCount);
  const accept = call.header("accept") ?? "";
  const mediaType = call.method === "POST" ? mediaTypeOf(call.header("content-type")) : "";
  if (mediaType === JSON_MEDIA) {
    // Parameters of the URL go before those of the body, wherever they stand there.
    const plain = fromUrl.length === 0 ? call.plainBody?.(context.limits.bodyBytes) : undefined;
    if (plain !== undefined) {
      const { properties, vectors } = plain;
      return await ask({ properties, vectors, body: NO_BYTES, accept }, call, context);
    }
    return await askWithBody({ fromUrl, accept, read: readJson }, call, context);
  }
  if (mediaType === "application/x-www-form-urlencoded") {
    return await askWithBody({ fromUrl, accept, read: readForm }, call, context);
  }
  // A body of any other type is ignored, as Vespa does.
  return ask({ properties: fromUrl, body: NO_BYTES, accept }, call, context);
}

/** A search whose body has to be read, and how. */
interface BodySearch {
  readonly fromUrl: readonly Parameter[];
  readonly accept: string;
  readonly read: (body: Uint8Array, fromUrl: readonly Parameter[], countMax: number) => Omit<SearchRequest, "accept">;
}

async function askWithBody(
  { fromUrl, accept, read }: BodySearch,
  call: Call,
  context: GatewayContext,
): Promise<Reply | PreparedGeneration> {
  const { bodies, limits } = context;
  const body: HeldBody = await bodies.read(call, { name: "Search request", limitBytes: limits.bodyBytes });
  try {
    return await ask({ ...read(body.bytes, fromUrl, limits.parameterCount), accept }, call, context);
  } finally {
    body.release();
  }
}

function readJson(bytes: Uint8Array, properties: readonly Parameter[]): Omit<SearchRequest, "accept"> {
  const body = withoutMark(bytes);
  if (body.length === 0) throw new ServiceError("ILLEGAL_QUERY", "Expected start of object, got 'null'");
  return { properties, body };
}

/** A text without the byte order mark that some programs begin one with: it is no part of it. */
function withoutMark(text: Uint8Array): Uint8Array {
  return text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf ? text.subarray(3) : text;
}

/** The last value of a name counts, and those of a form count more than those of the URL, as in the reference. */
function readForm(body: Uint8Array, fromUrl: readonly Parameter[], countMax: number): Omit<SearchRequest, "accept"> {
  return { properties: [...fromUrl, ...parseForm(body, countMax)], body: NO_BYTES };
}

async function ask(request: SearchRequest, call: Call, context: GatewayContext): Promise<Reply | PreparedGeneration> {
  const plain = context.cluster.searchPlain === undefined ? undefined : await plainAnswer(request, context, call);
  if (plain !== undefined) return replyOf(plain, timeoutOf(request, undefined), context);
  return await withQuery(request, context, call, async (query) => {
    const chain = searchChainOf(query, context);
    context.access.demand(chain?.searcher === undefined ? "search" : "ask");
    if (chain?.searcher !== undefined)
      return await (await generations()).prepareGeneration({ chain, query, request }, call, context);
    return replyOf(await searchAnswer(query, context, call), timeoutOf(request, query), context);
  });
}

/** An answer. A timeout that was cut to the limit is told in it. */
function replyOf(
  { status, contentType, body, code }: SearchAnswer,
  timeout: string | undefined,
  { limits }: GatewayContext,
): Reply {
  const limitMs = limits.searchTimeoutMs;
  const isCut = timeout !== undefined && isTimeSpan(timeout) && timeSpanMs(timeout) > limitMs;
  const told = isCut ? { "x-brooklet-timeout-ms": String(limitMs) } : undefined;
  const headers = { "content-type": contentType, ...told };
  return code === undefined ? { status, headers, body } : { status, headers, body, code };
}

/** The timeout a request asks for. Its query is asked only where it may stand in the body, or several times. */
function timeoutOf({ properties, body }: SearchRequest, query: QueryHandle | undefined): string | undefined {
  let given: string | undefined;
  let isOpen = body.length > 0;
  for (const [name, value] of properties) {
    if (name !== "timeout") continue;
    if (given !== undefined) isOpen = true;
    given = value;
  }
  return isOpen && query !== undefined ? query.parameter("timeout") : given;
}

function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === JSON_MEDIA) return JSON_MEDIA;
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

const CHARACTERS_AT_ONCE = 8_192;

/** A form is ASCII; bytes beyond it are UTF-8 that was not encoded, and are handed on one by one as in a URL. */
function parseForm(body: Uint8Array, countMax: number): Parameter[] {
  let text = "";
  for (let at = 0; at < body.length; at += CHARACTERS_AT_ONCE) {
    text += String.fromCharCode(...body.subarray(at, at + CHARACTERS_AT_ONCE));
  }
  return parseParameters(text, countMax);
}
