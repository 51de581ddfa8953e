/** What a group's object has open of its database, and what it notes there before it is emptied. When either is done is the object's. */
import { OnePartitionStore } from "@brooklet/store";
import { BucketHost } from "../bucket-host.ts";
import { OBJECT_TAIL_BYTES_MAX } from "../limits.ts";
import { OpenQueries } from "../query/open-queries.ts";
import { type ShardRecord, WHOLE } from "../shards/shard.ts";
import type { ShardGuard } from "../shards/shard-guard.ts";
import type { ShardStore } from "../shards/shard-store.ts";
import type { GroupObjectOptions, Served } from "./group-options.ts";
import { ObjectExpiry } from "./object-expiry.ts";
import { Sharer } from "./turnstile.ts";

/** Opens what is stored of a group, with no application yet. */
export function serveGroup(options: GroupObjectOptions, guard: () => ShardGuard | undefined): Served {
  const { key, isolate, connection, table, onProblem } = options;
  const sharer = new Sharer(isolate.turnstile, options.surroundings);
  const host = new BucketHost({
    engine: isolate.engine,
    buckets: 1,
    openBucket: () => connection,
    partitions: (sql, of) => new OnePartitionStore(sql, key, { ...of, ...(table && { table }) }),
    guard,
    application: undefined,
    surroundings: sharer.surroundings,
    enter: (isOver) => sharer.enter(isOver),
    tailBytesMax: OBJECT_TAIL_BYTES_MAX,
    onProblem,
  });
  const queries = new OpenQueries(host);
  return { host, queries, queried: 0, isListed: false, isWatched: false, expiry: new ObjectExpiry([]) };
}

/** Notes that a group is being erased, so that it goes on though the object loses its memory. What it was, if it ever was split. */
export function noteErasure(
  stored: ShardStore,
  keep: (record: ShardRecord) => void,
  onProblem: (error: unknown) => void,
): ShardRecord | undefined {
  const { record } = stored;
  try {
    if (stored.isStored) keep({ ...(record ?? WHOLE), isErased: true });
  } catch (error) {
    // A database that is full takes no note: one that stands alone is emptied all the same.
    if (record !== undefined) throw error;
    onProblem(error);
  }
  return record;
}
