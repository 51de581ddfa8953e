/** The tests of what is published: `npm run test:packages`. They pack, install outside of the workspace, and bundle. */
import { defineConfig } from "vitest/config";
import { Tally } from "../tally.ts";

const MINUTES_MS = 60_000;

export default defineConfig({
  test: {
    root: "tools/release",
    include: ["*.test.ts"],
    globalSetup: ["install.ts"],
    testTimeout: 5 * MINUTES_MS,
    hookTimeout: 10 * MINUTES_MS,
    // One after the other: each starts compilers and bundlers, which take all the cores there are.
    teardownTimeout: MINUTES_MS,
    fileParallelism: false,
    reporters: ["default", new Tally()],
  },
});
