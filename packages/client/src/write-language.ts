/** What writes the changes of an update, and the conditions of writes, and tells of those that were not met: loaded with the first of them. */
export { conditionText } from "./selection.ts";
export { unmetCondition } from "./unmet-condition.ts";
export { encodeUpdate } from "./update.ts";
