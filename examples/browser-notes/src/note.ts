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

/** How much of a file is read before the page may do something else. */
const PIECE_BYTES = 1 << 20;

/** A note whose lines are being read. */
interface Part {
  readonly title: string;
  readonly lines: string[];
}

/**
 * The notes of a file of Markdown: each begins with a heading. Words with `#` are its tags, a line that is a day says when it was
 * written. A file without headings is one note. `goesOn` is told how many bytes were read, and says whether more are wanted.
 */
export async function readNotes(
  file: Blob,
  name: string,
  otherwise: Date,
  goesOn: (bytes: number) => boolean = () => true,
): Promise<FiledNote[]> {
  const notes: FiledNote[] = [];
  let part: Part | undefined;
  const end = (): void => {
    if (part !== undefined) notes.push(noteOf(part, otherwise));
  };
  const take = (line: string): void => {
    if (HEADING.test(line)) {
      end();
      part = { title: line.replace(HEADING, "").trim(), lines: [] };
    } else if (part !== undefined) part.lines.push(line);
    else if (line.trim() !== "") part = { title: name, lines: [line] };
  };
  const decoder = new TextDecoder();
  // What was read of a line that is not whole yet.
  let begun: string[] = [];
  for (let at = 0; at < file.size && goesOn(at); at += PIECE_BYTES) {
    const bytes = new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer());
    if (bytes.includes(0)) throw new Error(`${name} is no text: nothing of it was imported.`);
    const piece = decoder.decode(bytes, { stream: true });
    const whole = piece.lastIndexOf("\n");
    if (whole >= 0) [...begun, piece.slice(0, whole)].join("").split(/\r?\n/).forEach(take);
    begun = whole >= 0 ? [piece.slice(whole + 1)] : [...begun, piece];
  }
  take([...begun, decoder.decode()].join(""));
  end();
  return notes;
}

function noteOf({ title, lines }: Part, otherwise: Date): FiledNote {
  const day = lines.find((line) => DAY.test(line.trim()))?.trim();
  const written = new Date(`${day}T12:00:00Z`);
  const rest = lines.filter((line) => line.trim() !== day).join("\n");
  const tags = [...rest.matchAll(TAG)].map(([, tag]) => (tag ?? "").toLowerCase());
  const body = rest.replace(TAG, "").trim();
  return { title, body, tags: [...new Set(tags)], writtenAt: Number.isNaN(written.getTime()) ? otherwise : written };
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
