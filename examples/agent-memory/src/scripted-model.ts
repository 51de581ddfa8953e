/**
 * A stand-in for a language model, for a first run without one. "Remember that …" becomes a call of `remember`, "forget …" one of
 * `recall` and then of `forget`, anything else one of `recall`, and what that gives is the answer.
 */
import type { LanguageModel } from "ai";

type Model = Extract<LanguageModel, { readonly specificationVersion: "v3" }>;
type Asked = Parameters<Model["doGenerate"]>[0];
type Said = Awaited<ReturnType<Model["doGenerate"]>>;
type Content = Said["content"][number];

interface Recalled {
  readonly id: string;
  readonly fields: { readonly fact: string };
}

/** The stand-in. */
export function scriptedModel(): Model {
  return {
    specificationVersion: "v3",
    provider: "scripted",
    modelId: "scripted",
    supportedUrls: {},
    doGenerate: async (asked) => scriptedAnswer(asked),
    doStream: async () => {
      throw new Error("the scripted model does not stream");
    },
  };
}

/** What it says. */
export function scriptedAnswer({ prompt }: Pick<Asked, "prompt">): Said {
  const words = lastWords(prompt);
  const [, kept] = /^remember(?: that)? (.+)$/is.exec(words) ?? [];
  const [, gone] = /^forget(?: that)? (.+)$/is.exec(words) ?? [];
  const last = prompt.at(-1);
  if (last?.role !== "tool") {
    if (kept !== undefined) return turnOf(call("remember", { fact: kept, about: "user" }));
    return turnOf(call("recall", { query: gone ?? words, limit: 3 }));
  }
  const [result] = last.content;
  if (result?.type !== "tool-result" || result.output.type.startsWith("error"))
    return turnOf(text("That was not allowed."));
  const value = "value" in result.output ? result.output.value : undefined;
  if (result.toolName === "remember") return turnOf(text("I shall remember that."));
  if (result.toolName === "forget") return turnOf(text("Forgotten."));
  const [first] = value as unknown as readonly Recalled[];
  if (first === undefined) return turnOf(text("I do not know that."));
  return turnOf(gone === undefined ? text(`You told me: ${first.fields.fact}`) : call("forget", { id: first.id }));
}

function lastWords(prompt: Asked["prompt"]): string {
  const message = prompt.findLast(({ role }) => role === "user");
  const parts = message?.role === "user" ? message.content : [];
  return parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}

const text = (words: string): Content => ({ type: "text", text: words });

const call = (toolName: string, input: object): Content => ({
  type: "tool-call",
  toolCallId: crypto.randomUUID(),
  toolName,
  input: JSON.stringify(input),
});

function turnOf(content: Content): Said {
  const reason = content.type === "tool-call" ? "tool-calls" : "stop";
  return {
    content: [content],
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
    warnings: [],
  };
}
