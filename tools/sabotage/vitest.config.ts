/** `npm run sabotage`: guards that are taken out. */
import { defineConfig } from "vitest/config";
import { Tally } from "../tally.ts";
import { TEST_TIME } from "../test-time.ts";

export default defineConfig({
  test: { ...TEST_TIME, root: "tools/sabotage", include: ["*.test.ts"], reporters: ["default", new Tally()] },
});
