/** How the buckets of a thread are maintained. */
import type { Engine } from "@brooklet/core";
import type { FoldTogether } from "./together.ts";

/** How maintenance is done. */
export interface MaintenanceOptions {
  readonly engine: Engine;
  /** How long it is known that a document was removed. */
  readonly keepRemovesSeconds: number;
  /** Bytes of a tail that takes no more before it is folded. */
  readonly tailBytesMax?: number;
  /** Gives everyone else a turn. */
  readonly turn: () => Promise<void>;
  /** Brings what is stored of a partition, where that is not all here, and holds it until what it gives is called. */
  readonly hold?: (key: string) => Promise<() => void>;
  /**
   * Waits until no other of those who share the core's memory writes segments, or this is not to be done any more; none does until
   * what it gives is called.
   */
  readonly enter?: (isOver: () => boolean) => Promise<() => void>;
  /** Folds small partitions together; nothing: each is folded alone. */
  readonly foldTogether?: FoldTogether;
  /** Told of every failure, for the operator's log. */
  readonly onProblem: (error: unknown) => void;
}
