/** What a log is about, and what it is worked on with. */
import type { Framed } from "./log-object.ts";
import type { ObjectLog } from "./object-store.ts";

/** What a log is about: it holds what was applied, and can be begun anew. */
export interface Replica {
  /** Forgets everything, and begins with a snapshot or with nothing. */
  begin(snapshot: Framed | undefined): Promise<void>;
  /** There is a newer snapshot, of a state that was applied already: what is read from here on is read of that one. */
  rebase(snapshot: Framed | undefined): void;
  /** Applies what another wrote. */
  apply(records: Framed): Promise<void>;
  /**
   * Everything that was applied until now, taken in this turn; the promise settles when all that it names is stored. Nothing:
   * nothing changed since the last that was kept.
   */
  capture(): Promise<Framed> | undefined;
  /** A snapshot with what was captured is stored. What is stored and no longer named by it can go. */
  kept(): void;
}

/** How a log is worked on. */
export interface BucketLogOptions {
  readonly log: ObjectLog;
  /** The name of the log in the store. */
  readonly name: string;
  /** A name that no other process has, nor had. */
  readonly writer: string;
  readonly replica: Replica;
  /** Settles when the application of a number is served here, or another in its place; nothing: it is. */
  readonly settled?: (application: number) => Promise<void> | undefined;
  /** Waits before a request that failed is made again. */
  readonly pause: (attempt: number) => Promise<void>;
  /** Told of failures that no caller sees. */
  readonly onProblem: (error: unknown) => void;
  /** Bytes of the log after which a snapshot is taken; 16 MiB by default. */
  readonly snapshotBytes?: number;
}
