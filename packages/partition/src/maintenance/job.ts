/** A compaction that is queued, and who waits for it. */
import type { Bucket } from "@brooklet/store";

/** A compaction of a partition. */
export interface Job {
  readonly bucket: Bucket;
  readonly key: string;
  readonly reason: "fold" | "settle";
  readonly done: Promise<void>;
  readonly settle: (error?: unknown) => void;
  /** Somebody waits for it. */
  isAwaited: boolean;
  /** It is done by itself: with others it came to nothing. */
  isAlone: boolean;
}

/** A job that nobody has done yet. */
export function jobOf(bucket: Bucket, key: string, reason: Job["reason"]): Job {
  let settle: Job["settle"] = () => undefined;
  const done = new Promise<void>((resolve, reject) => {
    settle = (error) => (error === undefined ? resolve() : reject(error));
  });
  // Most jobs have nobody waiting for them; their failure was told to the operator.
  done.catch(() => undefined);
  return { bucket, key, reason, done, settle, isAwaited: false, isAlone: false };
}
