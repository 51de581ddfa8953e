/**
 * The erasure of a partition: in one turn, with one short transaction, after which it does not exist. What was accepted before
 * is committed before; what is decided after it begins with nothing. Its blocks are deleted by maintenance.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Engine, encodeQuery } from "@brooklet/core";
import type { Bucket, Storage } from "@brooklet/store";
import type { Erasure, PartitionKey } from "./cluster.ts";
import { Deadline } from "./deadline.ts";
import { drive } from "./drive.ts";
import { serviceError } from "./failure.ts";
import type { Maintenance } from "./maintenance.ts";
import { placeOf, sourceOf } from "./place.ts";
import { groupOf } from "./shards/shard.ts";

/** Where an erasure works. */
export interface ErasurePlace {
  readonly bucket: Bucket;
  readonly engine: Engine;
  readonly maintenance: Maintenance;
  /** Told of what keeps documents from being counted, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}

/** What is asked to count documents, of all schemas whatever a query profile would have. */
const COUNTED = {
  yql: "select * from sources * where true",
  hits: "0",
  timeout: "600s",
  "ranking.profile": "unranked",
  "model.restrict": "",
  "model.sources": "",
  "presentation.format": "json",
} as const;
const OF_GROUP = "g:";
const OK = 200;
const NO_BYTES: Uint8Array = new Uint8Array(0);
const decoder = new TextDecoder();

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

/** How many documents a partition has; nothing: they cannot be counted, which keeps nobody from erasing them. */
function countOf({ bucket, engine, onProblem }: ErasurePlace, key: PartitionKey): number | undefined {
  const { store } = bucket;
  try {
    const state = store.state(key);
    if (state.number === 0) return 0;
    if (!key.startsWith(OF_GROUP)) return undefined;
    // The documents of a shard are of its group.
    const group = groupOf(key);
    const properties = [...Object.entries(COUNTED), ["streaming.groupname", group.slice(OF_GROUP.length)] as const];
    const query = engine.query(encodeQuery({ properties, body: NO_BYTES }, Math.floor(Date.now() / 1_000)));
    try {
      // A query profile may hold on to values of its own: then it would be other documents that are counted.
      const isAsAsked = Object.entries(COUNTED).every(([name, value]) => query.parameter(name) === value);
      if (!isAsAsked || query.scope.kind !== "keys" || query.scope.keys.join() !== group) return undefined;
      const deadline = Deadline.in(Number.POSITIVE_INFINITY);
      const { status, body } = drive(query.search(placeOf(state)), sourceOf(store, key), deadline);
      const { coverage } = (JSON.parse(decoder.decode(body)) as Counted).root;
      return status === OK && coverage?.full === true ? coverage.documents : undefined;
    } finally {
      query[Symbol.dispose]();
    }
  } catch (error) {
    onProblem(error);
    return undefined;
  }
}

/** What is read of the answer. */
interface Counted {
  readonly root: { readonly coverage?: { readonly documents: number; readonly full: boolean } };
}
