/**
 * Computes what a partition is compacted to, in slices, and commits it. In between it is looked at again: what was computed of a
 * partition that is another by then is not committed. Which partitions, and when, is decided elsewhere.
 */
import type { Change, CompactReason, Engine, ResultRoom } from "@brooklet/core";
import type { Bucket, PartitionState, Partitions } from "@brooklet/store";
import { clock } from "../clock.ts";
import { driveInSlices } from "../drive.ts";
import { LOG_BYTES, SLICE_MS } from "../limits.ts";
import { placeOf, sourceOf } from "../place.ts";
import type { Attention } from "./attention.ts";
import type { Folded } from "./folded.ts";
import type { Job } from "./job.ts";

/** What compacting a partition came to, and is not committed. */
export interface Compacted {
  readonly job: Job;
  readonly store: Partitions;
  /** The partition as it was read. */
  readonly state: PartitionState;
  readonly reason: CompactReason;
  /** Number of the application with which it was computed. */
  readonly application: number;
  readonly startMs: number;
  /** Nothing: there was nothing to do. */
  readonly change: Change | undefined;
}

/** Where what is computed is written to. */
export interface Into {
  /** Number of the first segment. */
  readonly firstFreeSegment: number;
  /** What was computed into the same room before is gone; nothing: memory of its own. */
  readonly room?: ResultRoom;
}

/** What a compaction was, for what it leaves to be done. */
interface Done {
  readonly reason: CompactReason;
  readonly startMs: number;
  readonly change: Change | undefined;
}

/** How it is done. */
export interface CompactorOptions {
  readonly engine: Engine;
  /** How long it is known that a document was removed. */
  readonly keepRemovesSeconds: number;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Takes note of what was compacted. */
  readonly folded: Folded;
  /** Whether nothing is to be done any more. */
  readonly isStopped: () => boolean;
  /** Moves the log of a bucket to its file. */
  readonly checkpoint: (attention: Attention) => void;
}

/** Compacts the partitions of one thread. */
export class Compactor {
  readonly #options: CompactorOptions;

  constructor(options: CompactorOptions) {
    this.#options = options;
  }

  /** What a partition is compacted to. Nothing: there is none, or it became another meanwhile. */
  async compute(job: Job, { firstFreeSegment, room }: Into): Promise<Compacted | undefined> {
    const { bucket, key } = job;
    const { store, application } = bucket;
    const state = store.state(key);
    if (state.number === 0) return undefined;
    const reason: CompactReason = state.application === application ? job.reason : "schema";
    const startMs = clock.now();
    const { engine, turn, keepRemovesSeconds } = this.#options;
    const forgetBeforeMicros = Math.max((Date.now() - keepRemovesSeconds * 1_000) * 1_000, 0);
    // A partition that was erased and made anew has another number.
    const isSame = (): boolean => this.opens(bucket, store) && store.state(key).number === state.number;
    const task = engine.compact(placeOf(state), reason, { firstFreeSegment, forgetBeforeMicros }, room);
    const change = await driveInSlices(task, sourceOf(store, key), { sliceMs: SLICE_MS, turn, stop: () => !isSame() });
    return isSame() ? { job, store, state, reason, application, startMs, change } : undefined;
  }

  /** Commits what one partition is compacted to. */
  commit(attention: Attention, compacted: Compacted): void {
    const { bucket, key } = compacted.job;
    const { change } = compacted;
    const wholly = isWhole(compacted);
    if (change !== undefined) this.put(attention, key, { ...compacted, change }, { wholly });
    else {
      if (wholly) bucket.change((it) => it.markCurrent(key), 0);
      this.done(attention, key, compacted);
    }
  }

  /** Puts a change of a partition in place. `wholly`: everything in it is as the deployed application wants it then. */
  put(
    attention: Attention,
    key: string,
    done: Done & { readonly change: Change },
    { wholly, note }: { readonly wholly: boolean; readonly note?: string },
  ): void {
    const { bucket } = attention;
    // What is only deleted has to leave the log as well.
    bucket.change((it) => it.commit(key, done.change, wholly, note), Math.max(bytesOf(done.change), 1));
    this.done(attention, key, done);
    this.committed(attention);
  }

  /** Moves the log of a bucket to its file if it is long. */
  committed(attention: Attention): void {
    if (attention.bucket.logBytes >= LOG_BYTES) this.#options.checkpoint(attention);
  }

  /** Notes what a compaction left to be done. */
  done({ bucket, unsettled }: Attention, key: string, { reason, startMs, change }: Done): void {
    this.#options.folded.add(bucket, key);
    if (reason === "settle") {
      if (change?.hasMore !== true) unsettled.delete(key);
    } else if (change !== undefined) {
      // What is removed has to go in time. All else waits for the last of a feed's loads: joining what the next ones
      // would be joined with again is work for nothing.
      if (unsettled.get(key)?.hasDead === true) return;
      unsettled.delete(key);
      unsettled.set(key, { sinceMs: startMs, hasDead: change.liveness.length > 0 });
    }
  }

  /** Whether the bucket is still the one the work began with, not opened anew after a failure. */
  opens(bucket: Bucket, store: Partitions): boolean {
    return !this.#options.isStopped() && bucket.isOpen && bucket.store === store;
  }
}

/** Bytes of the segments that a change makes. */
export function bytesOf(change: Change | undefined): number {
  let bytes = 0;
  for (const { blocks } of change?.newSegments ?? []) for (const block of blocks) bytes += block.length;
  return bytes;
}

/** Whether a partition is all as the application wants it. If one was deployed meanwhile it is not, and stays marked so. */
export function isWhole({ job: { bucket }, reason, application, change }: Compacted): boolean {
  return reason === "schema" && change?.hasMore !== true && application === bucket.application;
}
