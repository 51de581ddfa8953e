/** A language model of Workers AI as one that `ask` asks. It is given no tools; one that it asks for is told by its name. */
import { serverEvents } from "@brooklet/answers";
import { ChatError, type ChatEvent, type ChatLimits, type ChatMessage, type ChatModel } from "@brooklet/client";
import { pause, waitMs } from "@brooklet/wire";
import { isWorkersAi, runModel, type WorkersAi, workersAiFailure } from "./binding.ts";

/** Which model, and how it is asked. */
export interface WorkersAiModelOptions extends ChatLimits {
  /** The binding, `env.AI`. */
  readonly ai: WorkersAi;
  /** The model, as in `@cf/meta/llama-3.3-70b-instruct-fp8-fast`. */
  readonly model: string;
  /** Further members of the inputs: `temperature`, `max_tokens` (1,024 unless it is said: the platform ends after 256), … */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Options of `run`, as in `{ gateway: { id: "mine" } }`. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Whether it is read as it is said, which it is unless this is false. */
  readonly stream?: boolean;
  /** Tries in all, while nothing of an answer has come; 3 by default. */
  readonly attempts?: number;
}

const ATTEMPTS = 3;
const TOKENS = 1_024;
const WAITS = { firstWaitMs: 250, longestWaitMs: 10_000 };

/**
 * Any text generation model of Workers AI, for `ask` and for `languageModel` of a database.
 *
 * @example
 * ```ts
 * import { WorkersAiModel, type WorkersAi } from "brooklet/workers-ai";
 *
 * declare const env: { AI: WorkersAi };
 * const answer = alice.ask(mail, "What is due this week?", {
 *   model: new WorkersAiModel({ ai: env.AI, model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" }),
 * });
 * for await (const part of answer) console.log(part.text);
 * ```
 */
export class WorkersAiModel implements ChatModel {
  readonly idleTimeoutMs?: number;
  readonly timeoutMs?: number;
  readonly answerCharactersMax?: number;
  readonly #options: WorkersAiModelOptions;

  /** A model. Nothing is asked of it by this. */
  constructor(options: WorkersAiModelOptions) {
    const { ai, model, parameters, idleTimeoutMs, timeoutMs, answerCharactersMax } = options;
    if (!isWorkersAi(ai)) throw new TypeError("the `ai` of a WorkersAiModel is no binding of Workers AI (env.AI)");
    if (typeof model !== "string" || model === "") throw new TypeError("a WorkersAiModel needs its `model`");
    if (parameters?.["tools"] !== undefined)
      throw new TypeError("a WorkersAiModel has no tools: nothing that documents say may call one");
    this.#options = options;
    if (idleTimeoutMs !== undefined) this.idleTimeoutMs = idleTimeoutMs;
    if (timeoutMs !== undefined) this.timeoutMs = timeoutMs;
    if (answerCharactersMax !== undefined) this.answerCharactersMax = answerCharactersMax;
  }

  /** What the model says, as it says it. */
  async *say(messages: readonly ChatMessage[], signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const answer = await this.#run(messages, signal);
    if (!(answer instanceof ReadableStream)) {
      yield* saidIn(answer);
      return;
    }
    let isOver = false;
    for await (const { data } of serverEvents(answer as ReadableStream<Uint8Array>)) {
      if (data === "[DONE]") return;
      for (const event of saidIn(parseJson(data))) {
        isOver ||= event.type === "finish";
        yield event;
      }
    }
    signal.throwIfAborted();
    if (!isOver) throw new ChatError("malformed", "The answer of the language model broke off: its stream has no end");
  }

  async #run(messages: readonly ChatMessage[], signal: AbortSignal): Promise<unknown> {
    const { ai, model, parameters, options, stream = true, attempts = ATTEMPTS } = this.#options;
    const inputs = { max_tokens: TOKENS, ...parameters, messages, stream };
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runModel(ai, model, inputs, options, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!workersAiFailure(error).isPassing || attempt >= attempts) throw chatFailure(error);
        await pause(waitMs(WAITS, attempt), signal);
      }
    }
  }
}

/** A piece of an answer, or all of it: the platform's own form, or the one of OpenAI that newer models have. */
interface Said {
  readonly response?: unknown;
  readonly tool_calls?: unknown;
  readonly errors?: unknown;
  readonly choices?: readonly {
    readonly delta?: { readonly content?: unknown; readonly tool_calls?: unknown };
    readonly message?: { readonly content?: unknown; readonly tool_calls?: unknown };
    readonly finish_reason?: unknown;
  }[];
}

function* saidIn(answer: unknown): Generator<ChatEvent> {
  const { response, tool_calls: ownTools, errors, choices } = Object(answer) as Said;
  if (errors !== undefined) throw chatFailure(new Error(JSON.stringify(errors)));
  const [choice] = Array.isArray(choices) ? choices : [];
  const said = choice?.delta ?? choice?.message;
  const content = response ?? said?.content;
  const tools = [ownTools, said?.tool_calls].flatMap((calls) => (Array.isArray(calls) ? (calls as unknown[]) : []));
  const isOurs = typeof answer === "object" && answer !== null && (response !== undefined || choice !== undefined);
  if (!isOurs && tools.length === 0) {
    // Counts of tokens come as a piece of their own.
    if (Object(answer).usage !== undefined) return;
    throw new ChatError("malformed", "The language model answered something that is no text");
  }
  if (typeof content === "string") yield { type: "token", text: content };
  else if (content !== undefined && content !== null)
    throw new ChatError("malformed", "The language model answered something that is no text");
  for (const call of tools) {
    const { name, function: of } = Object(call) as { readonly name?: unknown; readonly function?: { name?: unknown } };
    const called = of?.name ?? name;
    // Only the first piece of a call has its name; what follows are pieces of its arguments.
    if (typeof called === "string" && called !== "") yield { type: "toolCall", name: called };
  }
  if (typeof choice?.finish_reason === "string") yield { type: "finish", reason: choice.finish_reason };
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data) as unknown;
  } catch (error) {
    throw new ChatError("malformed", "The language model answered what is not JSON", 0, error);
  }
}

function chatFailure(error: unknown): ChatError {
  const { status, isUsedUp, message } = workersAiFailure(error);
  const isAway = status === 0 || status === 408 || status >= 500;
  const failure = status === 429 || isUsedUp ? "overloaded" : isAway ? "unreachable" : "refused";
  const place = status === 0 ? "" : ` with status ${status}`;
  return new ChatError(failure, `The language model failed${place}: ${message}`, status, error);
}
