/**
 * The erasure of a partition: in one turn, with one short transaction, after which it does not exist. What was accepted before
 * is committed before; what is decided after it begins with nothing. Its blocks are deleted by maintenance.
 */
import type { Storage } from "@brooklet/store";
import type { Erasure, PartitionKey } from "./cluster.ts";
import { serviceError } from "./failure.ts";
import type { Maintenance } from "./maintenance.ts";
import { type CountingPlace, countOf } from "./quotas/stored-count.ts";

/** Where an erasure works. */
export interface ErasurePlace extends CountingPlace {
  readonly maintenance: Maintenance;
}

/** Erases a partition. When it returns that is on stable storage. */
export function erasePartition(place: ErasurePlace, key: PartitionKey): Erasure {
  const { bucket, maintenance } = place;
  try {
    bucket.flush();
    const documents = countOf(place, key);
    const bytes = documents === undefined ? 0 : bucket.store.state(key).operationBytes;
    bucket.change((store) => store.erase(key), bytes + 1);
    maintenance.erased(bucket, key);
    return { key, erasedAt: Date.now(), ...(documents !== undefined && { documents }) };
  } catch (error) {
    throw serviceError(error);
  }
}

/** A receipt with the backups that still have what was erased. */
export function withBackups(erasure: Erasure, storage: Storage): Erasure {
  const backups = storage.backups?.() ?? [];
  return backups.length === 0 ? erasure : { ...erasure, backups };
}
