/** A model that is evaluated by itself: the core says what is run of it, and writes the answer. */
import { decodeModelRuns, type Engine, type EvaluationRequest, encodeModelResults, ServiceError } from "@brooklet/core";
import type { Answer } from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import { advance, NOWHERE } from "../drive.ts";
import { serviceError, tooLate } from "../failure.ts";
import type { ModelApplication, QueryModels } from "./query-models.ts";

/** How often models are run for one evaluation at most: a function is of one model. */
const ROUNDS_MAX = 2;

/**
 * The answer below `/model-evaluation/v1`.
 *
 * @throws ServiceError `UNSUPPORTED` where an ONNX model is evaluated and there is nothing that runs one.
 */
export async function evaluateModel(
  engine: Engine,
  models: QueryModels,
  request: EvaluationRequest,
  timeoutMs: number,
): Promise<Answer> {
  const deadline = Deadline.in(timeoutMs);
  try {
    const task = engine.evaluate(request);
    try {
      for (let round = 0; round < ROUNDS_MAX; round += 1) {
        const wanted = advance(task, NOWHERE, deadline);
        if (wanted === undefined) return task.finish();
        task.give(await outputs(wanted.runs, models, deadline));
      }
      return task.finish();
    } finally {
      task[Symbol.dispose]();
    }
  } catch (error) {
    throw serviceError(error);
  }
}

async function outputs(runs: Uint8Array, models: QueryModels, deadline: Deadline): Promise<Uint8Array> {
  const { runner, application } = models;
  if (runner === undefined || application === undefined) {
    const message = "This server runs no ONNX models: only models of decision trees and expressions are evaluated here";
    throw new ServiceError({ code: "UNSUPPORTED", status: 400, number: 4, message });
  }
  const results = await runner.run(decodeModelRuns(runs), application satisfies ModelApplication, deadline.remainingMs);
  if (deadline.passed) throw tooLate();
  return encodeModelResults(results);
}
