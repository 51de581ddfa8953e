/** What is written together: records that wait for their place, as many of them as one object of the log holds, and why they are not in it. */

/** A record that waits for its place. */
export interface Submitted {
  readonly value: unknown;
  readonly blobs: readonly Uint8Array[];
  /** Files that it names are stored when this settles. */
  readonly files?: Promise<void>;
}

/** Most of one object of the log. */
const OBJECT_BYTES = 4 << 20;
const OBJECT_RECORDS = 4_096;

/** Takes the oldest records off what waits; not more than are said, but one at least. */
export function takeBatch(pending: Submitted[], recordsMax: number): Submitted[] {
  const most = Math.min(OBJECT_RECORDS, recordsMax);
  let [count, bytes] = [0, 0];
  for (const { blobs } of pending) {
    bytes += blobs.reduce((sum, { length }) => sum + length, 0);
    if (count > 0 && (count === most || bytes > OBJECT_BYTES)) break;
    count += 1;
  }
  return pending.splice(0, count);
}

/** The records of an object, and their byte strings behind each other. */
export function joinBatch(batch: readonly Submitted[]): {
  readonly records: readonly unknown[];
  readonly blobs: readonly Uint8Array[];
} {
  const blobs: Uint8Array[] = [];
  const records = batch.map(({ value, blobs: own }) => {
    const first = blobs.length;
    blobs.push(...own);
    return { first, blobs: own.length, value };
  });
  return { records, blobs };
}

/** Why something that was submitted is not in the log, or perhaps is. */
export class Fenced extends Error {
  readonly outcome: "not_applied" | "unknown";

  /** `cause`: what was here of the bucket is lost by that; nothing: another gateway has taken it over. */
  constructor(outcome: "not_applied" | "unknown", cause?: unknown) {
    super(
      cause === undefined ? "another gateway has taken the bucket over" : "what was here of the bucket is lost",
      cause === undefined ? {} : { cause },
    );
    this.name = "Fenced";
    this.outcome = outcome;
  }
}
