/** The routes of our own (all below `/brooklet/v1/`, and `/mcp`), which Vespa has not. */
export { answerReceiptKey } from "./erasure.ts";
export { answerFeed } from "./feed.ts";
export { answerGroup } from "./group.ts";
export { answerGroups } from "./groups.ts";
export { answerMcp } from "./mcp.ts";
export { answerModels } from "./models.ts";
export { answerGroupSearch, answerRetrieval } from "./retrieval.ts";
export { answerSlowSearches } from "./slow-searches.ts";
