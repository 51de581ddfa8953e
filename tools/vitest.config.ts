/** The tests of the repository itself: `npm run tidy`. */
import { defineConfig } from "vitest/config";
import { Tally } from "./tally.ts";

export default defineConfig({ test: { root: "tools", include: ["*.test.ts"], reporters: ["default", new Tally()] } });
