/** A workload served in each way, beside each other. */
import { nodePlan, objectPlan, type Plan, queryMs, readBytes, storePlan } from "./ours.ts";
import { PRICES, type Prices } from "./prices.ts";
import { memoryPlan, streamingPlan } from "./vespa.ts";
import type { Workload } from "./workload.ts";

/** All plans of a workload. */
export interface Plans {
  readonly workload: Workload;
  /** A search of one user's documents, nothing in memory. */
  readonly search: { readonly coreMs: number; readonly bytesRead: number };
  readonly plans: readonly Plan[];
}

/** Plans a workload. */
export function planOf(workload: Workload, prices: Prices = PRICES): Plans {
  return {
    workload,
    search: { coreMs: queryMs(workload), bytesRead: readBytes(workload) },
    plans: [
      nodePlan(workload, prices),
      objectPlan(workload, prices),
      storePlan(workload, prices),
      streamingPlan(workload, prices),
      // Without vectors there is no graph.
      ...(workload.dimensions > 0 ? [memoryPlan(workload, prices)] : []),
    ],
  };
}
