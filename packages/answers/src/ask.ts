/**
 * Asking: a prompt of passages, a language model, and its answer as events. What the model says is checked as it comes:
 * it may cite the passages it was given and nothing else, and it can neither call tools nor make a reader fetch anything.
 */
import { membersThere } from "@brooklet/wire";
import { type AnswerPiece, AnswerText } from "./answer-text.ts";
import { chat, type LanguageModel } from "./chat.ts";
import { ChatError } from "./chat-error.ts";
import type { Passage } from "./passage.ts";
import { type ChatMessage, promptMessages } from "./prompt.ts";

/** A passage that the answer cites. */
export interface Citation {
  /** The number it has in the answer: its place among the passages, from 1. */
  readonly number: number;
  readonly passage: Passage;
}

/** A part of an answer. All have `text` (to be shown, often empty) and the citations in it. */
export type AnswerPart =
  | {
      /** What the model is given, before it says anything. */
      readonly type: "passages";
      readonly text: "";
      readonly citations: readonly [];
      readonly passages: readonly Passage[];
      /** The question the passages were found with, if it was rewritten. */
      readonly question: string;
    }
  | { readonly type: "text"; readonly text: string; readonly citations: readonly Citation[] }
  | {
      /** Something the model said that was taken out: a citation of no passage, or the call of a tool. */
      readonly type: "removed";
      readonly text: "";
      readonly citations: readonly [];
      readonly what: "citation" | "toolCall";
      readonly removed: string;
    }
  | {
      readonly type: "end";
      readonly text: "";
      /** Every passage the answer cites, once, in the order of the first time. */
      readonly citations: readonly Citation[];
      /** Why the model ended: `stop`, `length`, …; empty if it did not say. */
      readonly reason: string;
    };

/** An answer as a whole. */
export interface AnswerSummary {
  readonly text: string;
  readonly citations: readonly Citation[];
  readonly passages: readonly Passage[];
  /** Citations that were taken out, as they were written. */
  readonly inventedCitations: readonly string[];
  readonly reason: string;
}

/** How to answer. */
export interface AnswerOptions {
  readonly model: LanguageModel;
  /** What was said before, oldest first. Who keeps it is the caller. */
  readonly history?: readonly ChatMessage[];
  /** Said to the model after the rules: tone, language, length. */
  readonly instructions?: string;
  /** Whether a passage is still stored, asked when it is first cited. A document may go while it is talked about. */
  readonly isStored?: (passage: Passage) => Promise<boolean>;
  readonly signal?: AbortSignal;
}

/** The parts of the answer to a question, from passages. */
export async function* answer(
  question: string,
  passages: readonly Passage[],
  options: AnswerOptions,
): AsyncGenerator<AnswerPart> {
  const { model, history, instructions, signal } = options;
  const messages = promptMessages({ question, passages, ...membersThere({ history, instructions }) });
  yield { type: "passages", text: "", citations: [], passages, question };
  const text = new AnswerText(storedPassages(passages, options));
  const cited: number[] = [];
  let reason = "";
  for await (const event of chat(model, { messages, ...membersThere({ signal }) })) {
    if (event.type === "token") yield* parts(await text.push(event.text), passages, cited);
    else if (event.type === "toolCall") yield removalPart("toolCall", event.name);
    else reason = event.reason;
  }
  yield* parts(await text.finish(), passages, cited);
  yield { type: "end", text: "", citations: citationsOf(cited, passages), reason };
}

/** Whether a number is that of a passage whose document is still there; each is asked about once. */
function storedPassages(
  passages: readonly Passage[],
  { isStored }: AnswerOptions,
): (number: number) => Promise<boolean> {
  const known = new Map<number, Promise<boolean>>();
  return async (number) => {
    const passage = passages[number - 1];
    if (passage === undefined) return false;
    const asked = known.get(number) ?? (isStored === undefined ? Promise.resolve(true) : isStored(passage));
    known.set(number, asked);
    return await asked;
  };
}

function* parts(
  { text, cited, removed: gone }: AnswerPiece,
  passages: readonly Passage[],
  all: number[],
): Generator<AnswerPart> {
  if (text !== "") yield { type: "text", text, citations: citationsOf(cited, passages) };
  for (const number of cited) if (!all.includes(number)) all.push(number);
  for (const citation of gone) yield removalPart("citation", citation);
}

function removalPart(what: "citation" | "toolCall", gone: string): AnswerPart {
  return { type: "removed", text: "", citations: [], what, removed: gone };
}

function citationsOf(numbers: readonly number[], passages: readonly Passage[]): Citation[] {
  return numbers.flatMap((number) => {
    const passage = passages[number - 1];
    return passage === undefined ? [] : [{ number, passage }];
  });
}

/** Puts the parts of an answer together. */
export async function summarize(parts: AsyncIterable<AnswerPart>): Promise<AnswerSummary> {
  let text = "";
  let passages: readonly Passage[] = [];
  const inventedCitations: string[] = [];
  for await (const part of parts) {
    text += part.text;
    if (part.type === "passages") passages = part.passages;
    else if (part.type === "removed" && part.what === "citation") inventedCitations.push(part.removed);
    else if (part.type === "end") {
      return { text: text.trim(), citations: part.citations, passages, inventedCitations, reason: part.reason };
    }
  }
  throw new ChatError("malformed", "The answer has no end");
}

const REWRITE_RULES = `Rewrite the last question so that it can be understood without the conversation before it. \
Answer with the question alone. If it already can be, repeat it unchanged.`;

/** Longest question that a rewriting may become. */
const REWRITTEN_CHARACTERS_MAX = 1_000;

/** Reasons of an end before the end, as OpenAI and as the AI SDK have them. */
const CUT: ReadonlySet<string> = new Set(["length", "content_filter", "content-filter"]);

/** A follow-up question as one that stands for itself. Without a history, or if the model says nothing of use, as it is. */
export async function rewrittenQuestion(
  question: string,
  history: readonly ChatMessage[],
  model: LanguageModel,
  signal?: AbortSignal,
): Promise<string> {
  if (history.length === 0) return question;
  const messages: ChatMessage[] = [
    { role: "system", content: REWRITE_RULES },
    ...history,
    { role: "user", content: question },
  ];
  let rewritten = "";
  for await (const event of chat(model, { messages, ...membersThere({ signal }) })) {
    if (event.type === "token") rewritten += event.text;
    // What breaks off in the middle is another question, and the call of a tool is none.
    if (event.type === "toolCall" || (event.type === "finish" && CUT.has(event.reason))) return question;
    if (rewritten.length > REWRITTEN_CHARACTERS_MAX) return question;
  }
  return rewritten.trim() || question;
}
