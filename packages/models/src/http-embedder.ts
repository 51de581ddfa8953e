/** Embeddings of any endpoint that speaks OpenAI's `/embeddings`. Texts leave the machine; the notice says where to. */
import { askedWaitMs, pause, ServiceError, waitMs, withoutSecret } from "@brooklet/wire";
import type { Deadline, Embedder, Embedding, EmbedRequest } from "./embedder.ts";
import { firstValues } from "./first-values.ts";
import type { ModelFigures } from "./model-state.ts";

/** Answers are read up to this size. */
const ANSWER_BYTES_MAX = 64 << 20;
/** Texts in a request. */
const BATCH_DEFAULT = 64;
/** Tries of a request that was refused for now. */
const TRIES = 4;
/** The wait before the second try; it doubles. */
const WAITS = { firstWaitMs: 200, longestWaitMs: 10_000 };

/** Where the endpoint is and how it is asked. The operator's words: no document and no query has a say in it. */
export interface HttpEmbedderOptions {
  readonly id: string;
  /** The address of the endpoint itself (`https://host/v1/embeddings`). */
  readonly endpoint: string;
  readonly model: string;
  /** The key, sent as a bearer's. */
  readonly apiKey?: string;
  /** Sends the wanted number of values along, for models that can cut their vectors themselves. */
  readonly sendDimensions?: boolean;
  /** Texts in a request at most; 64 unless given. */
  readonly batch?: number;
  /** Text put before a text. */
  readonly prepend?: { readonly document?: string; readonly query?: string };
  readonly fetch?: typeof fetch;
}

/**
 * The embedder.
 *
 * @example
 * ```ts
 * const embedder = new HttpEmbedder({ id: "e5", endpoint: "http://localhost:8000/v1/embeddings", model: "e5-small" });
 * const database = await open({ schemas: [mail], models: { embedders: [embedder] } });
 * ```
 */
export class HttpEmbedder implements Embedder {
  readonly id: string;
  readonly shape = "vector";
  readonly notice: string;
  readonly isRemote = true;
  readonly #options: HttpEmbedderOptions;
  readonly #closed: AbortController = new AbortController();
  #requests = 0;

  constructor(options: HttpEmbedderOptions) {
    const { batch = BATCH_DEFAULT } = options;
    if (!Number.isInteger(batch) || batch < 1)
      throw new TypeError(`the \`batch\` of embedder '${options.id}' is ${batch}: give a positive integer`);
    this.id = options.id;
    this.notice = `texts are sent to ${new URL(options.endpoint).host}`;
    this.#options = options;
  }

  async embed(request: EmbedRequest): Promise<readonly Embedding[]> {
    const { batch = BATCH_DEFAULT, prepend } = this.#options;
    const texts = request.texts.map((text) => (prepend?.[request.purpose] ?? "") + text);
    const embeddings: Embedding[] = [];
    for (let first = 0; first < texts.length; first += batch) {
      embeddings.push(...(await this.#ask(texts.slice(first, first + batch), request)));
    }
    return embeddings;
  }

  figures(): ModelFigures {
    return { batches: this.#requests };
  }

  close(): Promise<void> {
    this.#closed.abort(new ServiceError("UNAVAILABLE", "The embedder is being closed"));
    return Promise.resolve();
  }

  async #ask(input: readonly string[], { dimensions, deadline }: EmbedRequest): Promise<readonly Embedding[]> {
    const { model, sendDimensions } = this.#options;
    const body = JSON.stringify({
      model,
      input,
      encoding_format: "float",
      ...(sendDimensions === true ? { dimensions } : {}),
    });
    for (let attempt = 1; ; attempt += 1) {
      const { response, said } = await this.#send(body, deadline);
      if (response.ok) return vectors(said, input.length, dimensions);
      const isPassing = response.status === 429 || response.status >= 500;
      const ms = askedWaitMs(response.headers) ?? waitMs(WAITS, attempt);
      if (!isPassing || attempt === TRIES || ms >= deadline.leftMs())
        throw endpointRefusal(response.status, withoutSecret(said, this.#options.apiKey).slice(0, 300));
      await pause(ms, AbortSignal.any(this.#signals(deadline)));
    }
  }

  /** Sends a request, and reads all of its answer: either may take too long, or break off. */
  async #send(body: string, deadline: Deadline): Promise<{ readonly response: Response; readonly said: string }> {
    const { endpoint, apiKey, fetch: send = fetch } = this.#options;
    const leftMs = deadline.leftMs();
    if (leftMs <= 0) throw late();
    const signals = [AbortSignal.timeout(Math.ceil(leftMs)), ...this.#signals(deadline)];
    const headers = {
      "content-type": "application/json",
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    this.#requests += 1;
    try {
      // An endpoint that sends us elsewhere would get the key and the texts there: that is a refusal. ("error" is not known to Workers.)
      const response = await send(endpoint, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.any(signals),
      });
      return { response, said: await readAnswer(response) };
    } catch (error) {
      if (ServiceError.is(error)) throw error;
      if (deadline.signal?.aborted === true) throw deadline.signal.reason;
      if (deadline.leftMs() <= 0) throw late(error);
      const why = error instanceof Error ? error.message : String(error);
      throw new ServiceError("UNAVAILABLE", `The embedding endpoint cannot be reached: ${why}`, { cause: error });
    }
  }

  #signals({ signal }: Deadline): AbortSignal[] {
    return [this.#closed.signal, ...(signal === undefined ? [] : [signal])];
  }
}

function vectors(answer: string, count: number, dimensions: number): readonly Embedding[] {
  const found = new Map<number, Float32Array>();
  for (const { index, embedding } of entries(answer)) {
    if (embedding.length < dimensions) {
      const text = `The embedding endpoint gives ${embedding.length} values, and ${dimensions} are asked for`;
      throw new ServiceError("BAD_REQUEST", text);
    }
    const values = firstValues(embedding, dimensions);
    if (values === undefined) throw malformedAnswer();
    found.set(index, values);
  }
  return Array.from({ length: count }, (_, index) => {
    const values = found.get(index);
    if (values === undefined) throw malformedAnswer();
    return { shape: "vector", values };
  });
}

function entries(answer: string): readonly { index: number; embedding: unknown[] }[] {
  let data: unknown;
  try {
    data = (JSON.parse(answer) as { data?: unknown } | null)?.data;
  } catch (error) {
    throw malformedAnswer(error);
  }
  const isEntry = (entry: unknown): entry is { index: number; embedding: unknown[] } =>
    typeof (entry as { index?: unknown } | null)?.index === "number" &&
    Array.isArray((entry as { embedding?: unknown }).embedding);
  if (!Array.isArray(data) || !data.every(isEntry)) throw malformedAnswer();
  return data;
}

async function readAnswer(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > ANSWER_BYTES_MAX) throw malformedAnswer();
    parts.push(part);
  }
  return new TextDecoder().decode(join(parts, bytes));
}

function join(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.byteLength;
  }
  return all;
}

function endpointRefusal(status: number, said: string): ServiceError {
  const text = `The embedding endpoint answered ${status}: ${said}`;
  const isElsewhere = status < 400;
  return new ServiceError(
    status === 429 ? "OVERLOADED" : isElsewhere || status >= 500 ? "UNAVAILABLE" : "BAD_REQUEST",
    text,
  );
}

/** No defect of ours, and nothing that the caller can mend: whatever stands at the address does not do its work now. */
function malformedAnswer(cause?: unknown): ServiceError {
  const text = "The embedding endpoint answered something that is no list of embeddings";
  return new ServiceError("UNAVAILABLE", text, { cause });
}

function late(cause?: unknown): ServiceError {
  return new ServiceError("TIMED_OUT", "The embedding endpoint did not answer in time", { cause });
}
