/**
 * Which messages the pages of a database and its worker understand. Pages that are open at once may have loaded different versions of this
 * package: a page may be days old when another is opened after a release.
 */
import { BrookletError } from "@brooklet/client";

/** Raised when a message means something else than before, or a new one has to be understood. Envelopes and `start` stay as they are. */
export const PROTOCOL = 1;

/** The error of a page that another cannot understand; without a number it is from before there were any. */
export function otherVersion(theirs: number | undefined): BrookletError {
  const message = isOlder(theirs)
    ? "Another page has the database open with an older version of brooklet: reload that page, or close it"
    : "Another page has the database open with a newer version of brooklet: reload this page";
  return new BrookletError("CANNOT_START", message);
}

/** The same of a page and its own worker, whose script may be loaded long after the page. */
export function otherScript(): BrookletError {
  return new BrookletError(
    "CANNOT_START",
    "The worker's script is of another version of brooklet than the page: reload the page, and serve both of one version",
  );
}

/** What a page is told that keeps a newer one from the database. */
export function keepsOut(): BrookletError {
  return new BrookletError(
    "CANNOT_START",
    "A page with a newer version of brooklet wants the database, which this page has: reload this page",
  );
}

/** Whether what was said comes of an older version than this. */
export function isOlder(theirs: number | undefined): boolean {
  return theirs === undefined || theirs < PROTOCOL;
}
