/**
 * What may stand in the parts of a document id, `id:<namespace>:<type>:g=<group>:<local>`. The core reads ids by the same
 * rule (`crates/document/src/id.rs`); paths, clients and commands that make ids ask here, so that no door knows a name that
 * another does not.
 */

/** A part of an id that is a name. What is after them may be any text. */
export type DocumentNamePart = "namespace" | "document type" | "group";

/** What ends a part, and would move the rest of it into another one. */
const SEPARATORS: Readonly<Record<DocumentNamePart, RegExp>> = {
  namespace: /:/,
  "document type": /:/,
  group: /[:,]/,
};

/** Code points that no text of Vespa may contain: controls of ASCII but TAB, LF and CR, lone surrogates, and most noncharacters. */
const ILLEGAL = /(?![\t\n\r\x7f-\x9f\ufde0-\ufdef])[\p{Cc}\p{Cs}\p{NChar}]/u;

/** The first code point of a text that no document id may contain. */
export function illegalCodePoint(text: string): number | undefined {
  return ILLEGAL.exec(text)?.[0].codePointAt(0);
}

/** Why a text cannot be a part of a document id; nothing if it can. `/`, `\` and dots are letters like any others. */
export function documentNameProblem(part: DocumentNamePart, name: string): string | undefined {
  // From JavaScript it may be anything: what is not there would be a name that many have.
  if (typeof name !== "string") return `it is of type ${typeof name}, no text`;
  if (name === "") return "it is empty";
  const separator = SEPARATORS[part].exec(name)?.[0];
  if (separator !== undefined) return `it may not contain '${separator}'`;
  const illegal = illegalCodePoint(name);
  return illegal === undefined ? undefined : `it contains the illegal code point U+${hexadecimal(illegal)}`;
}

function hexadecimal(codePoint: number): string {
  return codePoint.toString(16).toUpperCase().padStart(4, "0");
}
