/** A pool of runners that shares the processors: wide alone, narrow under load. What runs models, or asks them, is put behind it. */
export { AdaptivePool, type PoolStatistics } from "./pool/adaptive-pool.ts";
export type { BatchRunner, PoolMode, PoolOptions } from "./pool/batch-runner.ts";
export { poolFigures } from "./pool/pool-figures.ts";
