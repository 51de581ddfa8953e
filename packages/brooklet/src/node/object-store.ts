/** A cluster over an object store, on Node: what it has of the store is in files of this process, which nobody finds again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectStore, type ObjectStoreCluster, openObjectStoreCluster } from "@brooklet/object-store";
import { tellingOnce } from "@brooklet/partition";
import type { SqlConnection } from "@brooklet/store";
import { openDatabase } from "./database.ts";
import { CACHE_BYTES, coreOf, demandParts, type OpenClusterOptions, surroundingsOf } from "./threads.ts";

/** How a cluster over an object store is opened. */
export interface SharedClusterOptions extends Omit<OpenClusterOptions, "path" | "threads"> {
  readonly store: ObjectStore;
}

/** Opens a cluster over an object store; others may have it open too. */
export async function openSharedCluster(options: SharedClusterOptions): Promise<ObjectStoreCluster> {
  const { store, buckets, cacheBytes = CACHE_BYTES } = options;
  const onProblem = tellingOnce(options.onProblem ?? (() => undefined));
  demandParts();
  return await openObjectStoreCluster({
    ...surroundingsOf(options, onProblem),
    store,
    makeEngine: (secret) => coreOf({ secret }, cacheBytes, onProblem)(),
    openCache,
    ...(buckets === undefined ? {} : { buckets }),
  });
}

/** A database for one use: fast, and gone with the process. */
function openCache(): SqlConnection {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-cache-"));
  const sql = openDatabase(join(folder, "bucket.sqlite"));
  for (const pragma of ["page_size = 16384", "journal_mode = MEMORY", "synchronous = OFF", "temp_store = MEMORY"])
    sql.run(`PRAGMA ${pragma}`);
  return {
    ...sql,
    close: () => {
      sql.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
