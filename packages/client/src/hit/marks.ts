/** Which texts hits show marked, how the server is asked to mark them, and the forms in which a program may have the marks. */
import type { FieldDefinition } from "../schema/field.ts";
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

/** Whether hits show texts of a schema marked. */
export function hasMarks(schema: AnySchema): boolean {
  return Object.values(schema.fields).some(({ definition }) => isMarked(definition));
}

/** Whether hits show a field marked. */
export function isMarked({ settings }: FieldDefinition): boolean {
  return settings.some((setting) => setting === "bolding: on" || setting === "summary: dynamic");
}
