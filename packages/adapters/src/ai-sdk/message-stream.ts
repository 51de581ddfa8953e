/** An answer as a stream of UI messages, which `useChat` and its kin of the AI SDK read: text, and its sources. */
import { type Answer, type AnswerPart, BrookletError, type Citation } from "@brooklet/client";
import { createUIMessageStream, type UIMessage, type UIMessageChunk, type UIMessageStreamWriter } from "ai";

/** How an answer is streamed. */
export interface UiMessageStreamOptions {
  /** What the reader is told of an error; its message where it is a `BrookletError`, otherwise only that there was one. */
  readonly onError?: (error: unknown) => string;
  /** The title of a source, by its citation; the id of its document unless it is said. */
  readonly title?: (citation: Citation) => string;
}

const MEDIA_TYPE = "text/plain";

/**
 * The parts of an answer as chunks of a UI message: its text as it comes, and each passage it cites as a `source-document`, once,
 * whose `sourceId` is the number in the text. `createUIMessageStreamResponse({ stream })` makes a response of it. Who cancels the
 * stream, as a reader does that goes away, ends the answer at what the model says next.
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
      for await (const part of answer) {
        // The library's stream takes no notice of being cancelled: the model would go on for nobody.
        if (isLeft) break;
        written.write(part);
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
  }

  write(part: AnswerPart): void {
    if (part.type === "text") {
      if (!this.#hasBegun) this.#writer.write({ type: "text-start", id: this.#id });
      this.#hasBegun = true;
      this.#writer.write({ type: "text-delta", id: this.#id, delta: part.text });
      for (const citation of part.citations) this.#cite(citation);
    }
    if (part.type === "end" && this.#hasBegun) this.#writer.write({ type: "text-end", id: this.#id });
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
