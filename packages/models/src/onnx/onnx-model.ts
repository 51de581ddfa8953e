/** A model of a rank profile on onnxruntime-node: a pool of threads with sessions of it, as embedders have. */
import { availableParallelism } from "node:os";
import { basename } from "node:path";
import { Calls } from "@brooklet/wire";
import type { Deadline } from "../embedder.ts";
import { type ModelState, stateOf } from "../model-state.ts";
import { AdaptivePool, type PoolStatistics } from "../pool/adaptive-pool.ts";
import { poolFigures } from "../pool/pool-figures.ts";
import { tellingGivenUp } from "./given-up.ts";
import type { ModelJob, TensorOutput } from "./model-job.ts";
import type { SessionThreads } from "./recipe.ts";
import { SessionRunner } from "./session-runner.ts";

/** Runs that are one run of the runtime at most. */
const BATCH_RUNS = 16;
/** Elements of the largest input that one run of the runtime takes at most, padding included. */
const BATCH_ELEMENTS = 8192;
/** Runs that may wait for a model. */
const QUEUE_RUNS = 8192;

/** How a model runs. */
export interface OnnxModelOptions {
  /** Path of the file. */
  readonly path: string;
  /** What it is called where something is told of it; the name of its file, unless it is given. */
  readonly name?: string;
  /** Threads of each session; unless they are given, the pool adapts. */
  readonly threads?: SessionThreads;
  /** Cores that may be used; all that there are, unless it is given. */
  readonly cores?: number;
  /** Told what the operator should know: that a run does not return. */
  readonly onNotice?: (notice: string) => void;
}

/** The model. */
export class OnnxModel {
  readonly #pool: AdaptivePool<ModelJob, readonly TensorOutput[]>;
  readonly #calls: Calls = new Calls();

  constructor({ path, name = basename(path), threads, cores = availableParallelism(), onNotice }: OnnxModelOptions) {
    const one: SessionThreads = { intraOp: 1, interOp: 1, executionMode: "sequential" };
    const open = (of: SessionThreads): Promise<SessionRunner<ModelJob, readonly TensorOutput[]>> =>
      SessionRunner.open({ kind: "model", path, name, threads: of });
    this.#pool = new AdaptivePool({
      mode: threads === undefined ? "adaptive" : "narrow",
      openWide: () => open(threads ?? { ...one, intraOp: cores }),
      openNarrow: () => open(threads ?? one),
      narrowRunners: Math.max(1, Math.floor(cores / Math.max(1, threads?.intraOp ?? 1))),
      weigh: (job) => Math.max(1, ...job.inputs.map(({ sizes }) => sizes.reduce((product, size) => product * size, 1))),
      batchJobs: BATCH_RUNS,
      batchWeight: BATCH_ELEMENTS,
      queueJobs: QUEUE_RUNS,
      ...tellingGivenUp(`model ${name}`, onNotice),
    });
  }

  /**
   * The outputs of each job, in order.
   *
   * @throws ServiceError `OVERLOADED` (429) when they would come too late, `TIMED_OUT` (504) when they did.
   */
  async run(jobs: readonly ModelJob[], deadline: Deadline): Promise<readonly (readonly TensorOutput[])[]> {
    const call = { purpose: "query", items: jobs.length, signal: deadline.signal } as const;
    return await this.#calls.around(call, () => Promise.all(jobs.map((job) => this.#pool.run(job, deadline))));
  }

  /** What is known of it now, under the name that it has for whoever asks. */
  state(id: string): ModelState {
    return stateOf({ id, kind: "onnx" }, poolFigures(this.#pool.statistics()), this.#calls);
  }

  /** What its pool has done. */
  statistics(): PoolStatistics {
    return this.#pool.statistics();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
