/** What a search of notes gives, with its types. */
import type { Group } from "@brooklet/client";
import { note, searchOf, type Wanted } from "./note.ts";

/** Searches the notes of a group. */
export function findNotes(group: Group, wanted: Wanted) {
  return group.search(note, searchOf(wanted));
}

/** Its answer. */
export type Found = Awaited<ReturnType<typeof findNotes>>;
