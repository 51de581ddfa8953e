/**
 * `/search/` with a chain of a language model: the search first, then what the model says, as server-sent events or as one
 * JSON result. The model's connection is let go of as soon as the client is gone.
 */
import {
  ChatError,
  contextOf,
  type Generation,
  type GenerationEvent,
  generationEvents,
  promptOf,
  renderEvent,
  renderGeneration,
  STREAM_END,
} from "@brooklet/answers";
import type { QueryHandle, SearchChainConfig, SearchRequest } from "@brooklet/partition";
import { type Calls, ServiceError } from "@brooklet/wire";
import type { Call, Reply } from "../call.ts";
import type { GatewayContext } from "../context.ts";
import { JSON_TYPE, searchFailure } from "../failure.ts";
import { codeOfFailure } from "../load/asked-models.ts";
import { searchAnswer, withQuery } from "../search/searching.ts";
import {
  type GenerationParameters,
  generationFailed,
  generationParameters,
  plainSearch,
  wantsEvents,
} from "../search-chain.ts";

/** A generation whose search is done. */
export interface PreparedGeneration {
  readonly generation: Omit<Generation, "signal" | "watched">;
  /** What was asked of the model. */
  readonly calls: Calls;
  readonly format: "json" | "sse";
}

const EVENT_STREAM = "text/event-stream; charset=utf-8";

/** A query of a chain with a language model. */
export interface GenerationQuery {
  readonly chain: SearchChainConfig;
  readonly query: QueryHandle;
  /** What it was opened with. */
  readonly request: SearchRequest;
}

/** Does what comes before the model: reads the parameters, searches, and makes the prompt. */
export async function prepareGeneration(
  asked: GenerationQuery,
  call: Call,
  context: GatewayContext,
): Promise<Reply | PreparedGeneration> {
  try {
    return await searchReply(asked, call, context);
  } catch (error) {
    if (!ServiceError.is(error) || !wantsEvents(asked.query)) throw error;
    return eventFailure(searchFailure(error));
  }
}

async function searchReply(
  { chain, query, request }: GenerationQuery,
  call: Call,
  context: GatewayContext,
): Promise<Reply | PreparedGeneration> {
  const parameters = generationParameters(chain, query, call, context);
  if (parameters.includeHits) context.access.demand("search");
  if (chain.searcher === "llm") return generationOf(parameters, parameters.prompt, undefined, context);
  // Its hits are for the model: JSON, whatever the answer will be.
  const { status, body, contentType } = await withQuery(plainSearch(request), context, call, (plain) =>
    searchAnswer(plain, context, call),
  );
  // What the caller did wrong is told as ever; what went wrong here leaves the model without a context.
  if (status >= 400 && status < 500) {
    const failure = { status, headers: { "content-type": contentType }, body };
    return parameters.format === "sse" ? eventFailure(failure) : failure;
  }
  const result = new TextDecoder().decode(body);
  const found = parameters.hasContext ? contextOf(result, parameters.fields) : undefined;
  const prompt = promptOf(parameters.prompt, parameters.query, found);
  return generationOf(parameters, prompt, parameters.includeHits ? result : undefined, context);
}

function generationOf(
  parameters: GenerationParameters,
  prompt: string,
  hits: string | undefined,
  context: GatewayContext,
): PreparedGeneration {
  const { model, calls, source, stream, includePrompt, includeStats, format } = parameters;
  const { promptCharacters } = context.limits;
  if (prompt.length > promptCharacters) {
    const message = `The prompt has ${prompt.length} characters, more than ${promptCharacters} (limit L-llm): ask for fewer hits`;
    throw new ServiceError("TOO_LARGE", message);
  }
  const generation = { model, source, prompt, stream, includePrompt, includeStats };
  return { generation: hits === undefined ? generation : { ...generation, hits }, calls, format };
}

/** Asks the model. */
export async function answerGeneration(
  prepared: PreparedGeneration,
  call: Call,
  context: GatewayContext,
): Promise<Reply> {
  const { generation, format } = prepared;
  let running: Running;
  try {
    running = await Running.begin(prepared, call, context);
  } catch (error) {
    if (!ServiceError.is(error) || format === "json") throw error;
    return eventFailure(searchFailure(error));
  }
  if (format === "json") return await wholeReply(running);
  if (generation.stream) return streamReply(running.parts());
  // The one completion decides about the status, so it is waited for.
  try {
    const events = await running.all();
    return streamReply(renderEvents(events));
  } catch (error) {
    return eventFailure(searchFailure(failureOf(error)));
  }
}

function streamReply(body: Reply["body"]): Reply {
  return { status: 200, headers: { "content-type": EVENT_STREAM }, body };
}

function renderEvents(events: readonly GenerationEvent[]): string {
  return events.map(renderEvent).join("") + STREAM_END;
}

async function wholeReply(running: Running): Promise<Reply> {
  try {
    const events = await running.all();
    const body = renderGeneration(events, running.generation.stream);
    return { status: 200, headers: { "content-type": JSON_TYPE }, body };
  } catch (error) {
    return searchFailure(failureOf(error));
  }
}

function failureOf(error: unknown): ServiceError {
  if (ChatError.is(error)) return generationFailed(codeOfFailure(error), error.message, error);
  throw error;
}

/** A failure as the one event of a stream: its first error, with the status it has. */
function eventFailure(failure: Reply & { readonly body: Uint8Array | string }): Reply {
  const text = typeof failure.body === "string" ? failure.body : new TextDecoder().decode(failure.body);
  const { root } = JSON.parse(text) as { readonly root?: { readonly errors?: readonly object[] } };
  const error = JSON.stringify(root?.errors?.[0] ?? {});
  const headers = { ...failure.headers, "content-type": EVENT_STREAM };
  return { ...failure, headers, body: `event: error\ndata: ${error}\n\n${STREAM_END}` };
}

/** A generation under way: one of a limited number, ended when the client goes. */
class Running {
  readonly generation: Generation;
  readonly #controller = new AbortController();
  readonly #events: AsyncGenerator<GenerationEvent>;
  #release: (() => void) | undefined;

  private constructor({ generation, calls }: PreparedGeneration, call: Call, release: () => void) {
    const { signal } = this.#controller;
    const outline = { purpose: "query", items: 1, signal, codeOf: codeOfFailure } as const;
    this.generation = { ...generation, signal, watched: (said) => calls.during(outline, said) };
    this.#events = generationEvents(this.generation);
    const onGone = (): void => this.#controller.abort(call.gone?.reason);
    if (call.gone?.aborted === true) onGone();
    else call.gone?.addEventListener("abort", onGone, { once: true });
    this.#release = () => {
      call.gone?.removeEventListener("abort", onGone);
      release();
    };
  }

  static async begin(prepared: PreparedGeneration, call: Call, context: GatewayContext): Promise<Running> {
    await context.generations.enter();
    return new Running(prepared, call, () => context.generations.leave());
  }

  /** All events, when the last is there. */
  async all(): Promise<readonly GenerationEvent[]> {
    const events: GenerationEvent[] = [];
    try {
      for await (const event of this.#events) events.push(event);
      return events;
    } finally {
      this.#end();
    }
  }

  /** The events as they come, each as a part of its own. */
  parts(): AsyncIterable<Uint8Array> {
    const utf8 = new TextEncoder();
    let isOver = false;
    const next = async (): Promise<IteratorResult<Uint8Array>> => {
      if (isOver) return { done: true, value: undefined };
      try {
        const { done, value } = await this.#events.next();
        if (done !== true) return { done: false, value: utf8.encode(renderEvent(value)) };
      } catch (error) {
        this.#end();
        throw error;
      }
      isOver = true;
      this.#end();
      return { done: false, value: utf8.encode(STREAM_END) };
    };
    // The reader goes while a token is waited for: the wait ends, and with it the connection to the model.
    const leave = async (): Promise<IteratorResult<Uint8Array>> => {
      isOver = true;
      this.#controller.abort(new ChatError("unreachable", "The reader went away"));
      await this.#events.return(undefined).catch(() => undefined);
      this.#end();
      return { done: true, value: undefined };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: leave }) };
  }

  #end(): void {
    this.#release?.();
    this.#release = undefined;
  }
}
