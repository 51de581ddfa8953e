import { defineConfig } from "vitest/config";
import { FILES_IN_MEMORY, TEST_RUN } from "../../tools/test-run.ts";

export default defineConfig({ test: { ...TEST_RUN, ...FILES_IN_MEMORY } });
