/** What conversations need of a page. */
export { held, talksIn } from "../talks/talk.ts";
export { openListener } from "./listener.ts";
