/** The tests of the repository itself: `npm run tidy`. */
import { defineConfig } from "vitest/config";
import { Tally } from "./tally.ts";
import { TEST_RUN } from "./test-run.ts";

export default defineConfig({
  test: { ...TEST_RUN, root: "tools", include: ["*.test.ts"], reporters: ["default", new Tally()] },
});
