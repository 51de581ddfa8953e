import { defineConfig } from "vitest/config";
import { TEST_TIME } from "../../tools/test-time.ts";

/**
 * Not run with a clock that stands still: tests of processes and threads, which have clocks of their own, those that set the
 * clock, recorded traces with times in them, and a stand-in that pauses ten million times without working.
 */
const OTHER_CLOCKS = ["kill", "expiry", "thread-cluster", "simulation", "conversations", "local-cluster"];

/** Run with that clock alone, which is the one of the objects whose memory they count: half a minute each. */
const STILL_CLOCK = ["object-memory"];

const without = (names: readonly string[]): string[] => [
  "**/node_modules/**",
  "dist/**",
  ...names.map((name) => `test/${name}.test.ts`),
];

export default defineConfig({
  test: {
    ...TEST_TIME,
    projects: [
      { extends: true, test: { name: "partition", exclude: without(STILL_CLOCK) } },
      {
        extends: true,
        test: { name: "still clock", setupFiles: ["test/still-clock.ts"], exclude: without(OTHER_CLOCKS) },
      },
    ],
  },
});
