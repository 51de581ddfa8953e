/**
 * What orders passages anew: any function, which has a time, or a reranker behind an endpoint: `POST …/rerank` as Cohere, Jina, vLLM and llama.cpp have it. It is given the question and
 * the texts of passages; keys go into one header and nowhere else.
 */
import { abortable, withoutSecret } from "@brooklet/wire";
import type { ChatEndpoint } from "./chat.ts";
import { ChatError } from "./chat-error.ts";

/** Says how good each passage is for a question; higher is better. */
export type Reranker = (
  question: string,
  passages: readonly string[],
  signal: AbortSignal | undefined,
) => Promise<readonly number[]> | readonly number[];

/** Where the reranker is. */
export interface RerankEndpoint extends Pick<ChatEndpoint, "apiKey" | "headers" | "fetch"> {
  /** What `rerank` is appended to, as in `http://localhost:8000/v1/`. */
  readonly url: string;
  /** The model, where the endpoint has several. */
  readonly model?: string;
  /** Wait for the answer; 30 s by default. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;
/** An answer is a number for each text. */
const ANSWER_BYTES_MAX = 1 << 20;
/** What is told of a reason, in characters. */
const REASON_MAX = 200;
const BUSY: ReadonlySet<number> = new Set([429, 503]);

/**
 * The reranker of an endpoint.
 *
 * @example
 * ```ts
 * const rerank = rerankEndpoint({ url: "http://localhost:8000", model: "reranker" });
 * await alice.retrieve(mail, "When is the invoice due?", { rerank });
 * ```
 */
export function rerankEndpoint(endpoint: RerankEndpoint): Reranker {
  const reranker: Reranker = async (question, passages, signal) => {
    try {
      return scoresOf(await askEndpoint(endpoint, question, passages, signal), passages.length);
    } catch (error) {
      signal?.throwIfAborted();
      if (ChatError.is(error)) throw error;
      throw new ChatError("unreachable", "The reranker cannot be reached, or its answer broke off", 0, error);
    }
  };
  return timedReranker(reranker, endpoint.timeoutMs ?? TIMEOUT_MS);
}

async function askEndpoint(
  { url, model, apiKey, headers, fetch = globalThis.fetch }: RerankEndpoint,
  query: string,
  documents: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string> {
  const response = await fetch(`${url.replace(/\/+$/, "")}/rerank`, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: JSON.stringify({ ...(model === undefined ? {} : { model }), query, documents, top_n: documents.length }),
    // A key is for the endpoint that was configured, not for one it points at: that is a refusal. ("error" is not known to Workers.)
    redirect: "manual",
    signal: signal ?? null,
  });
  if (!response.ok) {
    const failure = BUSY.has(response.status) ? "overloaded" : "refused";
    const reason = await reasonOf(response, apiKey);
    throw new ChatError(failure, `The reranker answered with status ${response.status}${reason}`, response.status);
  }
  return await textOf(response);
}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const part of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) {
      throw new ChatError("too long", `The answer of the reranker is longer than ${ANSWER_BYTES_MAX} bytes`);
    }
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

/** What a refusal says of itself, without the key: each kind of server has another member for it. */
async function reasonOf(response: Response, apiKey: string | undefined): Promise<string> {
  try {
    const told = JSON.parse(await textOf(response)) as Readonly<Record<string, unknown>>;
    const said = told["error"] || told["message"] || told["detail"];
    const words = (said as { readonly message?: unknown }).message ?? said;
    return `: ${withoutSecret(typeof words === "string" ? words : JSON.stringify(words), apiKey).slice(0, REASON_MAX)}`;
  } catch {
    // It gives no reason, or none that can be read; its status is told.
    return "";
  }
}

/** The score of each text, whatever the order they are told in. */
function scoresOf(json: string, count: number): readonly number[] {
  const scores = new Map<unknown, unknown>();
  try {
    const { results } = JSON.parse(json) as {
      readonly results: readonly { readonly index: unknown; readonly relevance_score: unknown }[];
    };
    for (const { index, relevance_score: score } of results) scores.set(index, score);
  } catch (cause) {
    throw new ChatError("malformed", "The answer of the reranker is no JSON object with 'results'", 0, cause);
  }
  return Array.from({ length: count }, (_, index) => {
    const score = scores.get(index);
    if (typeof score === "number" && Number.isFinite(score)) return score;
    throw new ChatError("malformed", `The reranker gave no number for text ${index} of ${count}`);
  });
}

/** The same reranker, waited for until its time is over or the caller goes, whatever it does with its signal. */
export function timedReranker(reranker: Reranker, timeoutMs: number, limit = ""): Reranker {
  return async (question, passages, signal) => {
    const time = new AbortController();
    const late = new ChatError("timed out", `The reranker said nothing within ${timeoutMs} ms${limit}`);
    const timer = setTimeout(() => time.abort(late), timeoutMs);
    const either = signal ? AbortSignal.any([signal, time.signal]) : time.signal;
    try {
      return await abortable(reranker(question, passages, either), either);
    } finally {
      clearTimeout(timer);
    }
  };
}
