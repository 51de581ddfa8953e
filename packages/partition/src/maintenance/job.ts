/** A compaction that is queued, and who waits for it. */
import type { Bucket } from "@brooklet/store";

/** A compaction of a partition. */
export interface Job {
  readonly bucket: Bucket;
  readonly key: string;
  readonly reason: "fold" | "settle";
  readonly done: Promise<void>;
  readonly settle: (error?: unknown) => void;
}

/** A job that nobody has done yet. */
export function jobOf(bucket: Bucket, key: string, reason: Job["reason"]): Job {
  const { promise, resolve, reject } = withResolvers();
  // Most jobs have nobody waiting for them; their failure was told to the operator.
  promise.catch(() => undefined);
  return { bucket, key, reason, done: promise, settle: (error) => (error === undefined ? resolve() : reject(error)) };
}

function withResolvers(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let [resolve, reject]: [() => void, (error: unknown) => void] = [() => undefined, () => undefined];
  const promise = new Promise<void>((onResolve, onReject) => {
    [resolve, reject] = [onResolve, onReject];
  });
  return { promise, resolve, reject };
}
