/** `npm run sabotage`: guards that are taken out. */
import { defineConfig } from "vitest/config";
import { Tally } from "../tally.ts";
import { TEST_RUN } from "../test-run.ts";

export default defineConfig({
  test: { ...TEST_RUN, root: "tools/sabotage", include: ["*.test.ts"], reporters: ["default", new Tally()] },
});
