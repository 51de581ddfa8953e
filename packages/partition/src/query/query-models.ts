/**
 * What a query has made of it before and while it is searched: its texts are embedded, and the models of its rank profile are
 * run. A partition never waits for a model.
 */

import {
  decodeModelRuns,
  encodeEmbeddings,
  encodeModelResults,
  type ModelResult,
  type ModelRun,
  type Query,
  ServiceError,
} from "@brooklet/core";
import type { Gone } from "../cancellation.ts";
import { clock } from "../clock.ts";
import type { DeployReport } from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import type { TextEmbedder } from "../embedding.ts";
import { noTimeLeft, tooLate } from "../failure.ts";
import type { ModelState } from "../health/model-state.ts";

/** An application whose models are run. */
export interface ModelApplication {
  /** Another object after each deployment. */
  readonly report: DeployReport;
  /** A file of its package, or the outline of the model of an address. */
  readonly file: (path: string) => Uint8Array | undefined;
}

/** What runs models for a cluster. */
export interface ModelRunner {
  /** What each run yields, in any order. */
  run(runs: readonly ModelRun[], application: ModelApplication, timeoutMs: number): Promise<readonly ModelResult[]>;
  /**
   * The outline of the model of an address, if it was downloaded before. It pins the model: only the file it was made of
   * is run. Nothing is downloaded here.
   */
  outline(address: string): Promise<Uint8Array | undefined>;
  /** What is to be said of models of a package, of these names, that cannot be run here. Nothing is loaded for it. */
  missing?(names: readonly string[], file: ModelApplication["file"]): Promise<readonly string[]>;
  /** What is known of each model of these names, which are those of the application's package. Nothing is loaded for it. */
  states?(names: readonly string[], application: ModelApplication): Promise<readonly ModelState[]>;
  /** Frees the models. Called by the cluster that was given it, last. */
  close(): Promise<void>;
}

/** How a search is waited for. */
export interface Waiting {
  /** The longest that it may take. */
  readonly timeoutMs: number;
  /** When the caller began to wait, by this thread's clock. */
  readonly startMs: number;
  readonly gone: Gone | undefined;
}

/** What is needed to give a query what it lacks. */
export interface QueryModels {
  readonly embedder: TextEmbedder | undefined;
  readonly runner: ModelRunner | undefined;
  readonly application: ModelApplication | undefined;
}

/** A model may take what another gave, in a phase that follows another: so often models are run for a query at most. */
const ROUNDS_MAX = 8;

/**
 * The embeddings of the texts that a query wants, as the core takes them; nothing if nobody can make them, which the core
 * then tells. Its own timeout holds for them too.
 */
export async function embeddingsOf(
  query: Query,
  { embedder, application }: QueryModels,
  { timeoutMs, startMs, gone }: Waiting & { readonly gone: AbortSignal | undefined },
): Promise<Uint8Array | undefined> {
  const { wanted } = query;
  if (embedder === undefined || application === undefined) return undefined;
  const deadline = Deadline.in(ownTime(query, timeoutMs), startMs);
  if (deadline.passed) throw noTimeLeft(clock.now() - startMs);
  return encodeEmbeddings(await embedder.embed(wanted, application.report, deadline.remainingMs, gone));
}

/** Milliseconds that a query may take, if nobody but itself and its host says so. */
export function ownTime({ timeoutMs: ownMs }: Query, timeoutMs: number): number {
  return Math.min(ownMs, timeoutMs);
}

/** Runs the models of one query, as often as it wants. */
export class ModelRounds {
  readonly #models: QueryModels;
  readonly #deadline: Deadline;
  #rounds = 0;

  /** `deadline`: until when the query is worth answering. */
  constructor(models: QueryModels, deadline: Deadline) {
    this.#models = models;
    this.#deadline = deadline;
  }

  /** What the runs that are wanted yield, as the core takes it. */
  async run(wanted: Uint8Array): Promise<Uint8Array> {
    this.#rounds += 1;
    if (this.#rounds > ROUNDS_MAX) throw new Error(`the models of a query were run ${ROUNDS_MAX} times in a row`);
    if (this.#deadline.passed) throw tooLate();
    const agreed = agreedFacts(wanted);
    if (agreed !== undefined) return agreed;
    const { runner, application } = this.#models;
    if (runner === undefined || application === undefined) {
      const message = "This server runs no ONNX models: the rank profile cannot be used here";
      throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
    }
    const results = await runner.run(decodeModelRuns(wanted), application, this.#deadline.remainingMs);
    if (this.#deadline.passed) throw tooLate();
    return encodeModelResults(results);
  }
}

/**
 * What the shards of groups counted together, which is given back to the core as it is: it stands where there are no runs
 * (docs/abi.md, runs of models).
 */
function agreedFacts(wanted: Uint8Array): Uint8Array | undefined {
  const [overflown, runs] = wanted;
  return overflown === 0 && runs === 0 && wanted.length > 2 ? wanted.subarray(1) : undefined;
}
