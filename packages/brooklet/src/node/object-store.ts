/** A cluster over an object store, on Node: what it has of the store is in files of this process, which nobody finds again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ObjectStore, type ObjectStoreCluster, openObjectStoreCluster } from "@brooklet/object-store";
import { tellingOnce } from "@brooklet/partition";
import type { SqlConnection } from "@brooklet/store";
import { openDatabase } from "./database.ts";
import { CACHE_BYTES, coreOf, demandParts, type OpenClusterOptions, surroundingsOf } from "./memory-cluster.ts";
import { listenToPeers, type PeerListener } from "./peers.ts";
import { sealKeyOf } from "./seal-key.ts";

/** How a cluster over an object store is opened. */
export interface SharedClusterOptions extends Omit<OpenClusterOptions, "path" | "threads"> {
  readonly store: ObjectStore;
  /** Where other processes over the same store reach this one; without it they take buckets over to write them. */
  readonly peerAddress?: string;
}

/** Opens a cluster over an object store; others may have it open too. */
export async function openSharedCluster(options: SharedClusterOptions): Promise<ObjectStoreCluster> {
  const { store, buckets, cacheBytes = CACHE_BYTES } = options;
  const onProblem = tellingOnce(options.onProblem ?? (() => undefined));
  demandParts();
  const peers = options.peerAddress === undefined ? undefined : await listenToPeers(options.peerAddress);
  try {
    const cluster = await openObjectStoreCluster({
      ...surroundingsOf(options, onProblem),
      store: peers === undefined ? store : closedWith(store, peers),
      makeEngine: (secret) => coreOf(sealKeyOf({ secret }), cacheBytes, onProblem)(),
      openCache,
      ...(buckets === undefined ? {} : { buckets }),
      ...(peers === undefined ? {} : { peers: peers.port }),
    });
    peers?.begin(cluster.secret, (call) => cluster.answer(call));
    return cluster;
  } catch (error) {
    await peers?.close();
    throw error;
  }
}

/** The store, with which the listener for others ends. */
function closedWith(store: ObjectStore, peers: PeerListener): ObjectStore {
  return {
    ...store,
    close: async () => {
      await peers.close();
      await store.close?.();
    },
  };
}

/** A database for one use: fast, and gone with the process, also one that is killed: where an open file needs no name, it has none. */
function openCache(): SqlConnection {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-cache-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const sql = openDatabase(join(folder, "bucket.sqlite"));
  for (const pragma of ["page_size = 16384", "journal_mode = MEMORY", "synchronous = OFF", "temp_store = MEMORY"])
    sql.run(`PRAGMA ${pragma}`);
  if (process.platform !== "win32") remove();
  return {
    ...sql,
    close: () => {
      sql.close();
      remove();
    },
  };
}
