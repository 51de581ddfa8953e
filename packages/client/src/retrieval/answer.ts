/** Answers to questions about a group: parts as they come, or the whole to wait for. */
import type { AnswerPart, AnswerSummary, ChatMessage, LanguageModel } from "@brooklet/answers";
import { invalidArgument } from "../error.ts";
import type { AnySchema } from "../schema/schema.ts";
import type { RetrieveOptions } from "./retrieval.ts";

/** Options of an answer. */
export interface AskOptions<S extends AnySchema = AnySchema> extends RetrieveOptions<S> {
  /** The language model; the one that the client was made with unless it is said. */
  readonly model?: LanguageModel;
  /** What was said before, oldest first. The caller keeps it. */
  readonly history?: readonly ChatMessage[];
  /** What of it the model is given at most: the newest messages, in tokens as `countTokens` has them; 12,000 by default. */
  readonly historyTokens?: number;
  /** Whether a question that follows others is first rewritten to stand for itself, which asks the model once more. */
  readonly rewrite?: boolean;
  /** Said to the model after the rules: tone, language, length. */
  readonly instructions?: string;
}

/**
 * An answer. Iterate it for its parts, `for await (const part of answer) show(part.text)`, or await it for the whole. The
 * model is asked when either begins.
 *
 * @example
 * ```ts
 * const answer: Answer = alice.ask(mail, "What is due this week?");
 * for await (const part of answer) console.log(part.text);
 * ```
 */
export class Answer implements AsyncIterable<AnswerPart>, PromiseLike<AnswerSummary> {
  readonly #begin: () => AsyncGenerator<AnswerPart>;
  #whole: Promise<AnswerSummary> | undefined;
  #isTaken = false;

  /** @internal Answers are made by `group.ask`. */
  constructor(begin: () => AsyncGenerator<AnswerPart>) {
    this.#begin = begin;
  }

  [Symbol.asyncIterator](): AsyncGenerator<AnswerPart> {
    if (this.#isTaken) throw invalidArgument("an answer can be taken once: iterate it, or await it");
    this.#isTaken = true;
    return this.#begin();
  }

  // biome-ignore lint/suspicious/noThenProperty: it is awaited like a promise, and asks nobody until it is.
  then<Fulfilled = AnswerSummary, Rejected = never>(
    onFulfilled?: ((summary: AnswerSummary) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.#whole ??= import("./answering.ts").then(({ summarize }) => summarize(this));
    return this.#whole.then(onFulfilled, onRejected);
  }
}

/** Refuses what is no language model, and says what it may be made of. */
export function checkLanguageModel(given: LanguageModel, option: string): void {
  const { url, model, say, doStream } = Object(given) as Readonly<Record<string, unknown>>;
  if (typeof say === "function") return;
  if (typeof url === "string" && typeof model === "string" && URL.canParse(url)) return;
  if (typeof doStream === "function" || typeof given === "string")
    throw invalidArgument(`${option} is a model of the AI SDK: give new AiSdkModel(…) of brooklet/ai-sdk`);
  throw invalidArgument(`${option} needs the \`url\` of an endpoint and the \`model\` there`);
}
