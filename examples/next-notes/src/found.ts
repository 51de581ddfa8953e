/** What a search of notes gives, with its types. */
import { BrookletError, type Group } from "@brooklet/client";
import { note, searchOf, type Wanted } from "./note.ts";

/** Searches the notes of a group. */
export async function findNotes(group: Group, wanted: Wanted) {
  return await group.search(note, searchOf(wanted));
}

/** Its answer. */
export type Found = Awaited<ReturnType<typeof findNotes>>;

/** What whoever searches got wrong, to be told to them. Anything else is a failure of this server, and is thrown. */
export function refusalOf(error: unknown): string {
  if (BrookletError.is(error) && (error.code === "INVALID_ARGUMENT" || error.status === 400)) return error.message;
  throw error;
}
