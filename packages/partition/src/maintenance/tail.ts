/** When a tail is folded, and what that took. */
import type { PartitionState } from "@brooklet/store";
import { clock } from "../clock.ts";
import { FOLD_BYTES, FOLD_OPERATIONS } from "../limits.ts";

/** Whether a tail is worth folding while more is being written. */
export function isLong({ operations, operationBytes }: PartitionState): boolean {
  return operations >= FOLD_OPERATIONS || operationBytes >= FOLD_BYTES;
}

/** What is known of a partition whose segments changed. */
export interface Unsettled {
  /** When the segments changed: the first time that left removed documents in them, or else the last time. */
  readonly sinceMs: number;
  /** Segments hold documents that were removed or replaced: their bytes have to go, whether or not it is quiet. */
  readonly hasDead: boolean;
}

/** Tails that were folded, and segments that were rewritten. */
export class FoldTally {
  folds = 0;
  foldMs = 0;
  failed = 0;

  /** What began at a time of this thread's clock is over. */
  took(startMs: number): void {
    this.foldMs += clock.now() - startMs;
  }
}
