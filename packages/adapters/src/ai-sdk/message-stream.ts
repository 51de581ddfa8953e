/** An answer as a stream of UI messages, which `useChat` and its kin of the AI SDK read: text, its sources, and how it ended. */
import { type Answer, type AnswerPart, BrookletError, type Citation } from "@brooklet/client";
import {
  createUIMessageStream,
  type FinishReason,
  type UIMessage,
  type UIMessageChunk,
  type UIMessageStreamWriter,
} from "ai";

/** How an answer is streamed. */
export interface UiMessageStreamOptions {
  /** What the reader is told of an error; its message where it is a `BrookletError`, otherwise only that there was one. */
  readonly onError?: (error: unknown) => string;
  /** The title of a source, by its citation; the id of its document unless it is said. */
  readonly title?: (citation: Citation) => string;
}

const MEDIA_TYPE = "text/plain";
/** Reasons of an end by the words that models have for them. Readers take no others: one of them would fail the whole message. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
  ["content_filter", "content-filter"],
  ["content-filter", "content-filter"],
  ["tool_calls", "tool-calls"],
  ["tool-calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["error", "error"],
]);

/**
 * The parts of an answer as chunks of a UI message: its text as it comes, and each passage it cites as a `source-document`, once,
 * whose `sourceId` is the number in the text; the last says why the model ended (`finishReason`), or that the answer was aborted.
 * `createUIMessageStreamResponse({ stream })` makes a response of it. Who cancels the stream, as a reader does that goes away, ends
 * the answer at what the model says next.
 *
 * @example
 * ```ts
 * import { createUIMessageStreamResponse } from "ai";
 * import { uiMessageStream } from "brooklet/ai-sdk";
 *
 * const answer = alice.ask(mail, "What is due this week?");
 * const response: Response = createUIMessageStreamResponse({ stream: uiMessageStream(answer) });
 * ```
 */
export function uiMessageStream(answer: Answer, options: UiMessageStreamOptions = {}): ReadableStream<UIMessageChunk> {
  const { onError = failureText, title = ({ passage }) => passage.documentId } = options;
  let isLeft = false;
  const stream = createUIMessageStream<UIMessage>({
    onError,
    execute: async ({ writer }) => {
      const written = new WrittenAnswer(writer, title);
      try {
        for await (const part of answer) {
          // The library's stream takes no notice of being cancelled: the model would go on for nobody.
          if (isLeft) break;
          written.write(part);
        }
      } catch (error) {
        if ((error as Partial<Error> | undefined)?.name !== "AbortError") throw error;
        writer.write({ type: "abort" });
      }
    },
  });
  const reader = stream.getReader();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async (reason) => {
      isLeft = true;
      await reader.cancel(reason);
    },
  });
}

function failureText(error: unknown): string {
  return BrookletError.is(error) ? error.message : "The answer could not be given.";
}

/** What of an answer is written already. */
class WrittenAnswer {
  readonly #writer: UIMessageStreamWriter;
  readonly #title: (citation: Citation) => string;
  readonly #cited: Set<number> = new Set();
  readonly #id = "answer";
  #hasBegun = false;

  constructor(writer: UIMessageStreamWriter, title: (citation: Citation) => string) {
    this.#writer = writer;
    this.#title = title;
    writer.write({ type: "start" });
  }

  write(part: AnswerPart): void {
    if (part.type === "text") {
      if (!this.#hasBegun) this.#writer.write({ type: "text-start", id: this.#id });
      this.#hasBegun = true;
      this.#writer.write({ type: "text-delta", id: this.#id, delta: part.text });
      for (const citation of part.citations) this.#cite(citation);
    }
    if (part.type !== "end") return;
    if (this.#hasBegun) this.#writer.write({ type: "text-end", id: this.#id });
    this.#writer.write({ type: "finish", finishReason: REASONS.get(part.reason) ?? "other" });
  }

  #cite(citation: Citation): void {
    const { number, passage } = citation;
    if (this.#cited.has(number)) return;
    this.#cited.add(number);
    const { documentId, field, element, start, end } = passage;
    const place = { documentId, field, ...(element === undefined ? {} : { element }), start, end };
    this.#writer.write({
      type: "source-document",
      sourceId: String(number),
      mediaType: MEDIA_TYPE,
      title: this.#title(citation),
      providerMetadata: { brooklet: place },
    });
  }
}
