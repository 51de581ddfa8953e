/** What a note is, and what is asked of them: the same at both ends. */
import { array, facet, schema, string, text, timestamp } from "@brooklet/client";

/** One note. */
export const note = schema("note", {
  title: text(),
  body: text(),
  tags: array(string()),
  writtenAt: timestamp(),
});

/** What is looked for. */
export interface Wanted {
  /** Words, of which the last may be begun only. */
  readonly words: string;
  /** A tag that notes have to have; empty: any. */
  readonly tag: string;
}

/** The search of a page: without words the newest come first. */
export function searchOf({ words, tag }: Wanted) {
  return {
    ...(words.trim() === "" ? { orderBy: "writtenAt desc" as const } : { text: { query: words, asYouType: true } }),
    ...(tag === "" ? {} : { where: note.conditions.tags.is(tag) }),
    facets: { tags: facet("tags", { top: 12 }) },
    limit: 30,
  };
}
