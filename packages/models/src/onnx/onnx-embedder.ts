/** Embedders on onnxruntime-node: a recipe, and a pool of threads with sessions of it. */
import { availableParallelism } from "node:os";
import { deadlineIn, type Embedder, type Embedding, type EmbedRequest } from "../embedder.ts";
import type { ModelFigures } from "../model-state.ts";
import { AdaptivePool, type PoolStatistics } from "../pool/adaptive-pool.ts";
import type { PoolMode } from "../pool/batch-runner.ts";
import { poolFigures } from "../pool/pool-figures.ts";
import { tellingGivenUp } from "./given-up.ts";
import type { Recipe, SessionThreads, TextJob } from "./recipe.ts";
import { SessionRunner } from "./session-runner.ts";

/** Texts that one run of a model takes at most. */
const BATCH_TEXTS = 16;
/** Tokens that one run takes at most, padding included: what is more does not fit the caches of a core. */
const BATCH_TOKENS = 2048;
/** Texts that may wait for a model. */
const QUEUE_TEXTS = 4096;
/** A model that takes longer to be read is left to the first who needs it. */
const WARM_MS = 60_000;
/** Characters that make a token, about; only the order of magnitude matters, for what is put into a batch. */
const TOKEN_CHARACTERS = 4;

/** How an embedder runs. */
export interface OnnxEmbedderOptions {
  readonly id: string;
  readonly recipe: Recipe;
  /** Adaptive, unless `threads` fixes it. */
  readonly mode?: PoolMode;
  /** Threads of each session, as `onnx-intraop-threads` and its kin say; then every session has these. */
  readonly threads?: SessionThreads;
  /** Cores that may be used; all that there are, unless it is given. */
  readonly cores?: number;
  /** Told what the operator should know: that a run does not return. */
  readonly onNotice?: (notice: string) => void;
}

/** The embedder. */
export class OnnxEmbedder implements Embedder {
  readonly id: string;
  readonly shape: Embedding["shape"];
  readonly #pool: AdaptivePool<TextJob, Embedding>;
  #tokens = 0;
  #width: number | undefined;

  constructor(options: OnnxEmbedderOptions) {
    const { recipe, threads, onNotice } = options;
    const cores = options.cores ?? availableParallelism();
    const one: SessionThreads = { intraOp: 1, interOp: 1, executionMode: "sequential" };
    this.id = options.id;
    this.shape = recipe.reduction.kind === "pool" ? "vector" : recipe.reduction.kind;
    const onTokens = (count: number): void => {
      this.#tokens += count;
    };
    const open = async (of: SessionThreads): Promise<SessionRunner<TextJob, Embedding>> => {
      const data = { kind: "transformer", recipe, threads: of } as const;
      const runner = await SessionRunner.open<TextJob, Embedding>(data, onTokens);
      this.#width = runner.width;
      return runner;
    };
    this.#pool = new AdaptivePool({
      mode: options.mode ?? (threads === undefined ? "adaptive" : "narrow"),
      openWide: () => open(threads ?? { ...one, intraOp: cores }),
      openNarrow: () => open(threads ?? one),
      narrowRunners: Math.max(1, Math.floor(cores / Math.max(1, threads?.intraOp ?? 1))),
      weigh: (job) => Math.min(recipe.tokensMax, 2 + Math.ceil(job.text.length / TOKEN_CHARACTERS)),
      // Somebody waits for what a query finds; a document has time.
      isUrgent: (job) => job.purpose === "query",
      batchJobs: BATCH_TEXTS,
      batchWeight: BATCH_TOKENS,
      queueJobs: QUEUE_TEXTS,
      ...tellingGivenUp(`embedder '${options.id}'`, onNotice),
    });
  }

  async embed({ texts, purpose, dimensions, deadline }: EmbedRequest): Promise<readonly Embedding[]> {
    return await Promise.all(texts.map((text) => this.#pool.run({ text, purpose, dimensions }, deadline)));
  }

  /** Reads the model, and lets it run once: the first run makes a session ready. */
  async warm(): Promise<void> {
    await this.embed({ texts: ["a"], purpose: "query", dimensions: 1, deadline: deadlineIn(WARM_MS) });
  }

  figures(): ModelFigures {
    const dimensions = this.#width;
    const known = dimensions !== undefined && { dimensions };
    return { ...poolFigures(this.#pool.statistics()), tokens: this.#tokens, ...known };
  }

  /** What its pool has done. */
  statistics(): PoolStatistics {
    return this.#pool.statistics();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
