/**
 * A stand-in for a language model, for a first run without one: it answers with the sentences of the passages that have most
 * words of the question, cited. It speaks the protocol of one, so that nothing else in the application differs.
 */
import type { ChatEndpoint } from "brooklet";

const PASSAGE = /<(passage-[0-9a-f]{16}) number="(\d+)"[^>]*>\n([\s\S]*?)\n<\/\1>/g;
const SENTENCES_MAX = 3;
const TOKEN_MS = 12;
const SMALL = new Set(
  "a an and are at be by do does for from has have how i in is it me my of on or the to was what when where which who why will with you".split(
    " ",
  ),
);

/** The stand-in as an endpoint. */
export function scriptedModel(waitMs: number = TOKEN_MS): ChatEndpoint {
  return {
    url: "http://scripted.invalid/v1/",
    model: "scripted",
    fetch: async (_, init) => {
      const { messages } = JSON.parse(String(init.body)) as {
        readonly messages: readonly { readonly content: string }[];
      };
      const text = scriptedAnswer(messages.at(-1)?.content ?? "");
      return new Response(streamOf(text, waitMs), { headers: { "content-type": "text/event-stream" } });
    },
  };
}

/** What it says to a prompt. */
export function scriptedAnswer(prompt: string): string {
  const question = /\n\nQuestion: ([\s\S]*)$/.exec(prompt)?.[1] ?? "";
  const asked = new Set(wordsOf(question));
  const sentences = [...prompt.matchAll(PASSAGE)].flatMap(([, , number, text = ""], place) =>
    (text.match(/[^.!?\n]+[.!?]?/g) ?? []).map((sentence) => {
      const words = new Set(wordsOf(sentence));
      const shared = [...asked].filter((word) => words.has(word)).length;
      return { text: sentence.trim(), number, score: shared - place / 100 };
    }),
  );
  const best = sentences.filter(({ score }) => score > 0.5).sort((left, right) => right.score - left.score);
  const said = best.filter(({ text, score }, index) => {
    const isNew = best.findIndex((other) => other.text === text) === index;
    return isNew && score >= (best[0]?.score ?? 0) - 1;
  });
  if (said.length === 0) return "Nothing was found in your mail that answers this.";
  const answer = said.slice(0, SENTENCES_MAX).map(({ text, number }) => `${text.replace(/[.!?]$/, "")} [${number}].`);
  return `From your mail: ${answer.join(" ")}`;
}

function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !SMALL.has(word)).map((word) => word.slice(0, 5));
}

function streamOf(text: string, waitMs: number): ReadableStream<Uint8Array> {
  const utf8 = new TextEncoder();
  const tokens = text.match(/\S+\s*/g) ?? [];
  return new ReadableStream({
    pull: async (controller) => {
      const content = tokens.shift();
      if (content === undefined) {
        const end = { choices: [{ delta: {}, finish_reason: "stop" }] };
        controller.enqueue(utf8.encode(`data: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`));
        controller.close();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      controller.enqueue(utf8.encode(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`));
    },
  });
}
