/**
 * Work that no request waits for: tails are folded into segments, segments rewritten after a deployment, logs moved to
 * their files. One compaction at a time in a thread, in slices, so that requests run in between; small ones of a bucket are committed
 * together.
 */

import { type Change, ResultRoom, type ShardBits } from "@brooklet/core";
import type { Bucket, PartitionState } from "@brooklet/store";
import { clock } from "./clock.ts";
import { driveInSlices } from "./drive.ts";
import { closedError, isClosed } from "./failure.ts";
import * as limits from "./limits.ts";
import type { Attention } from "./maintenance/attention.ts";
import { Compactor } from "./maintenance/compactor.ts";
import { Folded } from "./maintenance/folded.ts";
import { type Job, jobOf } from "./maintenance/job.ts";
import { Jobs } from "./maintenance/jobs.ts";
import type { MaintenanceOptions } from "./maintenance/maintenance-options.ts";
import { Sweeps } from "./maintenance/sweeps.ts";
import { FoldTally, isLong } from "./maintenance/tail.ts";
import { TailLoads } from "./maintenance/tail-loads.ts";
import { placeOf, sourceOf } from "./place.ts";
import { ErasedBlocks } from "./upkeep/erased-blocks.ts";
import { FreeSpace } from "./upkeep/free-space.ts";

const IDLE_SWEEPS = Math.ceil(limits.IDLE_MS / limits.SWEEP_MS);

/** The maintenance of the buckets of one thread. */
export class Maintenance {
  readonly #options: MaintenanceOptions;
  readonly #compactor: Compactor;
  /** Where segments that are to be committed stand until they are: there are those of one partition at a time. */
  readonly room: ResultRoom = new ResultRoom();
  /** Loads that go to tails. */
  readonly tailLoads: TailLoads;
  readonly #attention = new Map<Bucket, Attention>();
  /** What was compacted since somebody asked for it. */
  readonly folded: Folded = new Folded();
  readonly #queue = new Jobs();
  /** What was folded and rewritten since the start. */
  readonly tally: FoldTally = new FoldTally();
  /** Work that is done alone, and waited for. */
  readonly #awaited: (() => Promise<void>)[] = [];
  #running: Promise<void> | undefined;
  readonly #sweeps: Sweeps;
  #checkpoints: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.tailLoads = new TailLoads(options.turn);
    const isStopped = (): boolean => this.#stopped;
    const checkpoint = (attention: Attention): void => this.#checkpoint(attention, false);
    this.#compactor = new Compactor({ ...options, folded: this.folded, isStopped, checkpoint });
    const look = (attention: Attention): void => this.#look(attention);
    this.#sweeps = new Sweeps({ ...options, attentions: () => this.#attention.values(), look, isStopped });
  }

  /** Takes a bucket into care from its first use on, reads included: an earlier process may have left long tails. */
  attend(bucket: Bucket): void {
    this.#of(bucket);
  }

  /** Does nothing more for a bucket that was let go of. */
  forget(bucket: Bucket): void {
    this.#attention.delete(bucket);
    for (const job of this.#queue.takeOf(bucket)) job.settle(closedError());
  }

  /** Notes a committed write; folds the tail if it is long. Never fails: the write is done. */
  written(bucket: Bucket, key: string): void {
    try {
      const attention = this.#of(bucket);
      if (isLong(bucket.store.state(key))) this.#schedule(attention, key);
      if (bucket.logBytes >= limits.LOG_BYTES && !attention.checkpointDue) this.#checkpointLater(attention, false);
    } catch (error) {
      this.#options.onProblem(error);
    }
  }

  /** Whether a tail takes one more operation. */
  takesMore({ operations, operationBytes }: PartitionState): boolean {
    const { tailBytesMax = limits.TAIL_BYTES_MAX } = this.#options;
    return operations < limits.TAIL_OPERATIONS_MAX && operationBytes < tailBytesMax;
  }

  /** Folds the tail of a partition, or joins the fold under way. Rejects if it failed, now or a moment ago. */
  fold(bucket: Bucket, key: string): Promise<void> {
    const attention = this.#of(bucket);
    const job = this.#schedule(attention, key);
    if (job !== undefined) return this.#queue.hasten(job);
    return Promise.reject(attention.retries.get(key)?.error ?? closedError());
  }

  /** Does now what is else done when a partition rests. Rejects if it failed, now or a moment ago. */
  async rest(bucket: Bucket, key: string): Promise<void> {
    const attention = this.#of(bucket);
    // Joins what is under way; that may be a fold, after which small segments are left.
    for (const reason of ["fold", "settle"] as const) {
      const job = this.#schedule(attention, key, reason);
      if (job === undefined) throw attention.retries.get(key)?.error ?? closedError();
      await this.#queue.hasten(job);
    }
    await this.#eraseOthers(attention);
    await this.idle();
  }

  /** Partitions that wait to be folded. */
  get queued(): number {
    return this.#queue.count;
  }

  /** Whether nothing is begun any more. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Gives everyone else a turn. */
  get turn(): () => Promise<void> {
    return this.#options.turn;
  }

  /** Does work that takes numbers of segments, or changes them: nothing else that does runs meanwhile. */
  alone<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#awaited.push(() => work().then(resolve, reject));
      this.#running ??= this.#run();
    });
  }

  /** Commits the segments that a load wrote for a partition. */
  commit(bucket: Bucket, key: string, change: Change, startMs: number): void {
    this.#compactor.put(this.#of(bucket), key, { reason: "fold", startMs, change }, { wholly: false });
  }

  /**
   * Has only these documents of a partition stay, and notes what it is then, all in one transaction. `noteOf` throws where that is
   * not to be done any more; `committed` is called in the turn of the commit.
   */
  divide(
    bucket: Bucket,
    key: string,
    kept: ShardBits,
    { noteOf, committed }: { readonly noteOf: () => string; readonly committed: () => void },
  ): Promise<void> {
    return this.alone(async () => {
      const { store, application } = bucket;
      const startMs = clock.now();
      const bounds = { firstFreeSegment: store.firstFreeSegment, forgetBeforeMicros: 0, kept };
      const task = this.#options.engine.compact(placeOf(store.state(key)), "split", bounds, this.room);
      const isSame = (): boolean =>
        !this.#stopped && bucket.isOpen && bucket.store === store && bucket.application === application;
      const pace = { sliceMs: limits.SLICE_MS, turn: this.#options.turn, stop: () => !isSame() };
      const change = await driveInSlices(task, sourceOf(store, key), pace);
      if (!isSame()) throw closedError();
      const note = noteOf();
      if (change === undefined) bucket.change((it) => it.note(key, note), 1);
      else this.#compactor.put(this.#of(bucket), key, { reason: "fold", startMs, change }, { wholly: false, note });
      committed();
    });
  }

  /** Takes note of an erasure: forgets the partition, and has what it left deleted. Without a key: of what was erased before. */
  erased(bucket: Bucket, key?: string): ErasedBlocks {
    const attention = this.#of(bucket);
    for (const known of [attention.unsettled, attention.retries]) known.delete(key ?? "");
    attention.erasedBlocks.expect();
    return attention.erasedBlocks;
  }

  /** Compares every partition of `bucket` with the application deployed now. */
  deployed(bucket: Bucket): void {
    this.#of(bucket).applicationCursor = 0;
  }

  /** Looks at some tails, at the log, and at partitions that another application wrote, of each bucket. Called every `SWEEP_MS`. */
  sweep(): void {
    this.#sweeps.begin();
  }

  #look(attention: Attention): void {
    // What is damaged keeps nothing else from being done.
    this.#attempt(attention, () => this.#sweepTails(attention));
    this.#attempt(attention, () => this.#sweepUnsettled(attention));
    this.#attempt(attention, () => void this.#eraseOthers(attention).catch(this.#options.onProblem));
    this.#attempt(attention, () => this.#sweepApplication(attention));
    this.#attempt(attention, () => attention.erasedBlocks.drop());
    this.#attempt(attention, () => this.#sweepLog(attention));
    this.#attempt(attention, () => attention.freeSpace.giveBack());
  }

  #attempt({ bucket }: Attention, work: () => void): void {
    try {
      if (bucket.isOpen) work();
    } catch (error) {
      this.#options.onProblem(error);
    }
  }

  /** The schemas that segments may have; nothing: that is not known. All others are of documents that are gone. */
  stored: readonly string[] | undefined;

  /** Whether nothing is queued or running. */
  get isIdle(): boolean {
    return this.#running === undefined;
  }

  /** Settles when nothing is queued or running. */
  async idle(): Promise<void> {
    do {
      await this.#sweeps.idle();
      await this.#running;
      await this.#checkpoints;
      for (const { erasedBlocks, freeSpace } of this.#attention.values()) {
        await erasedBlocks.idle();
        await freeSpace.idle();
      }
    } while (this.#running !== undefined);
  }

  /** Ends after the current slice; what is queued is dropped, but what was erased is deleted as far as that is soon done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    const endMs = clock.now() + limits.ERASE_CLOSING_MS;
    await this.#sweeps.idle();
    while (this.#running !== undefined) await this.#running;
    for (const { erasedBlocks, freeSpace } of this.#attention.values()) {
      await erasedBlocks.finish(endMs);
      await freeSpace.idle();
    }
  }

  #of(bucket: Bucket): Attention {
    let attention = this.#attention.get(bucket);
    if (attention === undefined) {
      const cursors = {
        tailCursor: 0,
        settleCursor: 0,
        settledMs: clock.now(),
        applicationCursor: 0,
        erased: undefined,
        checkpointMs: clock.now(),
      };
      const known = { retries: new Map(), jobs: new Map(), unsettled: new Map(), checkpointDue: false };
      const checkpoint = (): void => this.#checkpoint(this.#of(bucket), false);
      const erasedBlocks = new ErasedBlocks(bucket, { ...this.#options, checkpoint });
      const isIdle = (): boolean => !this.#stopped && this.isIdle;
      const emptyLog = (): void => this.#checkpoint(this.#of(bucket), true);
      const freeSpace = new FreeSpace(bucket, { ...this.#options, isIdle, checkpoint: emptyLog });
      attention = { bucket, sweeps: [], ...known, erasedBlocks, freeSpace, ...cursors };
      this.#attention.set(bucket, attention);
    }
    return attention;
  }

  #schedule(attention: Attention, key: string, reason: "fold" | "settle" = "fold"): Job | undefined {
    const queued = attention.jobs.get(key);
    if (queued !== undefined) return queued;
    const retry = attention.retries.get(key);
    if (this.#stopped || (retry !== undefined && clock.now() < retry.atMs)) return undefined;
    const job = jobOf(attention.bucket, key, reason);
    // What failed may fail again, and what is committed with it fails as well.
    job.isAlone = retry !== undefined;
    attention.jobs.set(key, job);
    this.#queue.add(job);
    this.#running ??= this.#run();
    return job;
  }

  async #run(): Promise<void> {
    await this.#options.turn();
    while (this.#awaited.length > 0 || this.#queue.count > 0) {
      // One of each in turn, so that a feed does not keep long tails from being folded.
      const awaited = this.#awaited.shift();
      if (awaited !== undefined) await this.#entered(awaited);
      await this.#options.turn();
      const job = this.#queue.take();
      if (job === undefined) continue;
      const startMs = clock.now();
      if (this.#mayBeTogether(job)) await this.#foldTogether(job);
      else await this.#foldAlone(job);
      this.tally.took(startMs);
      await this.#options.turn();
    }
    this.#running = undefined;
  }

  /** Whether others may be committed with a job. Where partitions come and go, or share the core's memory, each is alone in its bucket. */
  #mayBeTogether(job: Job): boolean {
    const { hold, enter, foldTogether } = this.#options;
    return !this.#stopped && hold === undefined && enter === undefined && foldTogether?.isSmall(job) === true;
  }

  async #foldTogether(first: Job): Promise<void> {
    const attention = this.#of(first.bucket);
    const { turn, onProblem } = this.#options;
    await this.#options.foldTogether?.fold(attention, first, {
      compactor: this.#compactor,
      turn,
      onProblem,
      take: (placeIn) => (this.#stopped || this.#awaited.length > 0 ? undefined : this.#queue.takeOne(placeIn)),
      done: (job, isChanged) => this.#jobDone(attention, job, isChanged),
      failed: (job, error) => this.#jobFailed(attention, job, error),
      apart: (job) => {
        if (this.#attention.get(job.bucket) === attention) this.#queue.addAlone(job);
        else job.settle(closedError());
      },
    });
    // Of many that wait the next are looked for at once: a sweep takes few, so that it is short.
    if (attention.tailCursor > 0) this.#attempt(attention, () => this.#lookAtTails(attention));
  }

  async #foldAlone(job: Job): Promise<void> {
    const attention = this.#of(job.bucket);
    try {
      this.#jobDone(attention, job, !this.#stopped && (await this.#compactHeld(attention, job)));
    } catch (error) {
      this.#jobFailed(attention, job, error);
    }
  }

  #jobDone(attention: Attention, job: Job, isChanged: boolean): void {
    this.tally.folds += 1;
    attention.retries.delete(job.key);
    attention.jobs.delete(job.key);
    // What was written meanwhile may be a long tail again, and perhaps nothing more comes.
    this.#attempt(attention, () => {
      if (isChanged && isLong(job.bucket.store.state(job.key))) this.#schedule(attention, job.key);
    });
    job.settle();
  }

  #jobFailed(attention: Attention, job: Job, error: unknown): void {
    attention.jobs.delete(job.key);
    if (!isClosed(error)) {
      const waitMs = Math.min((attention.retries.get(job.key)?.waitMs ?? limits.RETRY_MS / 2) * 2, limits.RETRY_MAX_MS);
      attention.retries.set(job.key, { atMs: clock.now() + waitMs, waitMs, error });
      this.tally.failed += 1;
      this.#options.onProblem(error);
    }
    job.settle(error);
  }

  async #compactHeld(attention: Attention, job: Job): Promise<boolean> {
    const release = await this.#options.hold?.(job.key);
    try {
      return await this.#compact(attention, job);
    } finally {
      release?.();
    }
  }

  /** Does work that writes segments, while no other does that shares the core's memory. */
  async #entered<Result>(work: () => Promise<Result>): Promise<Result> {
    const leave = await this.#options.enter?.(() => this.#stopped);
    try {
      return await work();
    } finally {
      leave?.();
    }
  }

  /** Compacts a partition, in as many changes as it takes. Returns whether that changed anything. */
  async #compact(attention: Attention, job: Job): Promise<boolean> {
    for (let isChanged = false; ; isChanged = true) {
      const done = await this.#entered(() => this.#compactSome(attention, job));
      if (done !== "some") return isChanged || done === "all";
      await this.#options.turn();
    }
  }

  /** Makes one change of a compaction. Returns whether that was all, or nothing. */
  async #compactSome(attention: Attention, job: Job): Promise<"nothing" | "some" | "all"> {
    const { firstFreeSegment } = job.bucket.store;
    const compacted = await this.#compactor.compute(job, { firstFreeSegment, room: this.room });
    if (compacted === undefined) return "nothing";
    this.#compactor.commit(attention, compacted);
    const { change } = compacted;
    if (change === undefined) return "nothing";
    return change.hasMore ? "some" : "all";
  }

  #sweepTails(attention: Attention): void {
    const { bucket, sweeps } = attention;
    sweeps.push(bucket.store.lastOperation);
    if (sweeps.length > limits.RESTING_SWEEPS) sweeps.shift();
    this.#lookAtTails(attention);
  }

  /** Queues those of some tails that are worth folding. */
  #lookAtTails(attention: Attention): void {
    const { bucket, sweeps } = attention;
    const quietSince = (count: number): number => sweeps[sweeps.length - count] ?? 0;
    if (attention.jobs.size >= limits.SWEEP_PARTITIONS) return;
    const page = bucket.store.withTail(attention.tailCursor, limits.SWEEP_PARTITIONS);
    for (const { key, firstOperation } of page) {
      this.#attempt(attention, () => {
        const { operations, operationBytes, lastOperation } = bucket.store.state(key);
        const worth = operations >= limits.IDLE_OPERATIONS || operationBytes >= limits.IDLE_BYTES;
        if (worth && lastOperation <= quietSince(IDLE_SWEEPS)) this.#schedule(attention, key);
        // Whether it rests or not: what was removed is still in the segments below it.
        else if (firstOperation <= quietSince(limits.RESTING_SWEEPS)) this.#schedule(attention, key, "settle");
      });
    }
    attention.tailCursor = page.length < limits.SWEEP_PARTITIONS ? 0 : (page.at(-1)?.number ?? 0);
  }

  /** Joins small segments of partitions that rest, and drops what was removed whether they rest or not. */
  #sweepUnsettled(attention: Attention): void {
    this.#findUnsettled(attention);
    const { unsettled, jobs, bucket } = attention;
    let looks = 0;
    for (const [key, { sinceMs, hasDead }] of unsettled) {
      // From the oldest on, and no more of them than are soon done.
      if (clock.now() - sinceMs < limits.SETTLE_MS || jobs.size >= 2 * limits.SWEEP_PARTITIONS) return;
      if (jobs.has(key)) continue;
      if (++looks > limits.SWEEP_PARTITIONS) return;
      let job: Job | undefined;
      this.#attempt(attention, () => {
        if (hasDead || bucket.store.state(key).operations === 0) job = this.#schedule(attention, key, "settle");
      });
      if (job !== undefined) continue;
      // One that is busy, or fails, does not keep others waiting.
      unsettled.delete(key);
      unsettled.set(key, { sinceMs: clock.now(), hasDead });
    }
  }

  /** Takes note of what an earlier process may have left, or time made old, a few partitions at a time. */
  #findUnsettled(attention: Attention): void {
    if (attention.settleCursor === undefined && clock.now() - attention.settledMs >= limits.FORGET_MS) {
      [attention.settleCursor, attention.settledMs] = [0, clock.now()];
    }
    const { unsettled, settleCursor, bucket } = attention;
    if (settleCursor === undefined || unsettled.size >= limits.SWEEP_PARTITIONS) return;
    const page = bucket.store.from(settleCursor, limits.SETTLE_PARTITIONS);
    attention.settleCursor = page.length < limits.SETTLE_PARTITIONS ? undefined : (page.at(-1)?.number ?? 0) + 1;
    for (const { key } of page) {
      if (!unsettled.has(key)) unsettled.set(key, { sinceMs: clock.now(), hasDead: false });
    }
  }

  #sweepApplication(attention: Attention): void {
    if (attention.applicationCursor === undefined || attention.jobs.size >= 3 * limits.SWEEP_PARTITIONS) return;
    const page = attention.bucket.store.outdated(attention.applicationCursor, limits.SWEEP_PARTITIONS);
    // Some may have been at work for the application before: it is over when none is left.
    const isOver = page.length === 0 && attention.applicationCursor === 0;
    attention.applicationCursor = isOver ? undefined : (page.at(-1)?.number ?? 0);
    for (const { key } of page) this.#schedule(attention, key);
  }

  /** Deletes the segments of schemas that were removed: many partitions at a time, and no compaction meanwhile. */
  async #eraseOthers(attention: Attention): Promise<void> {
    const { bucket } = attention;
    const { stored } = this;
    if (stored === undefined || attention.erased === stored) return;
    attention.erased = stored;
    const erase = async (): Promise<void> => {
      for (let from: number | undefined = 0; from !== undefined; ) {
        // A later deployment begins anew.
        if (this.#stopped || !bucket.isOpen || this.stored !== stored) return;
        const begin: number = from;
        from = bucket.change((store) => store.eraseOthers(stored, begin, limits.ERASE_SEGMENTS), 1);
        await this.#options.turn();
      }
    };
    try {
      await this.alone(erase);
    } catch (error) {
      attention.erased = undefined;
      throw error;
    }
  }

  #sweepLog(attention: Attention): void {
    const { logBytes, keptBytes } = attention.bucket;
    const isDue = clock.now() - attention.checkpointMs >= limits.LOG_MS && logBytes + keptBytes > 0;
    if ((isDue || attention.erasedBlocks.isLogged) && !attention.checkpointDue) this.#checkpointLater(attention, true);
  }

  /** Each log is moved in a turn of its own: that waits for the device, and many may be due at once. */
  #checkpointLater(attention: Attention, truncate: boolean): void {
    const { turn, onProblem } = this.#options;
    attention.checkpointDue = true;
    this.#checkpoints = this.#checkpoints
      .then(turn)
      .then(() => this.#attempt(attention, () => this.#checkpoint(attention, truncate)))
      .catch(onProblem)
      .finally(() => {
        attention.checkpointDue = false;
      });
  }

  #checkpoint(attention: Attention, truncate: boolean): void {
    const isWhole = attention.bucket.checkpoint(truncate);
    if (truncate) attention.erasedBlocks.truncated(isWhole);
    attention.checkpointMs = clock.now();
  }
}
