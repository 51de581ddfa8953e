/**
 * What is written in the buckets of one thread while a deployment looks through what is stored: which partitions it is in, and that
 * writes wait when the last of it is looked at, so that none is decided by an application that is about to be replaced.
 */
import { isServiceError } from "@brooklet/core";
import type { Bucket } from "@brooklet/store";
import { clock } from "../clock.ts";
import type { PartitionKey, Visit, VisitPage, VisitStep } from "../cluster.ts";
import { LEASE_RENEWAL_MS, STORED_STEP_MS } from "../limits.ts";
import { WHOLE } from "./shard.ts";
import { type Gate, gate, ShardGuard, WaitingGuard } from "./shard-guard.ts";

/** How far a bucket is: its last operation, and the first segment that it does not have. */
export interface BucketMark {
  readonly bucket: number;
  readonly operation: number;
  readonly segment: number;
}

/** What is looked for. */
export interface MeanwhileLook {
  /** What selects the documents. */
  readonly visits: readonly Visit[];
  readonly since: readonly BucketMark[];
  /** Writes wait from here on, until they are released. */
  readonly holds: boolean;
  readonly timeoutMs: number;
}

/** What came of a look. */
export interface MeanwhileFound {
  /** Which visit selects a document, or may; nothing: none does. */
  readonly found?: number;
  /** How far the buckets were when it began. */
  readonly until: readonly BucketMark[];
}

/** Where it is looked. */
export interface MeanwhileHost {
  /** All buckets of the thread. */
  readonly buckets: readonly number[];
  bucketAt(bucket: number): Bucket;
  visit(visit: Visit, step: VisitStep, timeoutMs: number): Promise<VisitPage>;
}

/** The writes of one thread. */
export class WrittenMeanwhile {
  readonly #host: MeanwhileHost;
  #held: Gate | undefined;

  constructor(host: MeanwhileHost) {
    this.#host = host;
  }

  /** How far the buckets are, with all that was accepted. */
  marks(): readonly BucketMark[] {
    return this.#host.buckets.map((number) => {
      const bucket = this.#host.bucketAt(number);
      bucket.flush();
      const { lastOperation, firstFreeSegment } = bucket.store;
      return { bucket: number, operation: lastOperation, segment: firstFreeSegment };
    });
  }

  /** What is selected in partitions that were written since. */
  async look({ visits, since, holds, timeoutMs }: MeanwhileLook): Promise<MeanwhileFound> {
    if (holds) this.#held ??= gate();
    const endMs = clock.now() + timeoutMs;
    const until = this.marks();
    for (const { bucket, operation, segment } of since)
      for (const key of this.#host.bucketAt(bucket).store.writtenSince(operation, segment))
        for (const [found, visit] of visits.entries()) {
          // A shard is visited as it is, too: the group that it is of may be in another thread.
          const one = { bucket, key: key as PartitionKey, isShard: true };
          if (await selectsAny(this.#host, visit, one, endMs)) return { found, until };
        }
    return { until };
  }

  /** Lets writes go on that wait. */
  release(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  /** The guard of a partition, which has writes wait as long as they are held. */
  guard(own: ShardGuard | undefined): ShardGuard | undefined {
    const held = this.#held;
    return held === undefined ? own : new WaitingGuard(own ?? new ShardGuard(WHOLE), () => held.over);
  }
}

/** Whether a visit selects a document, or may: what is damaged cannot be told, nor what there is no time for, or more of than can be asked. */
export async function selectsAny(
  stored: Pick<MeanwhileHost, "visit">,
  visit: Visit,
  where: Pick<VisitStep, "bucket" | "key" | "isShard">,
  endMs: number,
): Promise<boolean> {
  let from: VisitStep["from"] | undefined = { partition: 0, after: "" };
  let stepMs = STORED_STEP_MS;
  while (from !== undefined) {
    if (clock.now() > endMs) return true;
    const step: VisitStep = { ...where, from, documentsMax: 1, bytesMax: 1 };
    const page: VisitPage | undefined = await stored.visit(visit, step, stepMs).catch((error: unknown) => {
      if (isServiceError(error) && error.code === "TOO_LARGE") return MAY_BE;
      // What is stored elsewhere may have to be brought first, which goes on.
      if (isServiceError(error) && error.code === "TIMED_OUT" && clock.now() <= endMs) return undefined;
      throw error;
    });
    if (page === undefined) continue;
    if (page.documents > 0 || page.damage !== undefined) return true;
    const { next }: VisitPage = page;
    // One that ended where it began was too short to list what is there, or to reach it.
    const hasMoved = next?.partition !== from.partition || next.after !== from.after;
    stepMs = hasMoved ? STORED_STEP_MS : Math.min(2 * stepMs, LEASE_RENEWAL_MS);
    from = next;
  }
  return false;
}

/** A page of what nobody could look at. */
const MAY_BE: VisitPage = { documents: 1, body: new Uint8Array() };
