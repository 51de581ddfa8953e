/**
 * What search chains with a language model answer (Vespa's LLMSearcher and RAGSearcher): the prompt they make, the events
 * of the generation, and both forms of these: server-sent events, and one JSON result.
 */
import { membersThere } from "@brooklet/wire";
import { type ChatEndpoint, type ChatEvent, chat } from "./chat.ts";
import { ChatError } from "./chat-error.ts";

/** An event of a generation. Its type is its name in the stream. */
export type GenerationEvent =
  | { readonly type: "prompt"; readonly prompt: string }
  /** The whole ordinary result, as JSON. */
  | { readonly type: "hits"; readonly hits: string }
  | { readonly type: "token"; readonly token: string }
  | { readonly type: "completion"; readonly completion: string }
  | { readonly type: "stats"; readonly stats: string }
  | {
      readonly type: "error";
      readonly code: number;
      readonly summary: string;
      readonly source: string;
      readonly message: string;
    };

/** What is generated. */
export interface Generation {
  readonly model: ChatEndpoint;
  /** The component id of the model as it is configured; empty if none is. */
  readonly source: string;
  readonly prompt: string;
  /** One event a token, or one for all of them. */
  readonly stream: boolean;
  /** Whether the prompt is told. */
  readonly includePrompt: boolean;
  /** Whether the times are told. */
  readonly includeStats: boolean;
  /** The ordinary result, if it is told. */
  readonly hits?: string;
  readonly signal?: AbortSignal;
  /** Stands around what the model says, as a count of its calls does; it is as the model said it unless there is one. */
  readonly watched?: (said: AsyncIterable<ChatEvent>) => AsyncIterable<ChatEvent>;
}

/** `@query` and `{context}` in a prompt for what was found are replaced; one without `{context}` begins with it. A model alone is sent its prompt as it is. */
export function promptOf(prompt: string, query: string, context: string | undefined): string {
  const asked = prompt.split("@query").join(query);
  if (context === undefined) return asked;
  return (asked.includes("{context}") ? asked : `{context}\n${asked}`).split("{context}").join(context);
}

/**
 * The hits of a result as the context of a prompt: each field of each hit as a line, under `document [n]:`. Numbers are
 * written as the result has them, whatever their size.
 */
export function contextOf(result: string, fields: ReadonlySet<string> | undefined): string {
  const { root } = JSON.parse(withNumbersAsTexts(result)) as {
    readonly root?: {
      readonly children?: readonly { readonly id?: string; readonly fields?: Readonly<Record<string, unknown>> }[];
    };
  };
  return (root?.children ?? [])
    .filter(({ id = "" }) => !id.startsWith("group:"))
    .map(({ fields: values = {} }, index) => {
      const shown = Object.entries(values).filter(([name]) => fields === undefined || fields.has(name));
      const lines = shown.map(([name, value]) => `${name}: ${plain(value)}\n`).join("");
      return `document [${index + 1}]:\n${lines}\n`;
    })
    .join("");
}

/** A marker that no text of a result begins with: JSON cannot have it unescaped. */
const NUMBER_MARK = "\u0001";

/**
 * JSON with every number as a text of its digits, since numbers beyond 2^53 would not come back as they were. Texts are passed over
 * a quote or escape at a time: as one match a long one would be more than the matcher keeps.
 */
function withNumbersAsTexts(json: string): string {
  let isText = false;
  return json.replace(/"|\\.|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (found) => {
    if (found === '"') isText = !isText;
    return isText || found === '"' ? found : `"\\u0001${found}"`;
  });
}

function plain(value: unknown): string {
  if (typeof value === "string") return value.startsWith(NUMBER_MARK) ? value.slice(1) : value;
  return JSON.stringify(value).replace(/"\\u0001([^"]*)"/g, "$1");
}

/** Code and summary of a model's failure in a stream. */
const MODEL_FAILED = { code: 400, summary: "Error in LLM text generation" } as const;

/**
 * The events of a generation, as they come. A failure of the model is an event where tokens are streamed; otherwise it is
 * thrown, as a `ChatError`.
 */
export async function* generationEvents(generation: Generation): AsyncGenerator<GenerationEvent> {
  const { prompt, includePrompt, hits, stream, includeStats } = generation;
  if (includePrompt) yield { type: "prompt", prompt };
  if (hits !== undefined) yield { type: "hits", hits };
  const times = new Times();
  if (!stream) {
    yield { type: "completion", completion: await completionOf(generation, times) };
  } else {
    try {
      for await (const token of tokensOf(generation, times)) yield { type: "token", token };
    } catch (error) {
      if (!ChatError.is(error)) throw error;
      yield { type: "error", ...MODEL_FAILED, source: generation.source, message: error.message };
      return;
    }
  }
  if (includeStats) yield { type: "stats", stats: times.told() };
}

async function* tokensOf(generation: Generation, times: Times): AsyncGenerator<string> {
  const { model, prompt, signal, stream, watched = (said) => said } = generation;
  const request = {
    messages: [{ role: "user", content: prompt }],
    stream,
    ...membersThere({ signal }),
  } as const;
  for await (const event of watched(chat(model, request))) {
    if (event.type !== "token") continue;
    times.count();
    yield event.text;
  }
}

async function completionOf(generation: Generation, times: Times): Promise<string> {
  let completion = "";
  for await (const token of tokensOf(generation, times)) completion += token;
  return completion;
}

/** How long a generation takes. */
class Times {
  readonly #began = performance.now();
  #first: number | undefined;
  #tokens = 0;

  count(): void {
    this.#first ??= performance.now();
    this.#tokens += 1;
  }

  told(): string {
    const now = performance.now();
    const first = this.#first ?? now;
    const generationMs = now - first;
    const rate = generationMs > 0 ? (this.#tokens * 1000) / generationMs : 0;
    const [firstMs, allMs] = [first - this.#began, generationMs].map(Math.round);
    const tokens = `Generated tokens: ${this.#tokens} (${rate.toFixed(2)} tokens/sec)`;
    return `Time to first token: ${firstMs} ms, Generation time: ${allMs} ms, ${tokens}`;
  }
}

/** The members of an event, without its type; of an error those of an ordinary one. */
function membersOf(event: GenerationEvent): Readonly<Record<string, unknown>> {
  const { type: _, ...members } = event;
  return members;
}

/** An event as it stands in a stream. */
export function renderEvent(event: GenerationEvent): string {
  // The result is not wrapped; line breaks in it are those between its members, since its texts have theirs escaped.
  const data = event.type === "hits" ? inOneLine(event.hits) : JSON.stringify(membersOf(event));
  return `event: ${event.type}\ndata: ${data}\n\n`;
}

function inOneLine(json: string): string {
  return json
    .split("\n")
    .map((line) => line.trim())
    .join("");
}

/** What a stream ends with. It has no data, and no empty line. */
export const STREAM_END = "event: end\n";

/** All events as one JSON result. */
export function renderGeneration(events: readonly GenerationEvent[], stream: boolean): string {
  const hits = events.map((event, index) => {
    const members =
      event.type === "error" ? { error: event.summary, source: event.source, code: event.code } : membersOf(event);
    const isEmpty = event.type === "token" && event.token === "";
    return `{"id":"${index + 1}","relevance":1.0${isEmpty ? "" : `,"fields":${JSON.stringify(members)}`}}`;
  });
  const children = hits.length === 0 ? "" : `,"children":[${hits.join(",")}]`;
  const list = `{"id":"event_stream","relevance":1.0${children}}`;
  const id = stream ? "token_stream" : "completion";
  return `{"root":{"id":"${id}","relevance":1.0,"fields":{"totalCount":0},"children":[${list}]}}`;
}
