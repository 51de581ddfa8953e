/** The tests of the repository itself: `npm run tidy`. */
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { root: "tools", include: ["*.test.ts"] } });
