/** What a note is, and how a file of notes is read. */
import { array, facet, schema, string, text, timestamp } from "brooklet/browser";

/** One note. */
export const note = schema("note", {
  title: text(),
  body: text(),
  tags: array(string()),
  writtenAt: timestamp(),
});

/** What the page offers to narrow a search by. */
export const FACETS = { tags: facet("tags", { top: 12 }) };

/** A note as it is in a file. */
export interface FiledNote {
  readonly title: string;
  readonly body: string;
  readonly tags: string[];
  readonly writtenAt: Date;
}

const HEADING = /^#{1,6} +(?=\S)/;
const TAG = /(?<=^|\s)#([\p{L}\p{N}_-]+)/gu;
const DAY = /^\d{4}-\d\d-\d\d$/;

/**
 * The notes of a file of Markdown: each begins with a heading. Words with `#` are its tags, a line that is a day says when it was
 * written. A file without headings is one note.
 */
export function readNotes(file: string, name: string, otherwise: Date): FiledNote[] {
  const parts: { title: string; lines: string[] }[] = [];
  for (const line of file.split(/\r?\n/)) {
    if (HEADING.test(line)) parts.push({ title: line.replace(HEADING, "").trim(), lines: [] });
    else if (parts.length > 0) parts.at(-1)?.lines.push(line);
    else if (line.trim() !== "") parts.push({ title: name, lines: [line] });
  }
  return parts.map(({ title, lines }) => {
    const day = lines.find((line) => DAY.test(line.trim()))?.trim();
    const written = new Date(`${day}T12:00:00Z`);
    const rest = lines.filter((line) => line.trim() !== day).join("\n");
    const tags = [...rest.matchAll(TAG)].map(([, tag]) => (tag ?? "").toLowerCase());
    const body = rest.replace(TAG, "").trim();
    return { title, body, tags: [...new Set(tags)], writtenAt: Number.isNaN(written.getTime()) ? otherwise : written };
  });
}

/** An id that the same note has whenever it is imported. Without https there are no digests, and nothing outlives the page: any will do. */
export async function idOf({ title, writtenAt, body }: FiledNote): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([title, writtenAt, body]));
  const digest =
    crypto.subtle === undefined
      ? crypto.getRandomValues(new Uint8Array(12))
      : new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return [...digest.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
