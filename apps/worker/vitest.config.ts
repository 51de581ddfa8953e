import { defineConfig } from "vitest/config";
import { FILES_IN_MEMORY, TEST_RUN } from "../../tools/test-run.ts";

/** Run with a clock that stands still within a turn, as the platform's does where it is deployed; the others with this machine's. */
const STILL = ["test/worker.test.ts", "test/shards.test.ts", "test/restart.test.ts"];

export default defineConfig({
  test: {
    ...TEST_RUN,
    ...FILES_IN_MEMORY,
    projects: [
      { extends: true, test: { name: "worker", include: ["test/*.test.ts"], exclude: STILL } },
      { extends: true, test: { name: "still clock", setupFiles: ["test/still-clock.ts"], include: STILL } },
    ],
  },
});
