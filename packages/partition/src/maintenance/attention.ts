/** What maintenance knows of a bucket. */
import type { Bucket } from "@brooklet/store";
import type { ErasedBlocks } from "../upkeep/erased-blocks.ts";
import type { FreeSpace } from "../upkeep/free-space.ts";
import type { Job } from "./job.ts";
import type { Unsettled } from "./tail.ts";

interface Retry {
  readonly atMs: number;
  readonly waitMs: number;
  /** Why it failed, for those who ask before it is tried again. */
  readonly error: unknown;
}

/** What is known of one bucket beside what it stores. */
export interface Attention {
  readonly bucket: Bucket;
  /** The last operation of the bucket at each of the latest sweeps: how quiet a tail is, without a clock for each. */
  readonly sweeps: number[];
  readonly retries: Map<string, Retry>;
  /** Partitions whose segments changed and were not settled since, the oldest first: they may be small, or hold removed documents. */
  readonly unsettled: Map<string, Unsettled>;
  readonly erasedBlocks: ErasedBlocks;
  readonly freeSpace: FreeSpace;
  jobs: Map<string, Job>;
  tailCursor: number;
  /** Next partition to be settled that an earlier process may have left; `undefined`: all were seen. */
  settleCursor: number | undefined;
  /** When all partitions were looked through the last time. */
  settledMs: number;
  /** Next partition to compare with the deployed application; `undefined`: all are as it wants them. */
  applicationCursor: number | undefined;
  /** Segments of schemas that were removed are being deleted, or were. */
  erased: readonly string[] | undefined;
  checkpointMs: number;
  checkpointDue: boolean;
}
