/**
 * A language model behind any endpoint with the OpenAI interface (`POST …/chat/completions`), or one that the caller brings.
 * Answers are read as they come, limited in size and time. A request is sent again only as long as nothing of its answer was
 * seen. Keys go into one header and nowhere else: no error and no log has them.
 */
import { abortable, askedWaitMs, pause, waitMs, withoutSecret } from "@brooklet/wire";
import { ChatError } from "./chat-error.ts";
import { type ServerEvent, serverEvents } from "./event-stream.ts";
import type { ChatMessage } from "./prompt.ts";

/** How long a model may take, and how much it may say. */
export interface ChatLimits {
  /** Wait for the first token, and between two; 60 s by default. */
  readonly idleTimeoutMs?: number;
  /** Wait for all of the answer; 5 min by default. */
  readonly timeoutMs?: number;
  /** Characters of an answer at most; 262,144 by default. */
  readonly answerCharactersMax?: number;
}

/** Where the model is. */
export interface ChatEndpoint extends ChatLimits {
  /** What `chat/completions` is appended to, as in `https://api.openai.com/v1/`. */
  readonly url: string;
  readonly model: string;
  /** Sent as a bearer token; a placeholder without one, which keyless local servers take. */
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The platform's `fetch` unless it is said. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Further members of the request: `temperature`, `max_completion_tokens`, … */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Tries in all, while nothing of an answer has come; 3 by default. */
  readonly attempts?: number;
}

/** A language model that the caller brings, however it is reached. Time and length are limited as those of endpoints are. */
export interface ChatModel extends ChatLimits {
  /**
   * What the model says to a conversation, as it says it. It runs no tools: that it asked for one is an event. The signal ends it.
   *
   * @throws ChatError what keeps it from answering; anything else is taken for a broken answer.
   */
  say(messages: readonly ChatMessage[], signal: AbortSignal): AsyncIterable<ChatEvent>;
}

/** A language model: where one is, or one that is there. */
export type LanguageModel = ChatEndpoint | ChatModel;

/** What is asked of a model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly signal?: AbortSignal;
}

/** A piece of what a model says. */
export type ChatEvent =
  | { readonly type: "token"; readonly text: string }
  /** The model asked for a tool, which it has none of; nothing was run. */
  | { readonly type: "toolCall"; readonly name: string }
  | { readonly type: "finish"; readonly reason: string };

const IDLE_TIMEOUT_MS = 60_000;
const TIMEOUT_MS = 300_000;
const ATTEMPTS = 3;
const ANSWER_CHARACTERS_MAX = 1 << 18;
const WAITS = { firstWaitMs: 250, longestWaitMs: 10_000 };
/** Wait for the end of a stream whose answer has ended. */
const END_WAIT_MS = 500;
const STREAM_KEPT = new Error("The answer has ended, and its stream has not");
const PLACEHOLDER_KEY = "none";
/** Refusals that may be over soon. */
const PASSING: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/** Asks a model. The events come as it says them; leaving early or aborting lets go of the connection. */
export async function* chat(model: LanguageModel, request: ChatRequest): AsyncGenerator<ChatEvent> {
  const watch = new Watch(model, request.signal);
  try {
    const events = "say" in model ? brought(model, request, watch) : chatEvents(model, request, watch);
    let left = model.answerCharactersMax ?? ANSWER_CHARACTERS_MAX;
    // The tool that was called, while nothing else is said.
    let called: string | undefined;
    for await (const event of events) {
      const text = event.type === "token" ? event.text : "";
      if (event.type === "toolCall") called ??= event.name;
      if (text.trim()) called = "";
      left -= text.length;
      if (left < 0) throw tooLong(model);
      // While the reader takes its time, the model is not late.
      watch.rest();
      yield event;
      watch.progress();
    }
    // It waits for what does not come: that would be taken for an empty answer.
    if (called) throw new ChatError("malformed", `The language model only called '${called}': it has no tools`);
  } finally {
    watch.end();
  }
}

async function* chatEvents(endpoint: ChatEndpoint, request: ChatRequest, watch: Watch): AsyncGenerator<ChatEvent> {
  const response = await openResponse(endpoint, request, watch);
  const isStream = /text\/event-stream/i.test(response.headers.get("content-type") ?? "");
  yield* isStream ? streamEvents(response, endpoint, watch) : wholeEvents(response, endpoint, watch);
}

/** What a model says that the caller brought. It is not waited for after the end, even if it does not look at its signal. */
async function* brought(model: ChatModel, request: ChatRequest, watch: Watch): AsyncGenerator<ChatEvent> {
  const { signal } = watch;
  const events = model.say(request.messages, signal)[Symbol.asyncIterator]();
  let isSilent = true;
  try {
    for (;;) {
      const { value, done } = await abortable(events.next(), signal);
      if (done === true) break;
      isSilent = false;
      watch.progress();
      yield value;
    }
  } catch (error) {
    throw failureOf(error, watch);
  } finally {
    // What keeps it from ending is its own affair: nobody listens any longer.
    void events.return?.().catch(() => undefined);
  }
  if (isSilent) throw new ChatError("malformed", "The language model answered nothing");
}

/** Time limits and the caller's signal, as one signal. */
class Watch {
  readonly #controller = new AbortController();
  #idleMs: number;
  #isOver = false;
  readonly signal: AbortSignal;
  readonly #all: ReturnType<typeof setTimeout>;
  #idle: ReturnType<typeof setTimeout> | undefined;

  constructor({ timeoutMs = TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS }: ChatLimits, caller?: AbortSignal) {
    this.#idleMs = idleTimeoutMs;
    caller?.throwIfAborted();
    this.signal = caller ? AbortSignal.any([caller, this.#controller.signal]) : this.#controller.signal;
    this.#all = setTimeout(() => this.#late(timeoutMs, "was not complete"), timeoutMs);
    this.progress();
  }

  /** Something has come: waiting begins anew. */
  progress(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#late(this.#idleMs, "said nothing"), this.#idleMs);
  }

  /** The model has said all: what may still come is the end of its stream, and is not waited for as a word is. */
  expectEnd(): void {
    this.#isOver = true;
    this.#idleMs = Math.min(this.#idleMs, END_WAIT_MS);
    this.progress();
  }

  /** Nothing is waited for. */
  rest(): void {
    clearTimeout(this.#idle);
  }

  /** Waits; less if it is over before. */
  async pause(ms: number): Promise<void> {
    // It is we who wait now, not for the model.
    this.rest();
    await pause(ms, this.signal);
    this.progress();
  }

  /** Lets go of everything, the connection included. */
  end(): void {
    clearTimeout(this.#all);
    clearTimeout(this.#idle);
    this.#controller.abort(new ChatError("unreachable", "The answer was left"));
  }

  #late(waitedMs: number, what: string): void {
    const late = new ChatError("timed out", `The language model ${what} within ${waitedMs} ms`);
    this.#controller.abort(this.#isOver ? STREAM_KEPT : late);
  }
}

/** The first answer that is no passing refusal. */
async function openResponse(endpoint: ChatEndpoint, request: ChatRequest, watch: Watch): Promise<Response> {
  const { attempts = ATTEMPTS } = endpoint;
  for (let attempt = 1; ; attempt += 1) {
    const answer = await attemptResponse(endpoint, request, watch);
    if (answer instanceof Response) return answer;
    const { error, retryAfterMs: asked = waitMs(WAITS, attempt) } = answer;
    const isPassing = error.failure === "unreachable" || PASSING.has(error.status);
    // Who asks for more patience than there is would refuse again, and the caller would have waited for nothing.
    if (!isPassing || attempt >= attempts || asked > WAITS.longestWaitMs) throw error;
    await watch.pause(asked);
  }
}

/** A refusal, and how long it asks to wait. */
interface Refusal {
  readonly error: ChatError;
  readonly retryAfterMs?: number | undefined;
}

async function attemptResponse(
  endpoint: ChatEndpoint,
  request: ChatRequest,
  watch: Watch,
): Promise<Response | Refusal> {
  const { signal } = watch;
  let response: Response;
  try {
    response = await (endpoint.fetch ?? globalThis.fetch)(completionsUrl(endpoint.url), {
      method: "POST",
      headers: {
        ...endpoint.headers,
        "content-type": "application/json",
        authorization: `Bearer ${endpoint.apiKey ?? PLACEHOLDER_KEY}`,
      },
      body: JSON.stringify({
        model: endpoint.model,
        messages: request.messages,
        ...endpoint.parameters,
        ...(request.stream === false ? {} : { stream: true }),
      }),
      // A key is for the endpoint that was configured, not for one it points at: that is a refusal. ("error" is not known to Workers.)
      redirect: "manual",
      signal,
    });
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    const message = `The language model at ${placeOf(endpoint)} cannot be reached`;
    return { error: new ChatError("unreachable", message, 0, cause) };
  }
  if (response.ok) return response;
  const { status } = response;
  const failure = status === 429 || status === 503 ? "overloaded" : "refused";
  const reason = await reasonOf(response, endpoint, watch);
  const message = `The language model at ${placeOf(endpoint)} answered with status ${status}${reason}`;
  return { error: new ChatError(failure, message, status), retryAfterMs: askedWaitMs(response.headers) };
}

/** Why an endpoint refuses, where it says so: that a prompt is too long for its model, or that there is no such model. */
async function reasonOf(response: Response, endpoint: ChatEndpoint, watch: Watch): Promise<string> {
  // What may be over soon is asked again, and not read before.
  if (PASSING.has(response.status) || response.body === null) {
    await response.body?.cancel();
    return "";
  }
  const text = await wholeText(response.body, endpoint, watch).catch(() => "");
  if (watch.signal.aborted) throw watch.signal.reason;
  const reason = failureIn(parsedCompletion(text) ?? {}, endpoint);
  return reason === undefined ? "" : `: ${reason}`;
}

/** The address without user, password and parameters, which may be secrets. */
function placeOf({ url }: ChatEndpoint): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return parsed === undefined ? "its address" : parsed.origin + parsed.pathname;
}

/** The address of completions below the base address, whether that ends in a slash or not. */
export function completionsUrl(base: string): string {
  return `${base.replace(/\/+$/, "")}/chat/completions`;
}

async function* streamEvents({ body }: Response, endpoint: ChatEndpoint, watch: Watch): AsyncGenerator<ChatEvent> {
  if (body === null) throw new ChatError("malformed", "The language model answered nothing");
  let events = 0;
  let isOver = false;
  try {
    for await (const event of serverEvents(counted(body, endpoint, watch))) {
      watch.progress();
      isOver ||= event.data === "[DONE]";
      if (event.data === "[DONE]") break;
      // Proxies keep a stream open with events of nothing.
      if (event.data.trim() === "" && event.event !== "error") continue;
      events += 1;
      for (const said of saidBy(completionOf(event, endpoint).choices?.[0])) {
        isOver ||= said.type === "finish";
        yield said;
      }
      if (isOver) watch.expectEnd();
    }
  } catch (error) {
    const failure = failureOf(error, watch);
    // After the end of an answer a stream that is kept open, or breaks off, takes nothing from it.
    const isLost = failure === STREAM_KEPT || !(watch.signal.aborted || ChatError.is(error));
    if (!isOver || !isLost) throw failure;
  }
  if (events === 0) throw new ChatError("malformed", "The language model answered nothing");
  // A proxy that is tired of waiting may close a stream as if it were complete.
  if (!isOver) throw new ChatError("malformed", "The answer of the language model broke off: its stream has no end");
}

function failureOf(error: unknown, watch: Watch): unknown {
  if (watch.signal.aborted) return watch.signal.reason;
  if (ChatError.is(error)) return error;
  const message = `The answer of the language model broke off: ${(error as Error).message}`;
  return new ChatError("malformed", message, 0, error);
}

/** What is used of a chunk of a completion, or of a whole one. */
interface Choice {
  readonly delta?: Said;
  readonly message?: Said;
  readonly finish_reason?: string | null;
}

interface Said {
  readonly content?: unknown;
  /** What a model says in place of an answer that it does not want to give. */
  readonly refusal?: unknown;
  readonly tool_calls?: readonly { readonly function?: { readonly name?: unknown } }[];
}

/** A chunk of a completion, or a whole one. One that tells of a failure is thrown. */
function completionOf({ event, data }: ServerEvent, endpoint: ChatEndpoint): Completion {
  const isFailure = event === "error";
  const completion = parsedCompletion(data) ?? (isFailure ? { error: data } : undefined);
  if (completion === undefined) throw new ChatError("malformed", "The language model answered what is not JSON");
  const { error, object, type } = completion;
  // Some servers say in every chunk that there is none; vLLM has what others have in a member beside its word for it.
  if (!error && !isFailure && object !== "error" && type !== "error") return completion;
  throw new ChatError("refused", `The language model failed: ${failureIn(completion, endpoint) ?? "no reason given"}`);
}

/** What a failure says of itself, without the key. */
function failureIn({ error, message, detail }: Completion, { apiKey = "" }: ChatEndpoint): string | undefined {
  const named = typeof error === "string" ? error : (error || { message }).message;
  // As servers of FastAPI have it: a text, or a list of what is wrong with the request.
  const said = named ?? (Array.isArray(detail) ? detail[0]?.msg : detail);
  return said === undefined || said === null ? undefined : withoutSecret(String(said), apiKey).slice(0, 200);
}

function* saidBy(choice: Choice | undefined): Generator<ChatEvent> {
  const said = choice?.delta ?? choice?.message;
  const text = textOf(said?.refusal) || textOf(said?.content);
  if (text !== undefined) yield { type: "token", text };
  for (const call of Array.isArray(said?.tool_calls) ? said.tool_calls : []) {
    // Only the first piece of a call has its name; what follows are pieces of its arguments.
    const name = call?.function?.name;
    if (typeof name === "string" && name !== "") yield { type: "toolCall", name };
  }
  if (typeof choice?.finish_reason === "string") yield { type: "finish", reason: choice.finish_reason };
}

/** What is said: a text, or a list of parts, as models have that think aloud; what they think is none. */
function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  return content
    .map((part) => (part?.type === "text" ? part.text : part?.type === "refusal" ? part.refusal : ""))
    .filter((text) => typeof text === "string")
    .join("");
}

interface Completion {
  readonly choices?: readonly Choice[];
  readonly error?: { readonly message?: unknown } | string | null;
  readonly object?: unknown;
  readonly type?: unknown;
  readonly message?: unknown;
  readonly detail?: unknown;
}

function parsedCompletion(json: string): Completion | undefined {
  try {
    const parsed = JSON.parse(json) as Completion | null | readonly [Completion];
    // Google's endpoints have their failures in a list.
    const value = Array.isArray(parsed) ? (parsed[0] as Completion | undefined) : (parsed as Completion | null);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** An answer that is not streamed. */
async function* wholeEvents({ body }: Response, endpoint: ChatEndpoint, watch: Watch): AsyncGenerator<ChatEvent> {
  if (body === null) throw new ChatError("malformed", "The language model answered nothing");
  let text: string;
  try {
    text = await wholeText(body, endpoint, watch);
  } catch (error) {
    throw failureOf(error, watch);
  }
  const completion = completionOf({ event: "message", data: text }, endpoint);
  if (completion.choices?.[0] === undefined)
    throw new ChatError("malformed", "The language model answered without a choice");
  yield* saidBy(completion.choices[0]);
}

async function wholeText(body: Body, endpoint: ChatEndpoint, watch: Watch): Promise<string> {
  const stream = counted(body, endpoint, watch);
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of stream as unknown as AsyncIterable<Uint8Array>) {
    watch.progress();
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

function tooLong({ answerCharactersMax = ANSWER_CHARACTERS_MAX }: ChatLimits): ChatError {
  return new ChatError("too long", `The answer of the language model is longer than ${answerCharactersMax} characters`);
}

/** The bytes of an answer, which ends where there are too many. */
function counted(body: Body, endpoint: ChatEndpoint, { signal }: Watch): Body {
  let left = (endpoint.answerCharactersMax ?? ANSWER_CHARACTERS_MAX) * STREAM_OVERHEAD;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (part, controller) => {
      left -= part.length;
      if (left >= 0) controller.enqueue(part);
      else controller.error(tooLong(endpoint));
    },
  });
  return body.pipeThrough(counter, { signal });
}

type Body = ReadableStream<Uint8Array>;

/** Each token of a stream is wrapped in JSON many times its size. */
const STREAM_OVERHEAD = 64;
