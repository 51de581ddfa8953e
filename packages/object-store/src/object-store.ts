/**
 * The port of object storage: numbered logs of which each place is written once, a snapshot of each that is replaced only by who
 * read it, and files that never change. A driver is some hundred lines; `testObjectStore` is its contract.
 */

/** What came of a conditional write: it was done, or somebody else's is there. */
export type WriteOutcome = "won" | "taken";

/** A snapshot as it is stored, with what the store knows it by. */
export interface TaggedBytes {
  readonly bytes: Uint8Array;
  /** Another one after each replacement. */
  readonly tag: string;
}

/**
 * Logs of numbered objects. A call that throws leaves open whether it was done, now or later; one that says `taken` wrote nothing: a driver
 * does not make a conditional write again by itself.
 */
export interface ObjectLog {
  /** Writes a place unless something is there: of all who try, one wins. */
  append(log: string, place: number, bytes: Uint8Array): Promise<WriteOutcome>;
  read(log: string, place: number): Promise<Uint8Array | undefined>;
  /** Places from `place` on that hold something, ascending; as many as one call of the store gives. */
  after(log: string, place: number): Promise<readonly number[]>;
  /** Writes a place, whatever is there or is not. */
  overwrite(log: string, place: number, bytes: Uint8Array): Promise<void>;
  /** Removes a place; that nothing is there is no mistake. */
  remove(log: string, place: number): Promise<void>;
  snapshot(log: string): Promise<TaggedBytes | undefined>;
  /** Replaces the snapshot if it is still the one of `tag`; `undefined`: if there is none. */
  replaceSnapshot(log: string, bytes: Uint8Array, tag: string | undefined): Promise<WriteOutcome>;
}

/** Files that are written once under names nobody else has (letters, digits, `-`, `.`, `_` and `/`), and may be read in parts. */
export interface ObjectFiles {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Bytes `from` up to `to`, exclusive; all of them unless it is said. Nothing: there is no such file. */
  read(name: string, from?: number, to?: number): Promise<Uint8Array | undefined>;
  remove(name: string): Promise<void>;
  /** Names that begin with `prefix` and come after `after`, in order; as many as one call of the store gives. */
  names(prefix: string, after?: string): Promise<readonly string[]>;
}

/** Requests that were made, which is what a store of others bills. */
export interface ObjectStoreCosts {
  readonly puts: number;
  readonly gets: number;
  readonly lists: number;
  readonly removes: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
}

/**
 * Why a store says no to whatever it is asked, as a sentence for whoever can mend that; nothing: it may be asked again. Drivers say so in a
 * property of what they throw.
 */
export function refusalIn(error: unknown): string | undefined {
  return error instanceof Error ? (error as { readonly refusal?: string }).refusal : undefined;
}

/** A store of objects. */
export interface ObjectStore {
  readonly log: ObjectLog;
  readonly files: ObjectFiles;
  /** What was asked of it until now. */
  readonly costs: ObjectStoreCosts;
  /** Lets go of connections. */
  close?(): Promise<void>;
}

/** Counts what is asked of a store. */
export class Costs implements ObjectStoreCosts {
  puts = 0;
  gets = 0;
  lists = 0;
  removes = 0;
  bytesWritten = 0;
  bytesRead = 0;

  put(bytes: Uint8Array): void {
    this.puts += 1;
    this.bytesWritten += bytes.length;
  }

  got(bytes: Uint8Array | undefined): void {
    this.gets += 1;
    this.bytesRead += bytes?.length ?? 0;
  }
}
