/**
 * What stands around the operations of a cluster whose partitions are not all in this process for good: it brings what an
 * operation needs before its turn, and holds its answer back until that is known to be true.
 */
import type { PartitionKey } from "./cluster.ts";

/** What an operation is about: partitions, or all that are in a bucket. */
export type GateTarget = { readonly keys: readonly PartitionKey[] } | { readonly bucket: number };

/** A gate. */
export interface Gate {
  /**
   * Does `work`, which reads or writes partitions, perhaps more than once if what it did before did not happen. What it yields
   * is given back when everybody may know it; after `timeoutMs` nobody waits any more.
   */
  pass<Result>(
    target: GateTarget,
    kind: "read" | "write",
    timeoutMs: number,
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Brings all of a partition for work that nobody waits for, and keeps it until what it gives is called. */
  hold(key: string): Promise<() => void>;
  /** Whether this process is to look after a bucket: whether documents are past their time, for one. */
  maintains(bucket: number): boolean;
}

/** A gate that is always open. */
export const OPEN_GATE: Gate = {
  pass: (_, __, ___, work) => work(),
  hold: async () => () => undefined,
  maintains: () => true,
};
