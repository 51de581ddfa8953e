/** What a page of a browser imports: the client, and a database in the page itself. */
export * from "@brooklet/client";
export { type BrowserDatabase, type BrowserOpenOptions, open } from "./browser/open.ts";
export type { BrowserAssets } from "./browser/own-worker.ts";
