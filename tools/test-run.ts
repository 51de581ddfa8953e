/** How the tests of every package are run. */
import { availableParallelism } from "node:os";

/**
 * A test waits for events; these limits only end one that would wait for ever, so they are far above what a busy machine
 * needs. A test that is longer by its nature says so itself.
 */
export const TEST_RUN = {
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 60_000 } },
  // Vitest leaves a processor to others. Of two that is half of the machine, and much of a test is waiting.
  maxWorkers: Math.max(2, availableParallelism() - 1),
};
