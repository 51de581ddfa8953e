import { type Database, open } from "brooklet";
import { note } from "./schema";

/**
 * The database, opened by the first request: a build loads this module, too. A module that is loaded anew, as `next dev` does with
 * each change, takes it as it is open, and deploys what it has changed.
 */
export function database(): Promise<Database> {
  return open({ path: "./data", schemas: [note], once: true });
}
