/** What is told of the models of an application, for whoever looks after a server. Nothing of it is about one group, or says what was asked. */

/**
 * What was asked of a model for queries, or for documents. Items are texts that are embedded, hits or passages that are scored, values or
 * answers that are made.
 */
export interface ModelCalls {
  readonly purpose: "query" | "document";
  /** Items that the model has now, and those that wait for it. */
  readonly running: number;
  readonly waiting: number;
  /** Items that were answered. */
  readonly items: number;
  /** Calls that ended by how long they took, as a histogram has them; failed ones too. */
  readonly seconds: { readonly upTo: readonly number[]; readonly count: number; readonly sum: number };
  /** Calls that failed, by error code. */
  readonly failures: Readonly<Record<string, number>>;
}

/** The state of one model. */
export interface ModelState {
  /** The component id; of a model of a rank profile its file, or its address; of the reranker of a server `reranker`. */
  readonly id: string;
  /**
   * An embedder here, one behind an endpoint, a model of a rank profile, a language model that makes values of fields, one that
   * answers queries, or what orders the passages of retrievals.
   */
  readonly kind: "embedder" | "endpoint" | "onnx" | "generator" | "language-model" | "reranker";
  /** The type of its component. */
  readonly type?: string;
  /** `unloaded`: the first who needs it loads it. `failed`: it is not here, is another one than was meant, or cannot be run. */
  readonly state: "ready" | "unloaded" | "failed";
  /** Why it failed, in a sentence. */
  readonly problem?: string;
  /** How many values its vectors have. */
  readonly dimensions?: number;
  /** Sessions of a runtime that hold it, and those of them whose run does not return. */
  readonly sessions?: number;
  readonly sessionsGivenUp?: number;
  /** Runs of the runtime, or requests of an endpoint. */
  readonly batches?: number;
  readonly tokens?: number;
  readonly calls: readonly ModelCalls[];
}
