import { defineConfig } from "vitest/config";
import { TEST_TIME } from "../../tools/test-time.ts";

/** Two pages are run at a time, as there are cores. */
export default defineConfig({ test: { ...TEST_TIME, include: ["test/**/*.test.ts"], maxConcurrency: 2 } });
