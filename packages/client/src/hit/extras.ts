/** Reads what only some answers have, of which each by itself would be a file smaller than the request for it. */
export { withHighlights } from "./highlight.ts";
export { readTiming } from "./timing.ts";
