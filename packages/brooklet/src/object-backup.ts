/**
 * Backups of an object: the platform keeps what its storage was at every moment of the last 30 days, and calls a moment a bookmark.
 * What is restored is all of the object's storage, its owner's tables too, and by the next session of the object.
 */
import { BrookletError } from "@brooklet/client";
import type { ObjectSqlStorage } from "@brooklet/store";

/** What is used of `ctx.storage`: its SQL, and its bookmarks, which not every storage has. */
export interface ObjectStorage extends ObjectSqlStorage {
  getCurrentBookmark?(): Promise<string>;
  getBookmarkForTime?(time: number | Date): Promise<string>;
  onNextSessionRestoreBookmark?(bookmark: string): Promise<string>;
}

/** A moment to which an object can be restored. Nothing is copied: it is a name for what the platform keeps anyway. */
export interface ObjectBackup {
  /** The platform's name for it: texts that sort as the moments do. */
  readonly bookmark: string;
  readonly takenAt: Date;
  /** Until when the platform can restore it. */
  readonly recoverableUntil: Date;
}

/** A restoration that the next session of the object begins with. */
export interface ObjectRestoration {
  /** What is restored. */
  readonly bookmark: string;
  /** What undoes it: the moment before. */
  readonly undo: string;
}

/** How long the platform can restore a moment. */
const RECOVERABLE_MS: number = 30 * 86_400_000;
const BOOKMARK_CHARACTERS_MAX = 1_000;

/** Storages that are restored when their session has ended: what is written to them until then is lost. */
const ending = new WeakSet<ObjectSqlStorage>();

/** Refuses a storage whose session has to end first. */
export function refuseEnding(storage: ObjectSqlStorage): void {
  if (typeof storage !== "object" || storage === null || !ending.has(storage)) return;
  const remedy = "end its session with ctx.abort(), and open it again";
  throw new BrookletError("CLOSED", `The object is being restored: ${remedy}`);
}

/** What calls are told of a database that was closed by a restoration: whether that failed afterwards, no call of it hears. */
export function closedError(): BrookletError {
  const remedy = "end its session with ctx.abort(), or openIn() it again where restore() failed";
  return new BrookletError("CLOSED", `The database was closed by restore(): ${remedy}`);
}

/** The moment that is now: everything that was acknowledged is in it. */
export async function backupOf(storage: ObjectStorage): Promise<ObjectBackup> {
  if (storage.getCurrentBookmark === undefined) throw unsupportedError();
  const bookmark = await platformAnswer(storage.getCurrentBookmark(), "The object cannot be backed up");
  const takenAt = new Date();
  return { bookmark, takenAt, recoverableUntil: new Date(takenAt.getTime() + RECOVERABLE_MS) };
}

/**
 * Has the next session of the object begin with what its storage was. `end` refuses what is asked from now on, and settles when
 * what was under way is done: a write that is acknowledged later would be lost.
 */
export async function restoreTo(
  storage: ObjectStorage,
  moment: ObjectBackup | string | Date,
  end: () => Promise<void>,
): Promise<ObjectRestoration> {
  const { onNextSessionRestoreBookmark } = storage;
  if (onNextSessionRestoreBookmark === undefined) throw unsupportedError();
  const bookmark = await bookmarkOf(storage, moment);
  ending.add(storage);
  await end();
  try {
    const undo = await platformAnswer(
      onNextSessionRestoreBookmark.call(storage, bookmark),
      `The object cannot be restored to ${bookmark}; it was left as it is, and the database closed: openIn() it again`,
    );
    return { bookmark, undo };
  } catch (error) {
    ending.delete(storage);
    throw error;
  }
}

async function bookmarkOf(storage: ObjectStorage, moment: ObjectBackup | string | Date): Promise<string> {
  if (moment instanceof Date) return await bookmarkAt(storage, moment);
  const bookmark: unknown = typeof moment === "string" ? moment : Object(moment).bookmark;
  if (typeof bookmark === "string" && bookmark !== "" && bookmark.length <= BOOKMARK_CHARACTERS_MAX) return bookmark;
  throw wrong("restore() takes what backup() gave, its bookmark, or a Date");
}

async function bookmarkAt(storage: ObjectStorage, time: Date): Promise<string> {
  const ageMs = Date.now() - time.getTime();
  if (Number.isNaN(ageMs)) throw wrong("restore() was given a Date that is none");
  if (ageMs < 0) throw wrong(`restore() cannot go to ${time.toISOString()}, which is to come`);
  if (ageMs > RECOVERABLE_MS)
    throw wrong(`restore() cannot go to ${time.toISOString()}: the platform keeps 30 days of an object`);
  if (storage.getBookmarkForTime === undefined) throw unsupportedError();
  return await platformAnswer(storage.getBookmarkForTime(time), `There is no bookmark for ${time.toISOString()}`);
}

/** What the platform answers, or its failure in our words. */
async function platformAnswer(answer: Promise<string>, failing: string): Promise<string> {
  try {
    return await answer;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new BrookletError("UNAVAILABLE", `${failing}: ${why}`, { cause: error });
  }
}

function wrong(message: string): BrookletError {
  return new BrookletError("INVALID_ARGUMENT", message);
}

function unsupportedError(): BrookletError {
  return new BrookletError(
    "UNSUPPORTED",
    "This storage has no point-in-time recovery: its class has to be one with SQLite",
  );
}
