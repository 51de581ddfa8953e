/**
 * A query over as many partitions as it addresses: a bucket at a time in each thread, and what they find is merged as it
 * comes. What is held is one merged result and a few of buckets, however many partitions there are; and
 * whoever is asked later is told what is not worth finding any more.
 */
import { type Merged, NO_FLOOR, type PartialBytes, type Query } from "@brooklet/core";
import type { Answer, PartitionKey, SearchStep } from "../cluster.ts";
import { Deadline } from "../deadline.ts";
import { advance, NOWHERE } from "../drive.ts";
import { MERGED_AT_ONCE_BYTES } from "../limits.ts";
import { FoundParts } from "./found-parts.ts";
import type { ModelRounds } from "./query-models.ts";

/** What a query over many partitions is asked of. */
export interface WideSearchPlace {
  readonly buckets: number;
  readonly bucketOf: (key: PartitionKey) => number;
  /** What partitions of a bucket find; the query has been given what its models made. */
  readonly searchBucket: (step: SearchStep) => Promise<Merged>;
  /** Buckets searched at a time. */
  readonly bucketsAtOnce: number;
}

/** A query that addresses several partitions: those with `keys`, or all there are. */
export interface WideSearch {
  readonly query: Query;
  readonly keys: readonly PartitionKey[] | undefined;
  readonly deadline: Deadline;
  /** When the caller began to wait. */
  readonly startMs: number;
  readonly rounds: ModelRounds;
  readonly gone: AbortSignal | undefined;
  /** Told what models yielded: the searches that follow are given it too. */
  readonly give: (outputs: Uint8Array) => void;
}

/** The answer of several partitions. */
export async function searchWidely(place: WideSearchPlace, search: WideSearch): Promise<Answer> {
  const { query, keys, deadline, startMs, rounds, give, gone } = search;
  const refusal = query.refusal();
  if (refusal !== undefined) return refusal;
  for (;;) {
    gone?.throwIfAborted();
    // Nothing is begun that has no time left; the core says so.
    const parts = deadline.passed ? [] : bucketsOf(place, keys);
    const found = await searchBuckets(place, search, parts);
    const task = query.answer(found);
    try {
      let anew = false;
      while (!anew) {
        // What was found is shown also when time is over, if the query takes a part of an answer.
        const lacking = advance(task, NOWHERE, forever(), startMs);
        if (lacking === undefined) return task.finish();
        const outputs = await rounds.run(lacking.runs);
        give(outputs);
        anew = lacking.anew;
        if (!anew) task.give(outputs);
      }
    } finally {
      task[Symbol.dispose]();
    }
  }
}

type Part = Pick<SearchStep, "bucket" | "keys">;

/** The buckets of some partitions, or all buckets. */
function bucketsOf(place: WideSearchPlace, keys: readonly PartitionKey[] | undefined): Part[] {
  if (keys === undefined) return Array.from({ length: place.buckets }, (_, bucket) => ({ bucket }));
  const byBucket = new Map<number, PartitionKey[]>();
  for (const key of keys) {
    const bucket = place.bucketOf(key);
    const others = byBucket.get(bucket);
    if (others === undefined) byBucket.set(bucket, [key]);
    else others.push(key);
  }
  return Array.from(byBucket, ([bucket, of]) => ({ bucket, keys: of }));
}

/**
 * Searches buckets, some at a time, for the partial results that are the answer together. After a failure, and when
 * nothing can change the answer, no other is begun.
 */
async function searchBuckets(
  place: WideSearchPlace,
  { query, gone }: WideSearch,
  parts: readonly Part[],
): Promise<readonly PartialBytes[]> {
  const found = new FoundParts(query, NO_FLOOR);
  let failed = false;
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const part = parts[next];
      if (part === undefined || failed || found.over) return;
      gone?.throwIfAborted();
      next += 1;
      await place.searchBucket({ ...part, floor: found.floor }).then(
        // Small ones at once, so that the floor rises; large ones are so by their groups, which a merge reads and writes.
        ({ partial, over }) => found.add(partial, over || partial.length < MERGED_AT_ONCE_BYTES),
        // None of its groups can be reached; how many there are is not known, unless they were named.
        (error: unknown) => found.passDamage(error, part.keys?.length ?? 1),
      );
    }
  };
  const working = Array.from({ length: Math.min(place.bucketsAtOnce, parts.length) }, () =>
    work().catch((error: unknown) => {
      failed = true;
      throw error;
    }),
  );
  await Promise.all(working);
  return found.partials;
}

function forever(): Deadline {
  return Deadline.in(Number.POSITIVE_INFINITY);
}
