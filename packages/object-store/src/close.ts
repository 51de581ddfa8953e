/** How a cluster is closed whose store may not answer: what was acknowledged is in the log, and the rest is not waited for without end. */
import { StoreError } from "@brooklet/store";
import type { BucketLog } from "./bucket-log.ts";
import type { BucketReplica } from "./bucket-replica.ts";
import { inTime } from "./outcomes.ts";

/** How long a step of closing takes at most, unless somebody says otherwise. */
const CLOSE_MS = 10_000;

/** Waits for one step; why it was not done, or not in time, is told. */
export async function closeInTime(
  step: Promise<unknown>,
  closeMs: number | undefined = CLOSE_MS,
  onProblem: (problem: unknown) => void = () => undefined,
): Promise<void> {
  const late = (): Error => new StoreError("io", "the object store does not answer: it is not waited for any more");
  await inTime(step, closeMs, late).catch(onProblem);
}

/** Settles when nothing is asked of the store any more for a bucket. */
export async function closeBucket(bucket: { readonly log: BucketLog; readonly replica: BucketReplica }): Promise<void> {
  await bucket.log.close();
  // Whoever owns the bucket looks for what is left.
  await bucket.replica.removed().catch(() => undefined);
}
