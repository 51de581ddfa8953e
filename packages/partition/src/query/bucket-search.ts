/**
 * A query over several partitions of one bucket: each is searched in one turn of its own, with turns for others in
 * between, and what they find is merged here, so that only one partial result leaves the thread. What a partition finds
 * and what is kept of it is the core's business.
 */

import type { Merged, PartialBytes, Query } from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import { clock } from "../clock.ts";
import type { PartitionKey, SearchStep } from "../cluster.ts";
import type { Deadline } from "../deadline.ts";
import { serviceError } from "../failure.ts";
import { SEARCH_PARTITIONS, SEARCH_TURN_MS } from "../limits.ts";
import type { Partition, PartSearch } from "../partition.ts";
import type { ShardRecord } from "../shards/shard.ts";
import { isShardName } from "../shards/shard.ts";
import { FoundParts } from "./found-parts.ts";

/** What partitions of a bucket find. */
export interface BucketFound extends Merged {
  /** Groups that are not among them, as they have several shards. */
  readonly large?: readonly PartitionKey[];
  /** Of a shard: what it is. */
  readonly shard?: ShardRecord;
  /** The shard that was asked is not there any more: nothing was found. */
  readonly hasMoved?: boolean;
}

/** Where a query is searched. */
export interface SearchPlace {
  readonly bucket: Bucket;
  readonly partition: (key: string) => Partition;
  /** Whether a group has several shards. */
  readonly isLarge: (key: string) => boolean;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Brings what is stored of a partition, where that is not all here, and holds it until what it gives is called. */
  readonly hold?: (key: string) => Promise<() => void>;
  /** Told of damage that was passed over, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}

/** What the partitions of a step find together. `startMs`: when the caller began to wait. */
export async function searchBucket(
  place: SearchPlace,
  query: Query,
  step: SearchStep,
  { deadline, startMs }: { readonly deadline: Deadline; readonly startMs: number },
): Promise<BucketFound> {
  try {
    const large: PartitionKey[] = [];
    const skips = (key: string): boolean => {
      if (step.made !== undefined || !place.isLarge(key)) return false;
      large.push(key as PartitionKey);
      return true;
    };
    const found = new FoundParts(query, step.floor);
    let turnEndsMs = clock.now() + SEARCH_TURN_MS;
    let renewed: readonly string[] | undefined;
    for (const [key, page] of partitionsOf(place.bucket, step.keys)) {
      if (clock.now() >= turnEndsMs) {
        await place.turn();
        turnEndsMs = clock.now() + SEARCH_TURN_MS;
      }
      if (skips(key)) continue;
      const isLate = deadline.passed;
      const isFound = await searchHeld(place, key, query, {
        floor: found.floor,
        deadline,
        startMs,
        // Committed together, and not by a commit for each.
        renewBeside: () => {
          if (renewed !== page) for (const beside of page) place.partition(beside).renew();
          renewed = page;
        },
      }).then(
        // What was found while half of it was given away is not of all documents.
        (partial) => partial !== undefined && !skips(key) && found.add(partial),
        (error: unknown) => {
          found.passDamage(error, 1);
          place.onProblem(error);
          return false;
        },
      );
      // A search that is begun too late says so, and nothing after it can change that.
      if (found.over || (isLate && isFound)) break;
    }
    return large.length === 0 ? found.merged() : { ...found.merged(), large };
  } catch (error) {
    throw serviceError(error);
  }
}

async function searchHeld(
  place: SearchPlace,
  key: string,
  query: Query,
  search: PartSearch,
): Promise<PartialBytes | undefined> {
  if (place.hold === undefined) return await place.partition(key).searchPart(query, search);
  const release = await place.hold(key);
  try {
    // What is stored of those beside it may not be here.
    return await place.partition(key).searchPart(query, { ...search, renewBeside: undefined });
  } finally {
    release();
  }
}

/** The keys of partitions, each with the few that are looked at with it. */
function* partitionsOf(
  bucket: Bucket,
  keys: readonly string[] | undefined,
): Generator<readonly [key: string, page: readonly string[]]> {
  for (const page of keys === undefined ? pagesOf(bucket) : pagesIn(keys)) {
    bucket.store.expect?.(page);
    for (const key of page) yield [key, page];
  }
}

/** The keys of all partitions of a bucket, a few at a time; one that comes meanwhile may be among them or not. */
function* pagesOf(bucket: Bucket): Generator<readonly string[]> {
  for (let next = 1; ; ) {
    const some = bucket.store.from(next, SEARCH_PARTITIONS);
    const last = some.at(-1);
    if (last === undefined) return;
    // A shard is found by its group.
    yield some.map(({ key }) => key).filter((key) => !isShardName(key));
    next = last.number + 1;
  }
}

function* pagesIn(keys: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < keys.length; at += SEARCH_PARTITIONS) yield keys.slice(at, at + SEARCH_PARTITIONS);
}
