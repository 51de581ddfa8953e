/**
 * A query over as many partitions as it addresses: a bucket at a time in each thread, and what they find is merged as it
 * comes. What is held is one merged result and a few of buckets, however many partitions there are; and
 * whoever is asked later is told what is not worth finding any more.
 */
import { type Engine, type FloorBytes, type Merged, NO_FLOOR, type PartialBytes } from "@brooklet/core";
import type { Answer, PartitionKey, SearchRequest, SearchScope, SearchStep } from "./cluster.ts";
import { beganMs, Deadline } from "./deadline.ts";
import { drive, NOWHERE } from "./drive.ts";
import { serviceError } from "./failure.ts";
import { MERGE_BYTES, MERGE_PARTIALS, MERGED_AT_ONCE_BYTES } from "./limits.ts";

/** What a query over many partitions is asked of. */
export interface WideSearchPlace {
  /** Finds the scope, and merges. */
  readonly engine: Engine;
  readonly buckets: number;
  readonly bucketOf: (key: PartitionKey) => number;
  /** The answer of one partition, if no other is addressed. */
  readonly searchPartition: (
    key: PartitionKey,
    request: SearchRequest,
    timeoutMs: number,
    gone: AbortSignal | undefined,
  ) => Promise<Answer>;
  readonly searchBucket: (
    request: SearchRequest,
    step: SearchStep,
    timeoutMs: number,
    gone: AbortSignal | undefined,
  ) => Promise<Merged>;
  /** Buckets searched at a time. */
  readonly bucketsAtOnce: number;
}

/** Answers a query from the partitions its parameters name. */
export async function searchWidely(
  place: WideSearchPlace,
  request: SearchRequest,
  timeoutMs: number,
  allow: (scope: SearchScope) => void,
  gone?: AbortSignal,
): Promise<Answer> {
  const start = beganMs(request);
  const waited = (): SearchRequest => ({ ...request, waitedMs: performance.now() - start });
  try {
    const scope = drive(place.engine.scope(request), NOWHERE, forever());
    if (scope.kind === "refused") return scope.answer;
    // The core makes them; their form is checked where a partition is opened.
    const keys = scope.kind === "keys" ? (scope.keys as readonly PartitionKey[]) : undefined;
    allow(keys === undefined ? {} : { keys });
    const [only] = keys ?? [];
    if (keys?.length === 1 && only !== undefined) return await place.searchPartition(only, waited(), timeoutMs, gone);
    const deadline = Deadline.in(timeoutMs, start).sooner(scope.timeoutMs, start);
    // Nothing is begun that has no time left; the core says so.
    const parts = deadline.passed ? [] : bucketsOf(place, keys);
    const found = await searchBuckets(place, waited, parts, { deadline, gone });
    const task = place.engine.answer(request, found);
    try {
      task.elapsed(performance.now() - start);
      return task.finish();
    } finally {
      task[Symbol.dispose]();
    }
  } catch (error) {
    throw serviceError(error);
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
  waited: () => SearchRequest,
  parts: readonly Part[],
  { deadline, gone }: { readonly deadline: Deadline; readonly gone: AbortSignal | undefined },
): Promise<readonly PartialBytes[]> {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const found = new Found(place.engine, waited());
  let failed = false;
  let next = 0;
  const work = async (): Promise<void> => {
    for (;;) {
      const part = parts[next];
      if (part === undefined || failed || found.over) return;
      gone?.throwIfAborted();
      next += 1;
      const step = { ...part, nowSeconds, floor: found.floor };
      await place.searchBucket(waited(), step, deadline.remainingMs, gone).then(
        (merged) => found.add(merged),
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

/**
 * What was found so far. Small partial results are merged as they come, so that the floor rises; large ones, which are so
 * by their groups, when there are some, as each merge reads and writes all that was merged before.
 */
class Found {
  readonly #engine: Engine;
  readonly #request: SearchRequest;
  #merged: Merged | undefined;
  #waiting: PartialBytes[] = [];
  #waitingBytes = 0;

  constructor(engine: Engine, request: SearchRequest) {
    this.#engine = engine;
    this.#request = request;
  }

  /** Below which nothing is wanted any more. */
  get floor(): FloorBytes {
    return this.#merged?.floor ?? NO_FLOOR;
  }

  /** Whether nothing more can change the answer. */
  get over(): boolean {
    return this.#merged?.over === true;
  }

  /** All of it. */
  get partials(): readonly PartialBytes[] {
    return this.#merged === undefined ? this.#waiting : [this.#merged.partial, ...this.#waiting];
  }

  add({ partial, over }: Merged): void {
    this.#waiting.push(partial);
    this.#waitingBytes += partial.length;
    const isLarge = partial.length >= MERGED_AT_ONCE_BYTES && !over;
    if (isLarge && this.#waiting.length < MERGE_PARTIALS && this.#waitingBytes < MERGE_BYTES) return;
    this.#merge(0);
  }

  /** Goes on without partitions whose stored data is damaged, if the query takes a part of an answer. */
  passDamage(thrown: unknown, partitions: number): void {
    if (serviceError(thrown).code !== "STORE_CORRUPT") throw thrown;
    this.#merge(partitions);
    if (this.over) throw thrown;
  }

  #merge(damaged: number): void {
    const task = this.#engine.merge(this.#request, this.floor, this.partials, damaged);
    this.#merged = drive(task, NOWHERE, forever());
    [this.#waiting, this.#waitingBytes] = [[], 0];
  }
}

function forever(): Deadline {
  return Deadline.in(Number.POSITIVE_INFINITY);
}
