/** When tails are folded and logs emptied. The limits of documents and queries are the core's, not written here. */

/** A tail of this length is folded into a segment, off the path of requests. */
export const FOLD_OPERATIONS = 256;
export const FOLD_BYTES: number = 1 << 20;

/** A tail of this length takes no more before it is folded: a search reads it all. */
export const TAIL_OPERATIONS_MAX = 4_096;
export const TAIL_BYTES_MAX: number = 32 << 20;

/** A tail worth a segment is folded when nothing was written to it for a while … */
export const IDLE_MS = 5_000;
export const IDLE_OPERATIONS = 32;
export const IDLE_BYTES: number = 64 << 10;

/** … and any tail in time to erase what was removed within a minute. */
export const RESTING_MS = 30_000;

/** How often tails are looked at, and how many in one look. */
export const SWEEP_MS = 1_000;
export const SWEEP_PARTITIONS = 64;

/** One slice of maintenance: about what a request waits for it. */
export const SLICE_MS = 4;

/** Committed bytes after which the log is moved to the file. */
export const LOG_BYTES: number = 8 << 20;

/** A log with something in it is emptied after this time, so that removed bytes do not stay in it. */
export const LOG_MS = 20_000;

/** Waiting after maintenance of a partition failed: the first and the longest time. */
export const RETRY_MS = 1_000;
export const RETRY_MAX_MS = 60_000;
