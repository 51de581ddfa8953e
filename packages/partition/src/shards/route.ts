/** The way to the shard that has a document: who asks the wrong one is told what that one is, and asks again. */
import { ServiceError } from "@brooklet/core";
import { type ShardName, type ShardRecord, WHOLE } from "./shard.ts";
import type { ShardMaps } from "./shard-map.ts";

/** A shard did nothing, as it does not have the document; what it is. Nothing: there is no such shard. */
export interface Moved {
  readonly moved: ShardRecord | undefined;
}

/** So often another shard is asked for one request; a group has few levels of shards. */
const HOPS_MAX = 16;

/** Asks the shard that has a document. */
export async function route<Result>(
  maps: ShardMaps,
  key: string,
  id: string,
  ask: (shard: ShardName) => Promise<{ readonly result: Result } | Moved>,
): Promise<Result> {
  for (let hop = 0; hop < HOPS_MAX; hop += 1) {
    const reply = await ask(maps.of(key)?.shardOf(id) ?? WHOLE);
    if ("result" in reply) return reply.result;
    learn(maps, key, reply);
  }
  throw lost();
}

/** Takes what a shard says that it is. */
export function learn(maps: ShardMaps, key: string, { moved }: Moved): void {
  if (moved === undefined) maps.forget(key);
  else maps.open(key).learn(moved);
}

/** Nobody has a document: its group is erased, or split, faster than it is asked for. */
export function lost(): ServiceError {
  const message = "The shard of the document was not found; try again";
  return new ServiceError({ code: "UNAVAILABLE", status: 503, number: 8, message, outcome: "not_applied" });
}
