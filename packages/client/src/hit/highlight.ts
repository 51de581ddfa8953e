/**
 * What matched in the texts that hits show, `text({ show: "bold" })` and `text({ show: "teaser" })`: as HTML in which everything
 * else is escaped, or as plain text and ranges. The server is asked to mark with control characters, which no document can have:
 * what looks like a mark in a document is text.
 */
import type { Hit as WireHit } from "@brooklet/wire";
import type { HighlightForm, TextRange } from "./marks.ts";

/** A text that hits show marked, and where. */
interface MarkedText {
  readonly text: string;
  readonly ranges: readonly TextRange[];
}

const [START, END, GAP] = ["\u0002", "\u0003", "\u001e"];
const CONTROLS = new RegExp(`[${START}${END}${GAP}]`, "g");
/** What stands where a teaser leaves something out. */
const ELLIPSIS = "…";
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** The fields of a hit with its `marked` texts as they are asked for, and where they are marked. */
export function withHighlights(
  marked: readonly string[],
  fields: NonNullable<WireHit["fields"]>,
  form: HighlightForm,
): { readonly fields: Readonly<Record<string, unknown>>; readonly highlights: Readonly<Record<string, unknown>> } {
  const highlights: Record<string, unknown> = {};
  const shown = Object.entries(fields).map(([name, value]) => {
    if (!marked.includes(name)) return [name, value];
    if (form === "html") return [name, ofTexts(value, htmlOf)];
    highlights[name] = ofTexts(value, (text) => markedText(text).ranges);
    return [name, ofTexts(value, (text) => markedText(text).text)];
  });
  return { fields: Object.fromEntries(shown), highlights };
}

/** The same of a text, or of each text of a list. What is neither is left as it is, for the codec to refuse. */
function ofTexts(value: unknown, make: (text: string) => unknown): unknown {
  if (Array.isArray(value)) return value.map((element) => ofTexts(element, make));
  return typeof value === "string" ? make(value) : value;
}

function htmlOf(text: string): string {
  const escaped = text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
  return escaped.replace(CONTROLS, (mark) => (mark === START ? "<mark>" : mark === END ? "</mark>" : ELLIPSIS));
}

function markedText(marked: string): MarkedText {
  const ranges: TextRange[] = [];
  let text = "";
  let start = 0;
  let from = 0;
  for (const { 0: mark, index } of marked.matchAll(CONTROLS)) {
    text += marked.slice(from, index);
    from = index + mark.length;
    if (mark === START) start = text.length;
    else if (mark === END) ranges.push({ start, end: text.length });
    else text += ELLIPSIS;
  }
  return { text: text + marked.slice(from), ranges };
}
