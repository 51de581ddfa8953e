/** A load of a large group: its operations go to the shards that have their documents, and what came of them comes back in their order. */
import { type Load, Reader, Writer } from "@brooklet/core";
import type { LoadOutcome } from "../cluster.ts";
import { failedOutcome } from "../failure.ts";
import { learn, lost, type Moved } from "./route.ts";
import { type ShardName, WHOLE } from "./shard.ts";
import type { ShardMaps } from "./shard-map.ts";

type Loaded = { readonly result: readonly LoadOutcome[] } | Moved;

/** So often what is left is sent to other shards. */
const HOPS_MAX = 16;

/** Loads operations of one group, by whichever shards it has. What `ask` is given may be asked of others again. */
export async function loadShards(
  maps: ShardMaps,
  key: string,
  { ids, ...whole }: Load,
  ask: (shard: ShardName, load: Load) => Promise<Loaded>,
): Promise<readonly LoadOutcome[]> {
  if (maps.of(key) === undefined || ids === undefined) {
    const reply = await ask(WHOLE, whole);
    if ("result" in reply) return reply.result;
    learn(maps, key, reply);
    if (ids === undefined) throw lost();
  }
  const all = operationsOf(whole);
  const outcomes: LoadOutcome[] = [];
  // A shard that fails says nothing of what the others have stored.
  const fail = (indexes: readonly number[], error: unknown): void => {
    const outcome = failedOutcome(error);
    outcomes.push(...indexes.map((index) => ({ index, outcome })));
  };
  let left = all.map((_, index) => index);
  for (let hop = 0; hop < HOPS_MAX && left.length > 0; hop += 1) {
    const moved: number[] = [];
    const parts = byShard(maps, key, ids, left);
    const load = async ({ shard, indexes }: Part): Promise<void> => {
      const reply = await ask(shard, partOf(all, indexes, { ...whole, ids }));
      if ("result" in reply) {
        outcomes.push(...reply.result.map((told) => ({ ...told, index: indexes[told.index] ?? 0 })));
        return;
      }
      learn(maps, key, reply);
      moved.push(...indexes);
    };
    await Promise.all(parts.map((part) => load(part).catch((error: unknown) => fail(part.indexes, error))));
    // Those on one document stay in their order.
    left = moved.sort((one, other) => one - other);
  }
  fail(left, lost());
  return outcomes;
}

interface Part {
  readonly shard: ShardName;
  readonly indexes: number[];
}

function byShard(maps: ShardMaps, key: string, ids: readonly string[], indexes: readonly number[]): Part[] {
  const map = maps.of(key);
  const parts = new Map<number, Part>();
  for (const index of indexes) {
    const shard = map?.shardOf(ids[index] ?? "") ?? WHOLE;
    const part = parts.get(shard.number) ?? { shard, indexes: [] };
    part.indexes.push(index);
    parts.set(shard.number, part);
  }
  return [...parts.values()];
}

/** The JSON of each operation of a load. */
export function operationsOf({ count, operations }: Load): Uint8Array[] {
  const reader = new Reader(operations);
  return Array.from({ length: count }, () => reader.bytes());
}

/** Some of the operations of a load, which are `all`. */
export function partOf(all: readonly Uint8Array[], indexes: readonly number[], { cluster, ids }: Load): Load {
  const writer = new Writer();
  for (const index of indexes) writer.bytes(all[index] ?? new Uint8Array());
  return {
    count: indexes.length,
    operations: writer.finish().slice(),
    ...(ids && { ids: indexes.map((index) => ids[index] ?? "") }),
    ...(cluster !== undefined && { cluster }),
  };
}

/** The load with bytes that are nobody else's: what is sent takes the whole of their buffer with it. */
export function toSend(load: Load): Load {
  return { ...load, operations: own(load.operations) };
}

/** Bytes that have a buffer of their own. */
export function own(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
}
