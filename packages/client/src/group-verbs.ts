/**
 * What a group can do beyond putting, getting and searching. It is loaded whole with the first of these calls: a page that only
 * searches never has it, and no call waits for more than one file (docs/decisions/0059).
 */
export { feedRun, oneByOne } from "./bulk/feed-run.ts";
export { groupFeed } from "./bulk/group-feed.ts";
export { searchAll, searchPage } from "./cursor.ts";
export { getMany } from "./document-list.ts";
export { clearGroup, eraseGroup, groupNames } from "./group-list.ts";
export { removeWhere, updateWhere, visit } from "./visit.ts";
export { conditionText, encodeUpdate, unmetCondition } from "./write-language.ts";
