/** What pages have that is not written by hand: commands, limits, goals, and plots of what was measured. */
import { benchmarks } from "./generated/benchmarks.mjs";
import { commands } from "./generated/commands.mjs";
import { goals } from "./generated/goals.mjs";
import { limits } from "./generated/limits.mjs";

/** Markdown by the name that `<!-- generated: NAME -->` has in a page. @type {Readonly<Record<string, () => Promise<string>>>} */
export const GENERATORS = {
  benchmarks,
  commands,
  goals,
  limits,
  playground: async () => '```drawing\n<div id="playground-here"></div>\n```',
};
