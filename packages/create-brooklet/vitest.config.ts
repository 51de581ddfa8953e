import { defineConfig } from "vitest/config";
import { TEST_TIME } from "../../tools/test-time.ts";

export default defineConfig({ test: TEST_TIME });
