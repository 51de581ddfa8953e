import { defineConfig } from "vitest/config";
import { TEST_TIME } from "../../tools/test-time.ts";

/**
 * Not run with a clock that stands still: tests of processes and threads, which have clocks of their own, those that set the
 * clock, recorded traces with times in them, and a stand-in that pauses ten million times without working.
 */
const OTHER_CLOCKS = ["kill", "expiry", "thread-cluster", "simulation", "conversations", "local-cluster"];

export default defineConfig({
  test: {
    ...TEST_TIME,
    projects: [
      { extends: true, test: { name: "partition" } },
      {
        extends: true,
        test: {
          name: "still clock",
          setupFiles: ["test/still-clock.ts"],
          exclude: ["**/node_modules/**", "dist/**", ...OTHER_CLOCKS.map((name) => `test/${name}.test.ts`)],
        },
      },
    ],
  },
});
