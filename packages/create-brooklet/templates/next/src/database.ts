import { type Database, open } from "brooklet";
import { note } from "./schema";

/** Where a module that is loaded anew, as `next dev` does with each change, finds the database: a directory is opened once. */
const kept = globalThis as { brooklet?: Promise<Database> };

/** The database, opened by the first request: a build loads this module, too. */
export function database(): Promise<Database> {
  kept.brooklet ??= open({ path: "./data", schemas: [note] });
  return kept.brooklet;
}
