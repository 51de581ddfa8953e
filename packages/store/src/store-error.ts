/** Why the store failed, in the kinds that its callers treat differently. */

/**
 * `full`: no space; nothing was changed. `io`: the device failed; what was being written may or may not be there.
 * `damaged`: the bytes are not what was written. `refused`: not ours, or not for this release; it was not touched.
 * `busy`: another process holds it. `closed`: it was let go of by who had it; nothing was changed. `spent`: whose machine it is lets
 * no more be done for now; nothing was changed. `large`: one value is longer than it takes; nothing was changed.
 */
export type StoreErrorKind = "full" | "io" | "damaged" | "refused" | "busy" | "closed" | "spent" | "large";

/** A failure of the store. The message is the operator's: it may name files, never documents. */
export class StoreError extends Error {
  readonly kind: StoreErrorKind;

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}

/**
 * The failure of what is at a place, which is named in it, also where SQLite and the system did not; what is neither's is a defect, and passes as
 * it is.
 */
export function storeErrorAt(place: string, error: unknown): unknown {
  const { syscall, code, message } = error as { syscall?: unknown; code?: unknown; message: string };
  const isNamed = error instanceof StoreError ? message.includes(place) : typeof syscall !== "string";
  if (isNamed) return error;
  const kind = error instanceof StoreError ? error.kind : code === "ENOSPC" ? "full" : "io";
  return new StoreError(kind, `${place} cannot be used: ${message}`, error);
}

const KINDS: readonly (readonly [prefix: string, kind: StoreErrorKind])[] = [
  ["SQLITE_FULL", "full"],
  ["SQLITE_TOOBIG", "large"],
  // What a log has in memory is a file, which has to grow.
  ["SQLITE_IOERR_SHMSIZE", "full"],
  ["SQLITE_IOERR", "io"],
  ["SQLITE_CANTOPEN", "io"],
  ["SQLITE_READONLY", "io"],
  ["SQLITE_PERM", "io"],
  ["SQLITE_NOMEM", "io"],
  ["SQLITE_CORRUPT", "damaged"],
  ["SQLITE_NOTADB", "damaged"],
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
];

/** The failure that SQLite's result code (`SQLITE_IOERR_FSYNC`) stands for; other errors are defects and pass as they are. */
export function storeError(code: string, cause: unknown): unknown {
  const kind = KINDS.find(([prefix]) => code.startsWith(prefix))?.[1];
  return kind === undefined
    ? cause
    : new StoreError(kind, `${code}: ${cause instanceof Error ? cause.message : cause}`, cause);
}
