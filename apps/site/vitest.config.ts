import { defineConfig } from "vitest/config";
import { TEST_RUN } from "../../tools/test-run.ts";

/** Two pages are run at a time, as there are cores. */
export default defineConfig({ test: { ...TEST_RUN, include: ["test/**/*.test.ts"], maxConcurrency: 2 } });
