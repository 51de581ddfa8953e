/**
 * Queries whose ranking runs models: the core says which runs it lacks, they are made here, and it is asked again with
 * what they yielded. A partition never waits for a model; what it read is read again.
 */
import {
  decodeModelRuns,
  encodeModelResults,
  type ModelResult,
  type ModelRun,
  ServiceError,
  WANTS_MODELS,
} from "@brooklet/core";
import { base64 } from "./base64.ts";
import type { Answer, DeployReport, PartitionHandle, SearchRequest } from "./cluster.ts";
import { beganMs } from "./deadline.ts";
import { serviceError, tooLate } from "./failure.ts";

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
  /** Frees the models. Called by the cluster that was given it, last. */
  close(): Promise<void>;
}

/** What is needed to run the models of a query. */
export interface ModelSetting {
  readonly runner: ModelRunner | undefined;
  readonly application: ModelApplication | undefined;
}

/** The parameter of a query that has what its models yielded. */
const OUTPUTS = "brooklet.models";

/** A model may take what another gave, in a phase that follows another: so often a query is asked again at most. */
const ROUNDS_MAX = 8;

/** A partition whose queries have their models run. */
export function modelling(partition: PartitionHandle, how: ModelSetting): PartitionHandle {
  return {
    apply: (request, timeoutMs) => partition.apply(request, timeoutMs),
    get: (request, timeoutMs) => partition.get(request, timeoutMs),
    search: (request, timeoutMs, gone) =>
      modelledSearch(request, timeoutMs, how, (of, ms) => partition.search(of, ms, gone)),
  };
}

/** Asks a query until it wants no models to be run. */
export async function modelledSearch(
  request: SearchRequest,
  timeoutMs: number,
  how: ModelSetting,
  search: (request: SearchRequest, timeoutMs: number) => Promise<Answer>,
): Promise<Answer> {
  const start = beganMs(request);
  const results: ModelResult[] = [];
  let answer = await search(request, timeoutMs);
  try {
    for (let round = 1; answer.status === WANTS_MODELS; round += 1) {
      if (round > ROUNDS_MAX) throw new Error(`the models of a query were run ${ROUNDS_MAX} times in a row`);
      const { timeoutMs: ownMs, runs } = decodeModelRuns(answer.body);
      const leftMs = (): number => Math.min(timeoutMs, ownMs) - (performance.now() - start);
      results.push(...(await run(runs, how, leftMs())));
      if (leftMs() <= 0) throw tooLate();
      const given = [OUTPUTS, base64(encodeModelResults(results))] as const;
      const properties = [...request.properties, given];
      answer = await search({ ...request, properties, waitedMs: performance.now() - start }, timeoutMs);
    }
  } catch (error) {
    throw serviceError(error);
  }
  return answer;
}

async function run(
  runs: readonly ModelRun[],
  { runner, application }: ModelSetting,
  leftMs: number,
): Promise<readonly ModelResult[]> {
  if (leftMs <= 0) throw tooLate();
  if (runner === undefined || application === undefined) {
    const message = "This server runs no ONNX models: the rank profile cannot be used here";
    throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
  }
  return await runner.run(runs, application, leftMs);
}
