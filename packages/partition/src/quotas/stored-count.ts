/** How many documents a partition has, and how many bytes are stored of it. */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Engine, encodeQuery } from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import type { GroupUsage, PartitionKey } from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import { drive } from "../drive.ts";
import { serviceError } from "../failure.ts";
import { placeOf, sourceOf } from "../place.ts";
import { groupOf } from "../shards/shard.ts";

/** Where documents are counted. */
export interface CountingPlace {
  readonly bucket: Bucket;
  readonly engine: Engine;
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
/** What names a group in a query, by what its keys begin with. */
const NAMED_BY: Readonly<Record<string, string>> = { "g:": "streaming.groupname", "n:": "streaming.userid" };
const OK = 200;
const NO_BYTES: Uint8Array = new Uint8Array(0);
const decoder = new TextDecoder();

/** What is stored of a partition, what is queued included. */
export function usageOf(place: CountingPlace, key: PartitionKey): GroupUsage {
  try {
    place.bucket.flush();
    const { store } = place.bucket;
    const documents = countOf(place, key);
    const bytes = store.storedBytes(key) + store.state(key).operationBytes;
    return { ...(documents !== undefined && { documents }), bytes };
  } catch (error) {
    throw serviceError(error);
  }
}

/** How many documents a partition has; nothing: they cannot be counted, which keeps nobody from erasing them. */
export function countOf({ bucket, engine, onProblem }: CountingPlace, key: PartitionKey): number | undefined {
  const { store } = bucket;
  try {
    const state = store.state(key);
    if (state.number === 0) return 0;
    const parameter = NAMED_BY[key.slice(0, 2)];
    if (parameter === undefined) return undefined;
    // The documents of a shard are of its group.
    const group = groupOf(key);
    const properties = [...Object.entries(COUNTED), [parameter, group.slice(2)] as const];
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
