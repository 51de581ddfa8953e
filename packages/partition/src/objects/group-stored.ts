/** What a group's object has open of its database, and what it notes there before it is emptied. When either is done is the object's. */
import { OnePartitionStore, replacePartition, StoreError } from "@brooklet/store";
import { BucketHost } from "../bucket-host.ts";
import { OBJECT_TAIL_BYTES_MAX } from "../limits.ts";
import { OpenQueries } from "../query/open-queries.ts";
import { ANY_ATTEMPT, recordOfErased, type ShardRecord, unreadRecord, WHOLE } from "../shards/shard.ts";
import type { ShardGuard } from "../shards/shard-guard.ts";
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

/** What is stored of a shard that is to be erased. */
export interface ShardToErase {
  /** What it is; of one that cannot be read, one that may have given documents to any shard. Nothing: a home that was never split, or no shard. */
  readonly record: ShardRecord | undefined;
  readonly isStored: boolean;
  /** Why it cannot be read. */
  readonly damage?: unknown;
}

/** Reads what is to be erased, which need not be readable. */
export function readToErase({ key, shard = 0 }: GroupObjectOptions, host: () => BucketHost): ShardToErase {
  try {
    const stored = host().shard(key);
    return { record: stored.record, isStored: stored.isStored };
  } catch (damage) {
    if (!isUnreadable(damage)) throw damage;
    return { record: unreadRecord(shard), isStored: true, damage };
  }
}

/** What stays of a shard that is dropped: that whatever of it is still on its way comes too late. Nothing: it is a later one, or none is there. */
export function leftOfDropped(toErase: ShardToErase, number: number, made: number): ShardRecord | undefined {
  const { record, isStored, damage } = toErase;
  const isAny = made === ANY_ATTEMPT;
  const isThere = isAny ? isStored : damage !== undefined || record === undefined || record.made <= made;
  const last = isAny ? Math.max(record?.made ?? 0, Date.now()) : made;
  return isThere ? recordOfErased({ ...WHOLE, ...record, number, made: last }) : undefined;
}

/**
 * Notes that it is being erased, so that this goes on though the object loses its memory. Where no note can be taken beside what is stored,
 * since that is damaged or the database is full, the note takes the place of it: what is opened of it has to be opened anew then. Nothing says of
 * one that is not noted that it is being erased.
 */
export function noteErasure(
  { key, connection, table, onProblem }: GroupObjectOptions,
  { record, isStored, damage }: ShardToErase,
  keep: (record: ShardRecord) => void,
): "kept" | "replaced" | "not noted" {
  if (!isStored) return "kept";
  const noted = { ...(record ?? WHOLE), isErased: true };
  try {
    if (damage !== undefined) throw damage;
    keep(noted);
    return "kept";
  } catch (error) {
    onProblem(error);
  }
  try {
    replacePartition(connection, key, JSON.stringify(noted), table);
    return "replaced";
  } catch (error) {
    // One that stands alone is emptied all the same, and one that cannot be read has nothing to go on with.
    if (record !== undefined && damage === undefined) throw error;
    onProblem(error);
    return "not noted";
  }
}

/** Whether what is stored is no partition that this release reads; others read it as little the next time. */
export function isUnreadable(error: unknown): boolean {
  return error instanceof StoreError && (error.kind === "damaged" || error.kind === "refused");
}
