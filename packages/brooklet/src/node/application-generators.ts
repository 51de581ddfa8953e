/**
 * The field generators of the deployed application: each asks its language model for the values of fields, while documents
 * wait to be written. So many questions are under way at a time, others wait as long as their operations may, and what would
 * come too late is refused before it waits.
 */
import type { ChatEndpoint, ChatError } from "@brooklet/answers";
import { configuredModel, secretNameOf, structuredOutput } from "@brooklet/answers/application-models";
import { generationOf } from "@brooklet/core";
import type { Deadline } from "@brooklet/models";
import { AdaptivePool, type BatchRunner } from "@brooklet/models/pool";
import type { DeployReport } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import type { Outbound } from "./outbound.ts";

/** Questions to one language model that are under way at a time. */
const QUESTIONS = 8;
/** Questions that may wait for a language model. */
const WAITING = 1024;

interface Question {
  readonly text: string;
  readonly deadline: Deadline;
}

/** The generators. */
export class ApplicationGenerators {
  readonly #outbound: Pick<Outbound, "secret" | "fetch">;
  /** By the id of the language model and its settings. */
  readonly #pools: Map<string, AdaptivePool<Question, string>> = new Map();

  constructor(outbound: Pick<Outbound, "secret" | "fetch">) {
    this.#outbound = outbound;
  }

  /**
   * What the language model of a generator answers to each text, in order.
   *
   * @throws ServiceError `OVERLOADED` (429) when an answer would come too late or the model refuses for now, `TIMED_OUT` (504)
   *   when it did not come in time, `INTERNAL` (500) when the model cannot be asked.
   */
  async generate(
    id: string,
    texts: readonly string[],
    application: DeployReport,
    deadline: Deadline,
  ): Promise<readonly string[]> {
    const pool = this.#poolOf(id, application);
    return await Promise.all(texts.map((text) => pool.run({ text, deadline }, deadline)));
  }

  /** Lets what is under way end. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  #poolOf(id: string, { generators = [], languageModels = [] }: DeployReport): AdaptivePool<Question, string> {
    const provider = generators.find((generator) => generator.id === id)?.provider;
    const model = languageModels.find((other) => other.id === provider);
    if (model === undefined) throw new ServiceError("INTERNAL", `The generator '${id}' has no language model`);
    const name = JSON.stringify(model);
    const known = this.#pools.get(name);
    if (known !== undefined) return known;
    const runner: BatchRunner<Question, string> = {
      run: (batch) => Promise.all(batch.map((question) => this.#ask(new Map(model.settings), question))),
      close: () => Promise.resolve(),
    };
    const pool = new AdaptivePool<Question, string>({
      mode: "narrow",
      openWide: () => Promise.resolve({ ...runner }),
      openNarrow: () => Promise.resolve({ ...runner }),
      narrowRunners: QUESTIONS,
      weigh: () => 1,
      batchJobs: 1,
      batchWeight: 1,
      queueJobs: WAITING,
    });
    this.#pools.set(name, pool);
    return pool;
  }

  async #ask(settings: ReadonlyMap<string, string>, { text, deadline }: Question): Promise<string> {
    const { ChatError, chat } = await import("@brooklet/answers");
    const { prompt, jsonSchema } = generationOf(text);
    const { url, model, parameters } = configuredModel(settings);
    const secretName = secretNameOf(settings);
    const apiKey = secretName === undefined ? undefined : this.#outbound.secret(secretName, url);
    const timeoutMs = Math.max(1, Math.min(deadline.leftMs(), 2 ** 31 - 1));
    const format = jsonSchema === undefined ? {} : { response_format: responseFormat(jsonSchema) };
    const endpoint: ChatEndpoint = {
      url,
      model,
      fetch: this.#outbound.fetch,
      parameters: { ...parameters, ...format },
      timeoutMs,
      idleTimeoutMs: timeoutMs,
      ...(apiKey === undefined ? {} : { apiKey }),
    };
    const { signal } = deadline;
    const request = { messages: [{ role: "user", content: prompt } as const], stream: false };
    let answer = "";
    try {
      for await (const event of chat(endpoint, signal === undefined ? request : { ...request, signal })) {
        if (event.type === "token") answer += event.text;
      }
    } catch (error) {
      throw ChatError.is(error) ? failed(error) : error;
    }
    return answer;
  }
}

function responseFormat(jsonSchema: string): unknown {
  try {
    return structuredOutput(JSON.parse(jsonSchema) as unknown);
  } catch (cause) {
    throw new ServiceError("INTERNAL", "The responseJsonSchema of a field generator is no JSON", { cause });
  }
}

/** A document is not stored without what is generated for it, so the failure is that of its operation. */
function failed(error: ChatError): ServiceError {
  const { message, failure } = error;
  if (failure === "overloaded") return new ServiceError("OVERLOADED", message, { cause: error });
  if (failure === "timed out") return new ServiceError("TIMED_OUT", message, { cause: error });
  return new ServiceError("INTERNAL", message, { cause: error });
}
