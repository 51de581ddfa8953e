/**
 * One visit: goes through the buckets of a slice, several at a time if it may, and gives page after page with how far
 * it is then. Never more than one page of each bucket is made ahead of its reader: one that does not read stops it.
 */

import type { PartitionKey, Visit, VisitPage } from "@brooklet/partition";
import type { Authority } from "./authority/authority.ts";
import type { BucketProgress, VisitProgress } from "./continuation.ts";

/** What is visited. */
export interface VisitPlan {
  readonly visit: Visit;
  /** The only partition that is visited. */
  readonly key: PartitionKey | undefined;
  /** The buckets of the slice, ascending. */
  readonly buckets: readonly number[];
  /** Buckets that are visited at a time. */
  readonly concurrency: number;
  /** What was known a moment ago is enough, where several servers share what is stored. */
  readonly isEventual?: boolean;
}

/** How much a page is, and how long it may take. */
export interface PageLimits {
  readonly documentsMax: number;
  readonly bytesMax: number;
  readonly timeoutMs: number;
  /** Nobody waits for it any more. */
  readonly gone?: AbortSignal | undefined;
}

/** A page, and how far the visit is after it. */
export interface SessionPage {
  readonly documents: number;
  readonly body: Uint8Array;
  /** Nothing: the visit is complete. */
  readonly progress: VisitProgress | undefined;
  /** From 0 to 100. */
  readonly percentFinished: number;
  /** Damaged documents were passed over: the visit has to say so, and may go on after them. */
  readonly damage: string | undefined;
}

interface BucketVisit {
  position: BucketProgress;
  pending: Promise<{ readonly bucketVisit: BucketVisit; readonly page: VisitPage }> | undefined;
}

/** A visit under way. */
export class VisitSession {
  readonly #access: Authority;
  readonly #plan: VisitPlan;
  readonly #visits: BucketVisit[];
  #nextBucket: number;

  constructor(access: Authority, plan: VisitPlan, from: VisitProgress | undefined) {
    this.#access = access;
    this.#plan = plan;
    this.#nextBucket = from?.nextBucket ?? 0;
    this.#visits = (from?.open ?? []).map((position) => ({ position, pending: undefined }));
  }

  /** How far it is; nothing: it is complete. */
  get progress(): VisitProgress | undefined {
    if (this.#visits.length === 0 && this.#upcoming() === undefined) return undefined;
    const open = this.#visits.map(({ position }) => position).sort((left, right) => left.bucket - right.bucket);
    return { open, nextBucket: this.#nextBucket };
  }

  /** The page that is there first. Call it while there is progress. `ahead` begins the one after it at once. */
  async next(limits: PageLimits, ahead: boolean): Promise<SessionPage> {
    this.#openVisits();
    for (const bucketVisit of this.#visits) bucketVisit.pending ??= this.#begin(bucketVisit, limits);
    const { bucketVisit, page } = await Promise.race(this.#visits.flatMap(({ pending }) => pending ?? []));
    bucketVisit.pending = undefined;
    if (page.next === undefined) this.#visits.splice(this.#visits.indexOf(bucketVisit), 1);
    else {
      bucketVisit.position = { bucket: bucketVisit.position.bucket, ...page.next };
      if (ahead) bucketVisit.pending = this.#begin(bucketVisit, limits);
    }
    const { documents, body, damage } = page;
    return { documents, body, damage, progress: this.progress, percentFinished: this.#percentFinished() };
  }

  #openVisits(): void {
    while (this.#visits.length < this.#plan.concurrency) {
      const bucket = this.#upcoming();
      if (bucket === undefined) return;
      this.#nextBucket = bucket + 1;
      this.#visits.push({ position: { bucket, partition: 0, after: "" }, pending: undefined });
    }
  }

  #upcoming(): number | undefined {
    return this.#plan.buckets.find((bucket) => bucket >= this.#nextBucket);
  }

  #begin(
    bucketVisit: BucketVisit,
    { documentsMax, bytesMax, timeoutMs, gone }: PageLimits,
  ): NonNullable<BucketVisit["pending"]> {
    const { visit, key, isEventual = false } = this.#plan;
    const { bucket, ...from } = bucketVisit.position;
    const step = {
      bucket,
      from,
      documentsMax,
      bytesMax,
      ...(isEventual && { isEventual }),
      ...(key === undefined ? {} : { key }),
    };
    const pending = this.#access.visit(visit, step, timeoutMs, gone).then((page) => ({ bucketVisit, page }));
    // It may never be asked for: then its failure is nobody's.
    pending.catch(() => undefined);
    return pending;
  }

  #percentFinished(): number {
    const { buckets } = this.#plan;
    const done = buckets.filter((bucket) => bucket < this.#nextBucket).length - this.#visits.length;
    return buckets.length === 0 ? 100 : (100 * done) / buckets.length;
  }
}
