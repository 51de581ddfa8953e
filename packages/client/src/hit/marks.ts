/** Which texts hits show marked, how the server is asked to mark them, and the forms in which a program may have the marks. */
import type { AnySchema } from "../schema/schema.ts";

/** A part of a text, in UTF-16 units as strings of JavaScript have them: `text.slice(start, end)`. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * How hits tell what matched in the texts that they show bold or as teasers. `html`: those texts are HTML, with `<mark>` around it
 * and everything else escaped. `ranges`: they are plain texts, and `hit.highlights` says where it is.
 */
export type HighlightForm = "html" | "ranges";

/** Asks for marks that are in no document. */
export const CONTROL_MARKS: Readonly<Record<string, unknown>> = { "brooklet.controlMarks": true };

/** The fields of a schema that hits show marked. */
export function markedFields({ fields }: AnySchema): readonly string[] {
  const isMark = (setting: string): boolean => setting === "bolding: on" || setting === "summary: dynamic";
  return Object.keys(fields).filter((name) => fields[name]?.definition.settings.some(isMark));
}
