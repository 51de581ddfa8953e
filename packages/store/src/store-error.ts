/** Why the store failed, in the kinds that its callers treat differently. */

/**
 * `full`: no space; nothing was changed. `readonly`: the device can only be read; nothing was changed. `io`: the device failed; what was being written may or may not be there.
 * `damaged`: the bytes are not what was written. `refused`: not ours, or not for this release; it was not touched.
 * `busy`: another process holds it. `closed`: it was let go of by who had it; nothing was changed. `spent`: whose machine it is lets
 * no more be done for now; nothing was changed. `large`: one value is longer than it takes; nothing was changed.
 */
export type StoreErrorKind = "full" | "readonly" | "io" | "damaged" | "refused" | "busy" | "closed" | "spent" | "large";

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
  const { message } = error as Error;
  if (error instanceof StoreError)
    return message.includes(place) ? error : new StoreError(error.kind, `${place} cannot be used: ${message}`, error);
  const failed = error as { syscall?: unknown; code?: unknown; errno?: unknown };
  if (typeof failed.syscall !== "string") return error;
  return new StoreError(kindOf(failed), `${place} cannot be used: ${message}`, error);
}

/** What the system says where a path leads to no file that could be read. */
const NO_FILE = new Set<unknown>(["ENOENT", "ENOTDIR", "EISDIR"]);

/**
 * What it is that the system did not do with a file that has to be there: no descriptor was left, a right is missing, the device fails. Nothing
 * where there is no such file, nor for what is no failure of the system's.
 */
export function systemFailure(error: unknown): SystemKind | undefined {
  const failed = Object(error) as { syscall?: unknown; code?: unknown; errno?: unknown };
  return typeof failed.syscall !== "string" || NO_FILE.has(failed.code) ? undefined : kindOf(failed);
}

type SystemKind = Extract<StoreErrorKind, "full" | "readonly" | "io">;

/** A quota that is used up, for which Node has no name: on Linux, and on macOS. */
const QUOTA = new Set<unknown>([-122, -69]);

/** What kind of failure the system means; that a file may not be so long is none of the device either. */
function kindOf({ code, errno }: { readonly code?: unknown; readonly errno?: unknown }): SystemKind {
  if (code === "ENOSPC" || code === "EFBIG" || QUOTA.has(errno)) return "full";
  return code === "EROFS" ? "readonly" : "io";
}

/** Whether a device did not take what was written, for which SQLite has one code, whatever the reason. Nothing of it is there. */
export function isUntaken(error: unknown): boolean {
  return error instanceof StoreError && error.message.includes("SQLITE_IOERR_WRITE");
}

const KINDS: readonly (readonly [prefix: string, kind: StoreErrorKind])[] = [
  ["SQLITE_FULL", "full"],
  ["SQLITE_TOOBIG", "large"],
  // What a log has in memory is a file, which has to grow.
  ["SQLITE_IOERR_SHMSIZE", "full"],
  ["SQLITE_IOERR", "io"],
  ["SQLITE_CANTOPEN", "io"],
  // With more to its name it is said of what was to be read: a log that is not there yet, a file that was moved.
  ["SQLITE_READONLY_", "io"],
  ["SQLITE_READONLY", "readonly"],
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
  if (kind === undefined) return cause;
  const text = `${cause instanceof Error ? cause.message : cause}`;
  // SQLite has one sentence for all that a device may fail in.
  const message = kind === "full" ? text.replace("disk I/O error", "database or disk is full") : text;
  return new StoreError(kind, `${code}: ${message}`, cause);
}
