/** The tests of the repository itself: `npm run tidy`. */
import { defineConfig } from "vitest/config";
import { Tally } from "./tally.ts";
import { TEST_TIME } from "./test-time.ts";

export default defineConfig({
  test: { ...TEST_TIME, root: "tools", include: ["*.test.ts"], reporters: ["default", new Tally()] },
});
