import { defineConfig } from "vitest/config";
import { TEST_RUN } from "../../tools/test-run.ts";

/**
 * Run with the clock of the machine: tests of processes and threads, which have clocks of their own, those that set the
 * clock, recorded traces with times in them, and a stand-in that pauses ten million times without working.
 */
const RUNNING_CLOCK = ["kill", "expiry", "thread-cluster", "simulation", "conversations", "local-cluster"];

/** Run with both: what ends a slice of a fold, a part of a feed or a search of many groups is the time that it took. */
const BOTH_CLOCKS = ["maintenance", "feeding", "wide-search"];

const files = (names: readonly string[]): string[] => names.map((name) => `test/${name}.test.ts`);

export default defineConfig({
  test: {
    ...TEST_RUN,
    projects: [
      {
        extends: true,
        test: { name: "running clock", include: ["src/**/*.test.ts", ...files([...RUNNING_CLOCK, ...BOTH_CLOCKS])] },
      },
      {
        extends: true,
        test: {
          name: "still clock",
          setupFiles: ["test/still-clock.ts"],
          include: ["test/*.test.ts"],
          exclude: files(RUNNING_CLOCK),
        },
      },
    ],
  },
});
