/** The routes of our own (all below `/brooklet/v1/`), which Vespa has not. */
export { answerErasure } from "./erasure.ts";
export { answerFeed } from "./feed.ts";
export { answerGroups } from "./groups.ts";
export { answerGroupSearch, answerRetrieval } from "./retrieval.ts";
