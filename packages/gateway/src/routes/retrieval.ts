/**
 * `POST /brooklet/v1/retrieve` and `POST /brooklet/v1/search`: the passages and the documents of one group, found as the SDK
 * finds them, by words and by the vector that the server makes, for callers without it. Extensions of this server;
 * docs/asking.md has their members.
 */
import {
  ChatError,
  madeVector,
  type RetrievalRequest,
  type Retrieved,
  retrievePassages,
  type SearchedSchema,
  type SearchParameters,
  searchParameters,
} from "@brooklet/answers";
import type { Answer } from "@brooklet/partition";
import { type Hit, type SearchResult, ServiceError } from "@brooklet/wire";
import { type Call, NO_BYTES, type Reply } from "../call.ts";
import { demandApplication, type GatewayContext } from "../context.ts";
import { echo } from "../echo.ts";
import { type DefectListener, jsonReply, MethodRefused, searchFailure, serviceErrorOf } from "../failure.ts";
import { ownParameters, withOwnBody } from "../own-request.ts";
import type { Parameter } from "../parameters.ts";
import { NO_PARAMETERS, RETRIEVAL, type RetrievalBody, SEARCH, type SearchBody } from "../request-shapes.ts";
import { searchAnswer, withQuery } from "../search/searching.ts";
import { targetIn } from "../stored-types.ts";

const LIMIT_DEFAULT = 10;

/** Answers a retrieval. Does not throw. */
export async function answerRetrieval(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  return await answerOwn(call, context, onDefect, () =>
    withOwnBody(call, context, { name: "Retrieval", shape: RETRIEVAL }, async (asked) =>
      jsonReply(200, await retrieveFor(asked, call, context)),
    ),
  );
}

/** Answers a search by what a person typed. Does not throw. */
export async function answerGroupSearch(call: Call, context: GatewayContext, onDefect: DefectListener): Promise<Reply> {
  return await answerOwn(call, context, onDefect, () =>
    withOwnBody(call, context, { name: "Search", shape: SEARCH }, async (asked) => {
      const { group, schema: name, near, limit = LIMIT_DEFAULT, offset = 0, ...others } = asked;
      const schema = schemaOf(name, context);
      const text = typeof asked.text === "string" ? { query: asked.text } : asked.text;
      const parameters = searchParameters(schema, {
        ...others,
        ...(near === false ? {} : nearText(schema, text.query, near)),
        text,
        limit,
        offset,
      });
      const { status, body, contentType } = await searchIn(group, parameters, call, context);
      return { status, headers: { "content-type": contentType }, body };
    }),
  );
}

async function answerOwn(
  call: Call,
  context: GatewayContext,
  onDefect: DefectListener,
  answer: () => Promise<Reply>,
): Promise<Reply> {
  try {
    if (call.method !== "POST") throw MethodRefused.only(call.method, "POST");
    context.access.demand("search");
    ownParameters(call, context, NO_PARAMETERS);
    demandApplication(context.cluster);
    await context.searches.enter();
    try {
      return await answer();
    } finally {
      context.searches.leave();
    }
  } catch (error) {
    return searchFailure(serviceErrorOf(failureOf(error), onDefect));
  }
}

/** What went wrong, where it is no defect of ours: what cannot be, a reranker that does not answer. */
function failureOf(error: unknown): unknown {
  if (error instanceof RangeError) return new ServiceError("BAD_REQUEST", error.message);
  if (!ChatError.is(error)) return error;
  return new ServiceError(error.failure === "timed out" ? "TIMED_OUT" : "UNAVAILABLE", error.message, { cause: error });
}

function schemaOf(name: string, { cluster }: GatewayContext): SearchedSchema {
  const schema = demandApplication(cluster).schemas.find((one) => one.name === name);
  if (schema === undefined) throw new ServiceError("BAD_REQUEST", `There is no schema '${echo(name)}'`);
  return schema;
}

/** Near to the vector that is asked for, or that the server makes of texts; nothing where there is none. */
function nearText(
  schema: SearchedSchema,
  text: string,
  near: Exclude<SearchBody["near"], false>,
): { readonly near?: NonNullable<typeof near> & { readonly text?: string } } {
  const field = near?.field ?? madeVector(schema);
  if (field === undefined) return {};
  return { near: { field, ...near, ...(near?.vector === undefined ? { text } : {}) } };
}

async function retrieveFor(
  { group, schema, question, rerank, ...asked }: RetrievalBody,
  call: Call,
  context: GatewayContext,
): Promise<Retrieved> {
  const request: RetrievalRequest = {
    ...asked,
    ...(call.gone && { signal: call.gone }),
    ...(rerank === true ? rerankerOf(context) : {}),
  };
  return await retrievePassages(schemaOf(schema, context), question, request, {
    search: async (parameters) => hitsOf(await searchIn(group, parameters, call, context)),
    stored: (documentId, source) => storedOf(documentId, group, context, source),
  });
}

function rerankerOf({ models: { reranker } }: GatewayContext): Pick<RetrievalRequest, "rerank"> {
  if (reranker !== undefined) return { rerank: reranker };
  throw new ServiceError("UNSUPPORTED", "This server has no reranker: leave 'rerank' out, or start it with --reranker");
}

async function searchIn(
  group: string,
  parameters: SearchParameters,
  call: Call,
  context: GatewayContext,
): Promise<Answer> {
  const properties = Object.entries({ ...parameters, "streaming.groupname": group }).map(
    ([name, value]): Parameter => [name, typeof value === "string" ? value : JSON.stringify(value)],
  );
  const request = { properties, body: NO_BYTES, accept: "" };
  return await withQuery(request, context, call, (query) => searchAnswer(query, context, call));
}

function hitsOf({ status, body }: Answer): readonly Hit[] {
  const { root } = JSON.parse(new TextDecoder().decode(body)) as Partial<SearchResult>;
  const problem = root?.errors?.[0];
  if (status < 400 && problem === undefined) return (root?.children ?? []) as readonly Hit[];
  throw new ServiceError(status >= 500 ? "ERROR_IN_REPLY" : "ILLEGAL_QUERY", problem?.message ?? "The search failed", {
    ...(status >= 400 ? { status } : {}),
    ...(problem === undefined ? {} : { number: problem.code }),
  });
}

/** The fields of a document as they are stored; nothing if it is gone by now. */
async function storedOf(
  id: string,
  group: string,
  context: GatewayContext,
  source: string | undefined,
): Promise<Hit["fields"]> {
  const application = demandApplication(context.cluster);
  const cluster = application.clusters.find(({ name }) => name === source);
  const [, namespace = "", type = ""] = id.split(":", 3);
  const path = { raw: "", id, namespace, type };
  const target = cluster === undefined ? { id } : targetIn(application, cluster, path);
  const request = { rawPath: "/brooklet/v1/retrieve", ...target, fieldSet: "", tensorFormat: "" };
  const { status, body } = await context.access
    .partition(`g:${group}`, "search")
    .get(request, context.limits.documentTimeoutMs);
  if (status !== 200 && status !== 404) throw new ServiceError("ERROR_IN_REPLY", `${id} could not be read`);
  return (JSON.parse(new TextDecoder().decode(body)) as Pick<Hit, "fields">).fields;
}
