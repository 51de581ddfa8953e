/** By which fields a model may filter, of a schema that is at hand as its file alone. Types are taken as they stand there; of times there is a comment. */
import type { Kind } from "./model-field.ts";

/** What a field is to a model. */
export type FieldKind = Kind;

const KINDS: Readonly<Record<string, FieldKind>> = {
  string: "text",
  bool: "truth",
  byte: "number",
  int: "number",
  long: "number",
  float: "number",
  double: "number",
};
/** What the SDK writes into a field that is a time, and what is read of it: no other file has the latter. */
const TIME = /^#\s*timestamp\(\)\s*$/;
const TIME_MARK = "#";
/** Comments, outside of texts in quotes. */
const COMMENT = /("(?:[^"\\\n]|\\.)*")|#[^\n]*/g;
const FIELD = /(?<![\w-])field\s+(\w+)\s+type\s+(\w+)\s*\{/g;
const INDEXING = /(?<![\w-])indexing\s*(?::([^\n}]*)|\{([^}]*)\})/;

/** Fields of one value that is held as a value, as a schema file has them: what is found by its words alone cannot be compared. */
export function kindsOf(file: string): ReadonlyMap<string, FieldKind> {
  const text = file.replace(COMMENT, (all, quoted) => quoted ?? (TIME.test(all) ? TIME_MARK : ""));
  const found = [...text.matchAll(FIELD)].flatMap(
    ({ 0: head, 1: name = "", 2: type = "", index }): [string, FieldKind][] => {
      const body = blockFrom(text, index + head.length);
      const stored = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined;
      const kind = stored === "number" && withoutTexts(body).includes(TIME_MARK) ? "date" : stored;
      const { 1: line, 2: block } = INDEXING.exec(body) ?? [];
      const script = line ?? block ?? "";
      const isWords = type === "string" && /\bindex\b/.test(script);
      return kind === undefined || isWords || !/\battribute\b/.test(script) ? [] : [[name, kind]];
    },
  );
  return new Map(found);
}

/** A script may have the mark in a text. */
function withoutTexts(body: string): string {
  return body.replace(/"(?:[^"\\\n]|\\.)*"/g, "");
}

/** What stands in a block, up to the brace that ends it. */
function blockFrom(text: string, start: number): string {
  let depth = 1;
  let end = start;
  while (end < text.length && depth > 0) {
    if (text[end] === "{") depth += 1;
    if (text[end] === "}") depth -= 1;
    end += 1;
  }
  return text.slice(start, end - 1);
}
