/** What writes the changes of an update, and the conditions of writes: loaded with the first of them. */
export { conditionText } from "./selection.ts";
export { encodeUpdate } from "./update.ts";
