import { type Database, open } from "brooklet";
import { note } from "./schema";

/** Where a module that is loaded anew, as `next dev` does with each change, finds the database: a directory is opened once. */
const kept = globalThis as { brooklet?: Promise<Database> };
let isDeployed = false;

/**
 * The database, opened by the first request: a build loads this module, too. Each load of it deploys the schemas, which a
 * change may have made others.
 */
export async function database(): Promise<Database> {
  kept.brooklet ??= open({ path: "./data", schemas: [note] }).catch((error: unknown) => {
    delete kept.brooklet; // The next request tries it again.
    throw error;
  });
  const db = await kept.brooklet;
  if (!isDeployed) await db.deploy([note]);
  isDeployed = true;
  return db;
}
