/** A partition of a store, in the terms of the core's tasks. */
import type { Place } from "@brooklet/core";
import type { PartitionState, Partitions } from "@brooklet/store";
import type { Source } from "./drive.ts";
import { groupOf } from "./shards/shard.ts";

/** Where a task works. */
export function placeOf(state: PartitionState): Place {
  const { incarnation, number: partition, key, layout, lastOperation: operation } = state;
  // The documents of a shard are those of its group, sealed for it.
  return { incarnation, partition, key: groupOf(key), layout, operation };
}

/** What a task on the partition `key` is given. */
export function sourceOf(store: Partitions, key: string): Source {
  return {
    manifest: (layout, operation) => store.manifest(key, layout, operation),
    operation: (number) => store.operation(key, number),
    deliver: (blocks, receiver) => store.deliver(blocks, receiver),
  };
}
