/** What a platform gives to those who serve partitions: turns, and somebody who looks after what nobody asks for. */
import type { FoldTogether } from "./maintenance/together.ts";

/** A platform's turns and timers. */
export interface Surroundings {
  /** Runs work when the events that arrived with this one were seen: what they write is one commit. */
  readonly schedule: (work: () => void) => void;
  /** Gives everyone else a turn: events that arrived, and the commits they led to. */
  readonly turn: () => Promise<void>;
  /**
   * Has `work` done every so many milliseconds, until what is returned is called. It keeps no process alive. A platform that
   * wakes its partitions otherwise, by an alarm, does nothing here.
   */
  readonly every: (milliseconds: number, work: () => void) => () => void;
  /** Folds small partitions of a bucket together, where a bucket has many; nothing: each is folded alone. */
  readonly foldTogether?: FoldTogether;
  /** Milliseconds of a monotonic clock that is the same in all threads of a process. */
  readonly sharedMs: () => number;
}
