/**
 * The field generators of the deployed application: each asks its language model for the values of fields, while documents
 * wait to be written. So many questions are under way at a time, others wait as long as their operations may, and what would
 * come too late is refused before it waits.
 */
import type { ChatEndpoint, ChatError } from "@brooklet/answers";
import { configuredModel, secretNameOf, structuredOutput } from "@brooklet/answers/application-models";
import { generationOf } from "@brooklet/core";
import { type Deadline, stateOf } from "@brooklet/models";
import { AdaptivePool, type BatchRunner, poolFigures } from "@brooklet/models/pool";
import type { DeployReport, ModelState } from "@brooklet/partition";
import { Calls, ServiceError } from "@brooklet/wire";
import type { Outbound } from "../outbound.ts";

/** Questions to one language model that are under way at a time. */
const QUESTIONS = 8;
/** Questions that may wait for a language model. */
const WAITING = 1024;

interface Question {
  readonly text: string;
  readonly deadline: Deadline;
}

/** A language model that is asked. */
interface Asked {
  readonly pool: AdaptivePool<Question, string>;
  readonly calls: Calls;
}

/** The generators. */
export class ApplicationGenerators {
  readonly #outbound: Pick<Outbound, "secret" | "fetch">;
  /** By the id of the language model and its settings. */
  readonly #asked: Map<string, Asked> = new Map();

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
    const { pool, calls } = this.#askedOf(id, application);
    const call = { purpose: "document", items: texts.length, signal: deadline.signal } as const;
    return await calls.around(call, () => Promise.all(texts.map((text) => pool.run({ text, deadline }, deadline))));
  }

  /** What is known of the language models of an application that were asked. */
  states({ languageModels = [] }: DeployReport): readonly ModelState[] {
    return languageModels.flatMap((model) => {
      const asked = this.#asked.get(JSON.stringify(model));
      if (asked === undefined) return [];
      const { batches = 0, waits } = poolFigures(asked.pool.statistics());
      // Whoever makes a value of a document is not asked for a query: all that wait are of documents.
      const document = (waits?.query ?? 0) + (waits?.document ?? 0);
      const figures = { batches, waits: { query: 0, document } };
      return [stateOf({ id: model.id, kind: "generator" }, figures, asked.calls)];
    });
  }

  /** Lets what is under way end. */
  async close(): Promise<void> {
    await Promise.all([...this.#asked.values()].map(({ pool }) => pool.close()));
  }

  #askedOf(id: string, { generators = [], languageModels = [] }: DeployReport): Asked {
    const provider = generators.find((generator) => generator.id === id)?.provider;
    const model = languageModels.find((other) => other.id === provider);
    if (model === undefined) throw new ServiceError("INTERNAL", `The generator '${id}' has no language model`);
    const name = JSON.stringify(model);
    const known = this.#asked.get(name);
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
    const asked = { pool, calls: new Calls() };
    this.#asked.set(name, asked);
    return asked;
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
      throw ChatError.is(error) ? operationFailure(error) : error;
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

/** A document is not stored without what is generated for it, so the failure is that of its operation. What a model refuses it refuses again. */
function operationFailure(error: ChatError): ServiceError {
  const { message, failure, status } = error;
  const otherwise = failure === "refused" && status < 500 ? "INTERNAL" : "UNAVAILABLE";
  const code = failure === "overloaded" ? "OVERLOADED" : failure === "timed out" ? "TIMED_OUT" : otherwise;
  return new ServiceError(code, message, { cause: error });
}
