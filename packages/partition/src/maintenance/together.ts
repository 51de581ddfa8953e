/**
 * Folds several small partitions of a bucket in one commit, which is nearly all that the fold of one takes. They are computed one after
 * the other and held, few of them and little; before the commit each is looked at again.
 */
import { TOGETHER_BYTES, TOGETHER_PARTITIONS, TOGETHER_SEGMENT_BYTES, TOGETHER_TAIL_BYTES } from "../limits.ts";
import type { Attention } from "./attention.ts";
import { bytesOf, type Compacted, type Compactor, isWhole } from "./compactor.ts";
import type { Job } from "./job.ts";

/** What becomes of the jobs, and which there are. */
export interface TogetherOptions {
  readonly compactor: Compactor;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Takes the one of those that wait whose place is told; nothing too where what is held is to wait for none. */
  readonly take: (placeIn: (queue: readonly Job[]) => number) => Job | undefined;
  /** One is done; whether that changed anything. */
  readonly done: (job: Job, isChanged: boolean) => void;
  readonly failed: (job: Job, error: unknown) => void;
  /** One is to be done by itself: it is no more what it was, has more than one change, or could not be committed with the others. */
  readonly apart: (job: Job) => void;
  /** Told of a commit that failed, of which each job shows by itself whether it was the reason. */
  readonly onProblem: (error: unknown) => void;
}

/** How small partitions are folded together, where buckets have many: a platform whose buckets have one goes without. */
export interface FoldTogether {
  readonly isSmall: (job: Job) => boolean;
  readonly fold: (attention: Attention, first: Job, options: TogetherOptions) => Promise<void>;
}

/** In one commit. */
export const foldTogether: FoldTogether = { isSmall, fold };

/** Folds a partition, and with it those that may be committed together with it. Never rejects. */
async function fold(attention: Attention, first: Job, options: TogetherOptions): Promise<void> {
  const { compactor, turn, take, failed } = options;
  const held: Compacted[] = [];
  let [begun, bytes, firstFreeSegment] = [0, 0, attention.bucket.store.firstFreeSegment];
  for (let job: Job | undefined = first; job !== undefined; ) {
    begun += 1;
    try {
      const compacted = await compactor.compute(job, { firstFreeSegment });
      if (compacted === undefined) options.done(job, false);
      else held.push(compacted);
      // Nothing else takes numbers of segments until these are committed.
      for (const { number } of compacted?.change?.newSegments ?? [])
        firstFreeSegment = Math.max(firstFreeSegment, number + 1);
      bytes += bytesOf(compacted?.change);
    } catch (error) {
      failed(job, error);
    }
    const isFull = held.length === 0 || begun >= TOGETHER_PARTITIONS || bytes >= TOGETHER_BYTES;
    if (!isFull) await turn();
    const jobs = held.map((one) => one.job);
    job = isFull ? undefined : take((queue) => besideIn(queue, jobs));
  }
  commit(attention, held, options);
}

function commit(attention: Attention, held: readonly Compacted[], options: TogetherOptions): void {
  const { compactor, done, failed, apart } = options;
  const current = held.filter((one) => {
    try {
      if (isCurrent(compactor, one)) return true;
      apart(one.job);
    } catch (error) {
      failed(one.job, error);
    }
    return false;
  });
  const [only] = current;
  if (only === undefined) return;
  try {
    if (current.length > 1) commitAll(compactor, attention, current);
    else compactor.commit(attention, only);
  } catch (error) {
    if (current.length === 1) failed(only.job, error);
    else {
      options.onProblem(error);
      for (const { job } of current) apart(job);
    }
    return;
  }
  for (const { job, change } of current) {
    if (change?.hasMore === true) apart(job);
    else done(job, change !== undefined);
  }
}

/** Whether a partition is still what it was when it was read, but for operations that came since. */
function isCurrent(compactor: Compactor, { job: { bucket, key }, store, state }: Compacted): boolean {
  if (!compactor.opens(bucket, store)) return false;
  const { number, layout } = store.state(key);
  return number === state.number && layout === state.layout;
}

/** Commits what several partitions of a bucket are compacted to, all or none of them. */
function commitAll(compactor: Compactor, attention: Attention, all: readonly Compacted[]): void {
  const stored = all
    .map((one) => ({ key: one.job.key, change: one.change, wholly: isWhole(one) }))
    .filter(({ change, wholly }) => change !== undefined || wholly);
  const bytes = all.reduce((sum, { change }) => sum + bytesOf(change), 0);
  if (stored.length > 0) attention.bucket.change((it) => it.commitAll?.(stored), Math.max(bytes, 1));
  for (const one of all) compactor.done(attention, one.job.key, one);
  compactor.committed(attention);
}

/**
 * Where the next one is that may be committed with what is held; -1: there is none. What somebody waits for is before all others, and
 * once it is held only what somebody waits for is done with it.
 */
function besideIn(queue: readonly Job[], held: readonly Job[]): number {
  const isAwaited = queue[0]?.isAwaited === true || held.some((job) => job.isAwaited);
  const at = isAwaited ? 0 : queue.findIndex(({ bucket }) => bucket === held[0]?.bucket);
  const job = queue[at];
  if (job === undefined || job.bucket !== held[0]?.bucket || (isAwaited && !job.isAwaited)) return -1;
  return isSmall(job) ? at : -1;
}

/** Whether what comes of a job is so small that others may wait for it, and for its commit. */
function isSmall({ bucket, key, isAlone }: Job): boolean {
  try {
    const { store } = bucket;
    if (isAlone || store.commitAll === undefined) return false;
    if (store.state(key).operationBytes > TOGETHER_TAIL_BYTES) return false;
    return store.isWithin?.(key, TOGETHER_SEGMENT_BYTES) === true;
  } catch {
    // What is damaged is told by itself.
    return false;
  }
}
