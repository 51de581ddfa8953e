import { defineConfig } from "vitest/config";
import { TEST_RUN } from "../../tools/test-run.ts";

export default defineConfig({ test: TEST_RUN });
