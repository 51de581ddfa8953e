/** An embedding model of Workers AI as an embedder of a database: texts are embedded when they are put and searched. */
import { type Embedder, type Embedding, type EmbedRequest, firstValues } from "@brooklet/models";
import { pause, ServiceError, waitMs } from "@brooklet/wire";
import { isWorkersAi, runModel, type WorkersAi, workersAiFailure } from "./binding.ts";

/** Which model, and under which name. */
export interface WorkersAiEmbedderOptions {
  /** The name that schemas have for it: `embedding({ from: "body", model: id })`. */
  readonly id: string;
  /** The binding, `env.AI`. */
  readonly ai: WorkersAi;
  /** The model, as in `@cf/baai/bge-base-en-v1.5`. */
  readonly model: string;
  /** Text put before a text, for models that are told by it what it is for. */
  readonly prepend?: { readonly document?: string; readonly query?: string };
  /** Further members of the inputs, as in `{ pooling: "cls" }`. */
  readonly inputs?: Readonly<Record<string, unknown>>;
  /** Options of `run`, as in `{ gateway: { id: "mine" } }`. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** Texts in a request at most; 100 by default, which is what the models of bge take. */
  readonly batch?: number;
  /** Tries after the first, where the platform refuses for now; 2 by default. */
  readonly retries?: number;
}

/** A timer takes no more. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const BATCH_DEFAULT = 100;
const RETRIES_DEFAULT = 2;
const WAITS = { firstWaitMs: 250, longestWaitMs: 10_000 };

/**
 * An embedder of any text embedding model of Workers AI. Of vectors that are longer than the field, the first values are kept,
 * those of unit vectors as a unit vector.
 *
 * @example
 * ```ts
 * import { embedding, schema, text } from "brooklet";
 * import { openIn } from "brooklet/durable-object";
 * import { WorkersAiEmbedder, type WorkersAi } from "brooklet/workers-ai";
 *
 * declare const ctx: { storage: Parameters<typeof openIn>[0] };
 * declare const env: { AI: WorkersAi };
 * const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "bge", dimensions: 768 }) });
 * const bge = new WorkersAiEmbedder({ id: "bge", ai: env.AI, model: "@cf/baai/bge-base-en-v1.5" });
 * const memory = await openIn(ctx.storage, { schemas: [note], models: { embedders: [bge] } });
 * ```
 */
export class WorkersAiEmbedder implements Embedder {
  readonly id: string;
  readonly shape = "vector";
  readonly notice: string;
  readonly isRemote = true;
  readonly #options: WorkersAiEmbedderOptions;
  readonly #closed: AbortController = new AbortController();

  /** An embedder. Nothing is asked of the model by this. */
  constructor(options: WorkersAiEmbedderOptions) {
    const { id, ai, model, batch = BATCH_DEFAULT, retries = RETRIES_DEFAULT } = options;
    if (typeof id !== "string" || id === "")
      throw new TypeError("a WorkersAiEmbedder needs the `id` that schemas have for it");
    if (!isWorkersAi(ai)) throw new TypeError(`the \`ai\` of embedder '${id}' is no binding of Workers AI (env.AI)`);
    if (typeof model !== "string" || model === "")
      throw new TypeError(`embedder '${id}' needs its \`model\`, as in "@cf/baai/bge-base-en-v1.5"`);
    if (!Number.isInteger(batch) || batch < 1) throw new TypeError(`the \`batch\` of embedder '${id}' is not positive`);
    if (!Number.isInteger(retries) || retries < 0)
      throw new TypeError(`the \`retries\` of embedder '${id}' are negative`);
    this.id = id;
    this.notice = `texts are sent to Workers AI (${model})`;
    this.#options = options;
  }

  /** Embeds texts, in as many requests as the model needs. */
  async embed({ texts, purpose, dimensions, deadline }: EmbedRequest): Promise<readonly Embedding[]> {
    const { prepend, batch = BATCH_DEFAULT } = this.#options;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) throw late();
    const timer = AbortSignal.timeout(Math.min(Math.ceil(leftMs), TIMER_MS_MAX));
    const signals = [timer, this.#closed.signal, ...(deadline.signal === undefined ? [] : [deadline.signal])];
    const signal = AbortSignal.any(signals);
    const embeddings: Embedding[] = [];
    try {
      for (let first = 0; first < texts.length; first += batch) {
        const some = texts.slice(first, first + batch).map((text) => (prepend?.[purpose] ?? "") + text);
        const answer = await this.#run(some, signal, () => deadline.leftMs());
        embeddings.push(...vectorsOf(answer, some.length, dimensions, this.id));
      }
    } catch (error) {
      if (deadline.signal?.aborted === true) throw deadline.signal.reason;
      if (this.#closed.signal.aborted) throw this.#closed.signal.reason;
      if (timer.aborted) throw late(error);
      throw ServiceError.is(error) ? error : embedderFailure(this.id, error);
    }
    return embeddings;
  }

  /** Ends what is under way. */
  close(): Promise<void> {
    this.#closed.abort(new ServiceError("UNAVAILABLE", "The embedder is being closed"));
    return Promise.resolve();
  }

  async #run(text: readonly string[], signal: AbortSignal, leftMs: () => number): Promise<unknown> {
    const { ai, model, inputs, options, retries = RETRIES_DEFAULT } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await runModel(ai, model, { ...inputs, text }, options, signal);
      } catch (error) {
        signal.throwIfAborted();
        const ms = waitMs(WAITS, attempt);
        if (!workersAiFailure(error).isPassing || attempt > retries || ms >= leftMs()) throw error;
        await pause(ms, signal);
      }
    }
  }
}

/** The vectors of an answer: `{ shape: [texts, values], data }`. */
function vectorsOf(answer: unknown, count: number, dimensions: number, id: string): readonly Embedding[] {
  const { shape, data } = Object(answer) as { readonly shape?: unknown; readonly data?: unknown };
  if (!Array.isArray(data) || !data.every((values) => Array.isArray(values)))
    throw new ServiceError("INTERNAL", `The model of embedder '${id}' answered something that is no list of vectors`);
  if (data.length !== count)
    throw new ServiceError("INTERNAL", `The model of embedder '${id}' gave ${data.length} vectors for ${count} texts`);
  const [rows, width] = Array.isArray(shape) ? (shape as unknown[]) : [count, data[0]?.length];
  return data.map((values: readonly unknown[]) => {
    if (rows !== count || values.length !== width)
      throw new ServiceError("INTERNAL", `The model of embedder '${id}' gave vectors of another shape than it says`);
    if (values.length < dimensions) {
      const told = `The model of embedder '${id}' gives ${values.length} values, and ${dimensions} are asked for`;
      throw new ServiceError("BAD_REQUEST", told);
    }
    const kept = firstValues(values, dimensions);
    if (kept === undefined)
      throw new ServiceError("INTERNAL", `The model of embedder '${id}' gave a vector with no numbers in it`);
    return { shape: "vector", values: kept };
  });
}

function embedderFailure(id: string, error: unknown): ServiceError {
  const { status, isUsedUp, message } = workersAiFailure(error);
  if (isUsedUp) {
    const told = `The account has used up what its plan allows the model of embedder '${id}' for a day; try again when the next one begins`;
    return new ServiceError("OVERLOADED", `${told}: ${message}`, { status, cause: error });
  }
  const isElsewhere = status === 0 || status === 408 || status >= 500;
  const code = status === 429 ? "OVERLOADED" : isElsewhere ? "UNAVAILABLE" : "BAD_REQUEST";
  const place = status === 0 ? "" : ` with status ${status}`;
  return new ServiceError(code, `The model of embedder '${id}' failed${place}: ${message}`, { cause: error });
}

function late(cause?: unknown): ServiceError {
  return new ServiceError("TIMED_OUT", "The embedding model did not answer in time", { cause });
}
