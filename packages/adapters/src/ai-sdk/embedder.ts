/** An embedding model of the AI SDK as an embedder of a database: texts are embedded when they are put and searched. */
import { type Embedder, type Embedding, type EmbedRequest, firstValues } from "@brooklet/models";
import { ServiceError } from "@brooklet/wire";
import { type EmbeddingModel, embedMany } from "ai";
import { providerFailure } from "./provider-failure.ts";

type Purpose = EmbedRequest["purpose"];
type ProviderOptions = NonNullable<Parameters<typeof embedMany>[0]["providerOptions"]>;

/** Which model, and under which name. */
export interface AiSdkEmbedderOptions {
  /** The name that schemas have for it: `embedding({ from: "body", model: id })`. */
  readonly id: string;
  /** The model, as in `openai.embeddingModel("text-embedding-3-small")`. */
  readonly model: EmbeddingModel;
  /** What the provider is told beside the texts; some tell texts that are stored from those that are searched with. */
  readonly providerOptions?: ProviderOptions | ((purpose: Purpose) => ProviderOptions);
  /** Text put before a text, for models that are told by it what it is for. */
  readonly prepend?: { readonly document?: string; readonly query?: string };
  /** Tries after the first, where the provider refuses for now; 2 by default. */
  readonly retries?: number;
}

/** A timer takes no more. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const RETRIES_DEFAULT = 2;

/**
 * An embedder of any `EmbeddingModel` of the AI SDK. Of vectors that are longer than the field, the first values are kept, those of
 * unit vectors as a unit vector.
 *
 * @example
 * ```ts
 * import type { EmbeddingModel } from "ai";
 * import { embedding, open, schema, text } from "brooklet";
 * import { AiSdkEmbedder } from "brooklet/ai-sdk";
 *
 * declare const model: EmbeddingModel; // openai.embeddingModel("text-embedding-3-small"), say
 * const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "small", dimensions: 512 }) });
 * const database = await open({ schemas: [note], models: { embedders: [new AiSdkEmbedder({ id: "small", model })] } });
 * ```
 */
export class AiSdkEmbedder implements Embedder {
  readonly id: string;
  readonly shape = "vector";
  readonly notice: string;
  readonly isRemote = true;
  readonly #options: AiSdkEmbedderOptions;
  readonly #closed: AbortController = new AbortController();

  /** An embedder. Nothing is asked of the model by this. */
  constructor(options: AiSdkEmbedderOptions) {
    const { id, model } = options;
    if (typeof id !== "string" || id === "")
      throw new TypeError("an AiSdkEmbedder needs the `id` that schemas have for it");
    if (typeof model !== "string" && typeof (model as { doEmbed?: unknown } | null)?.doEmbed !== "function")
      throw new TypeError(`the \`model\` of embedder '${id}' is no embedding model of the AI SDK`);
    this.id = id;
    this.notice = `texts are sent to ${typeof model === "string" ? model : `${model.provider} (${model.modelId})`}`;
    this.#options = options;
  }

  /** Embeds texts, in as many requests as the model needs. */
  async embed({ texts, purpose, dimensions, deadline }: EmbedRequest): Promise<readonly Embedding[]> {
    const { model, providerOptions, prepend, retries = RETRIES_DEFAULT } = this.#options;
    const what = `The model of embedder '${this.id}'`;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) throw late(what);
    const timer = AbortSignal.timeout(Math.min(Math.ceil(leftMs), TIMER_MS_MAX));
    const signals = [timer, this.#closed.signal, ...(deadline.signal === undefined ? [] : [deadline.signal])];
    const told = typeof providerOptions === "function" ? providerOptions(purpose) : providerOptions;
    try {
      const { embeddings } = await embedMany({
        model,
        values: texts.map((text) => (prepend?.[purpose] ?? "") + text),
        maxRetries: retries,
        abortSignal: AbortSignal.any(signals),
        ...(told === undefined ? {} : { providerOptions: told }),
      });
      if (embeddings.length !== texts.length)
        throw new ServiceError("INTERNAL", `${what} gave ${embeddings.length} vectors for ${texts.length} texts`);
      return embeddings.map((values) => ({ shape: "vector", values: checkedValues(what, values, dimensions) }));
    } catch (error) {
      if (deadline.signal?.aborted === true) throw deadline.signal.reason;
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason;
      if (timer.aborted) throw late(what, error);
      throw ServiceError.is(error) ? error : embedderFailure(what, error);
    }
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    this.#closed.abort(new ServiceError("UNAVAILABLE", "The embedder is being closed"));
    return Promise.resolve();
  }
}

function checkedValues(what: string, values: readonly number[], dimensions: number): Float32Array {
  if (values.length < dimensions)
    throw new ServiceError("BAD_REQUEST", `${what} gives ${values.length} values, and ${dimensions} are asked for`);
  const kept = firstValues(values, dimensions);
  if (kept === undefined) throw new ServiceError("INTERNAL", `${what} gave a vector with no numbers in it`);
  return kept;
}

function embedderFailure(what: string, error: unknown): ServiceError {
  const { status, message } = providerFailure(error);
  const isPassing = status === 0 || status >= 500;
  const code = status === 429 ? "OVERLOADED" : isPassing ? "UNAVAILABLE" : "BAD_REQUEST";
  const place = status === 0 ? "" : ` with status ${status}`;
  return new ServiceError(code, `${what} failed${place}: ${message}`, { cause: error });
}

function late(what: string, cause?: unknown): ServiceError {
  return new ServiceError("TIMED_OUT", `${what} did not answer in time`, { cause });
}
