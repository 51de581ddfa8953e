/** What a pool of sessions tells of the model that they hold. */
import type { ModelFigures } from "../model-state.ts";
import type { PoolStatistics } from "./adaptive-pool.ts";

/** The figures of the model of a pool. */
export function poolFigures(statistics: PoolStatistics): ModelFigures {
  const { runners, givenUp, failure, wideBatches, narrowBatches, waiting, waitingUrgent } = statistics;
  return {
    sessions: runners,
    sessionsGivenUp: givenUp,
    batches: wideBatches + narrowBatches,
    waits: { query: waitingUrgent, document: waiting - waitingUrgent },
    ...(failure !== undefined && { problem: failure }),
  };
}
