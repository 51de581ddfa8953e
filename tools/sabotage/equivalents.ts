/** Changes that no test can see: what is so with them as without. Each says why. */
import type { Equivalent } from "./mutants.ts";

/** All of them. */
export const EQUIVALENTS: readonly Equivalent[] = [];
