/** A language model of the AI SDK as one that `ask` asks. It is given no tools; one that it asks for is told by its name. */
import { ChatError, type ChatEvent, type ChatLimits, type ChatMessage, type ChatModel } from "@brooklet/client";
import { type LanguageModel, streamText } from "ai";
import { providerFailure } from "./provider-failure.ts";

type Settings = Omit<
  Parameters<typeof streamText>[0],
  "model" | "system" | "prompt" | "messages" | "tools" | "toolChoice" | "abortSignal" | "onError"
>;

/** How the model is asked. */
export interface AiSdkModelOptions extends ChatLimits {
  /** Settings of `streamText`: `temperature`, `maxOutputTokens`, `maxRetries`, `providerOptions`, … */
  readonly settings?: Partial<Settings>;
}

/**
 * Any `LanguageModel` of the AI SDK, for `ask` and for `languageModel` of a database.
 *
 * @example
 * ```ts
 * import type { LanguageModel } from "ai";
 * import { AiSdkModel } from "brooklet/ai-sdk";
 *
 * declare const model: LanguageModel; // openai("gpt-5-mini"), say
 * const answer = alice.ask(mail, "What is due this week?", {
 *   model: new AiSdkModel(model, { settings: { maxOutputTokens: 500 } }),
 * });
 * for await (const part of answer) process.stdout.write(part.text);
 * ```
 */
export class AiSdkModel implements ChatModel, ChatLimits {
  readonly idleTimeoutMs?: number;
  readonly timeoutMs?: number;
  readonly answerCharactersMax?: number;
  readonly #model: LanguageModel;
  readonly #settings: Partial<Settings>;

  /** A model. Nothing is asked of it by this. */
  constructor(model: LanguageModel, options: AiSdkModelOptions = {}) {
    const { settings = {}, ...limits } = options;
    if (typeof model !== "string" && typeof (model as { doStream?: unknown } | null)?.doStream !== "function")
      throw new TypeError("an AiSdkModel is made with a language model of the AI SDK");
    const { tools } = settings as { readonly tools?: unknown };
    if (tools !== undefined) throw new TypeError("an AiSdkModel has no tools: nothing that documents say may call one");
    this.#model = model;
    this.#settings = settings;
    Object.assign(this, limits);
  }

  /** What the model says, as it says it. */
  async *say(messages: readonly ChatMessage[], signal: AbortSignal): AsyncGenerator<ChatEvent> {
    const rules = messages.filter(({ role }) => role === "system").map(({ content }) => content);
    const said = messages.filter(({ role }) => role !== "system") as { role: "user" | "assistant"; content: string }[];
    const { fullStream } = streamText({
      ...this.#settings,
      model: this.#model,
      system: rules.join("\n\n"),
      messages: said,
      abortSignal: signal,
      // Errors are parts of the stream, which is where they are told.
      onError: () => undefined,
    });
    for await (const part of fullStream) {
      if (part.type === "text-delta") yield { type: "token", text: part.text };
      else if (part.type === "tool-call") yield { type: "toolCall", name: part.toolName };
      else if (part.type === "finish") yield { type: "finish", reason: part.finishReason };
      else if (part.type === "error") throw chatFailure(part.error);
      // A model that thinks is not late, though nothing of it is shown.
      else if (part.type === "reasoning-delta") yield { type: "token", text: "" };
    }
    signal.throwIfAborted();
  }
}

function chatFailure(error: unknown): ChatError {
  const { status, message } = providerFailure(error);
  const isOverloaded = status === 429 || status === 503;
  const failure = status === 0 ? "unreachable" : isOverloaded ? "overloaded" : "refused";
  const place = status === 0 ? "" : ` with status ${status}`;
  return new ChatError(failure, `The language model failed${place}: ${message}`, status, error);
}
