import { defineConfig } from "vitest/config";
import { TEST_TIME } from "../../tools/test-time.ts";

/** Run a second time, with a clock that stands still within a turn. */
const STILL = ["test/worker.test.ts", "test/shards.test.ts", "test/restart.test.ts"];

export default defineConfig({
  test: {
    ...TEST_TIME,
    projects: [
      { extends: true, test: { name: "worker" } },
      { extends: true, test: { name: "still clock", setupFiles: ["test/still-clock.ts"], include: STILL } },
    ],
  },
});
