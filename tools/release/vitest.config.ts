/** The tests of what is published: `npm run test:packages`. They pack, install outside of the workspace, and bundle. */
import { defineConfig } from "vitest/config";
import { Tally } from "../tally.ts";

const MINUTES_MS = 60_000;

export default defineConfig({
  test: {
    root: "tools/release",
    include: ["*.test.ts"],
    globalSetup: ["install.ts"],
    testTimeout: 10 * MINUTES_MS,
    hookTimeout: 10 * MINUTES_MS,
    teardownTimeout: MINUTES_MS,
    // Two files at a time, each in folders of its own: while one waits for what it installs, the other compiles.
    maxWorkers: 2,
    reporters: ["default", new Tally()],
  },
});
