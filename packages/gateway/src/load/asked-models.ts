/** The models that the gateway asks itself, and what it asked of each: the reranker of retrievals, and the language models of search chains. */
import type { Reranker } from "@brooklet/answers";
import { ChatError, timedReranker } from "@brooklet/answers/search";
import type { Cluster, DeployReport, ModelState } from "@brooklet/partition";
import { Calls, type ErrorCode, ServiceError } from "@brooklet/wire";

/** The models. */
export class AskedModels {
  /** The reranker of the server with its calls, if there is one. */
  readonly reranker: Reranker | undefined;
  readonly #ofReranker: Calls = new Calls();
  /** Those of language models, by their component ids: another deployment begins anew. */
  readonly #ofLanguageModels: WeakMap<DeployReport, Map<string, Calls>> = new WeakMap();

  constructor(reranker: Reranker | undefined, timeoutMs: number) {
    this.reranker = reranker && this.#counted(reranker, timeoutMs);
  }

  /** The calls of a language model of the application. */
  ofLanguageModel(id: string, application: DeployReport): Calls {
    const known = this.#ofLanguageModels.get(application) ?? new Map<string, Calls>();
    this.#ofLanguageModels.set(application, known);
    const calls = known.get(id) ?? new Calls();
    known.set(id, calls);
    return calls;
  }

  /** What is known of the models of a cluster, and of these: the reranker, and the language models that answered queries. */
  async states(cluster: Cluster): Promise<readonly ModelState[]> {
    const application = cluster.application();
    const ofChains = (application && this.#ofLanguageModels.get(application)) ?? new Map<string, Calls>();
    return [
      ...((await cluster.models?.()) ?? []),
      ...[...ofChains].map(([id, calls]) => stateOf(id, "language-model", calls)),
      ...(this.reranker === undefined ? [] : [stateOf("reranker", "reranker", this.#ofReranker)]),
    ];
  }

  #counted(reranker: Reranker, timeoutMs: number): Reranker {
    const timed = timedReranker(reranker, timeoutMs, " (limit L-time)");
    return async (question, passages, signal) => {
      const outline = { purpose: "query", items: passages.length, signal, codeOf: codeOfFailure } as const;
      return await this.#ofReranker.around(outline, async () => await timed(question, passages, signal));
    };
  }
}

/** Neither is loaded here: they can be asked at any time. */
function stateOf(id: string, kind: ModelState["kind"], calls: Calls): ModelState {
  return { id, kind, state: "ready", calls: calls.figures() };
}

/** The code of what kept a model from answering. */
export function codeOfFailure(error: unknown): ErrorCode {
  if (ServiceError.is(error)) return error.code;
  if (!ChatError.is(error)) return "INTERNAL";
  if (error.failure === "timed out") return "TIMED_OUT";
  return error.failure === "overloaded" ? "OVERLOADED" : "UNAVAILABLE";
}
