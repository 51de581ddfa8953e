/**
 * Addresses in a text, put into code spans: there they can be read and copied, and no renderer makes links of them. Backticks that the
 * text has itself may take part in what is written (CommonMark 0.31.2, 6.1: a run of them opens a span that the next run of its length
 * closes, and is a text where there is none, or after a backslash): an address among such is broken by a space.
 */

/** How an address begins, or what a renderer takes for one. */
const BEGIN =
  /(?<![a-z])[a-z][a-z0-9+.-]{0,31}:\/\/|\/\/(?=[\w-]+\.)|(?<![a-z0-9])www(?=\.)|\b(?:javascript|data|vbscript|mailto|tel):/
    .source;
/** Where a space makes none of an address, nor of another one in it. */
const BREAK = /:\/\/|\/\/(?=[\w-]+\.)|(?<![a-z0-9])www(?=\.)|\b(?:javascript|data|vbscript|mailto|tel):/gi;
/** A run of backticks, an end of a line or of a table's cell, or an address. */
const MARK = new RegExp(
  `(?<run>\`+)|(?<end>\\r\\n|[\\r\\n])|(?<cell>\\|)|(?<begin>${BEGIN})(?<rest>[^\\s\`<>|"')\\]]+)`,
  "gi",
);
/** A full stop or comma after an address belongs to the sentence. */
const TRAIL = /[.,;:!?]*$/;

/** How many backticks opened the span that a text is in; 0: in none; `unsure`: it depends on what follows, or on where a block or a cell ends. */
type Span = number | "unsure";

/** Characters of an address at most that is waited for. */
const OPEN_MAX = 4_096;

/**
 * Where a text that comes in pieces stands, and what is written of the next. Each piece ends before or after a space, or within a word
 * of a script without spaces, which may be the middle of an address but of no beginning of one.
 */
export class QuotedAddresses {
  #span: Span = 0;
  #isLineEmpty = true;
  #isAfterReturn = false;
  #held = "";

  /** A piece, with its addresses quoted or broken. Where it is open, an address at its end is kept until it is complete. */
  write(added: string, isOpen: boolean): string {
    const text = this.#held + added;
    const end = isOpen ? closedLength(text) : text.length;
    this.#held = text.slice(end);
    return this.#write(text.slice(0, end));
  }

  #write(piece: string): string {
    let written = "";
    let at = 0;
    for (const found of piece.matchAll(MARK)) {
      const { run, end, cell, begin, rest } = found.groups ?? {};
      this.#pass(piece.slice(at, found.index));
      written += piece.slice(at, found.index);
      at = found.index + found[0].length;
      if (end === undefined) this.#pass(found[0]);
      if (end !== undefined) this.#endLine(end);
      if (cell !== undefined && this.#span !== 0) this.#span = "unsure";
      if (run !== undefined) this.#run(run.length, piece[found.index - 1] === "\\");
      const isAddress = begin !== undefined && rest !== undefined;
      written += isAddress ? this.#address(piece, found.index, begin, rest) : found[0];
    }
    this.#pass(piece.slice(at));
    return written + piece.slice(at);
  }

  /** Notes what of a line is no backtick. */
  #pass(text: string): void {
    if (text === "") return;
    this.#isAfterReturn = false;
    if (/\S/.test(text)) this.#isLineEmpty = false;
  }

  /** After a backslash a run may be a text, or after two of them none: they are not told apart. */
  #run(length: number, isEscaped: boolean): void {
    if (isEscaped) this.#span = "unsure";
    else if (this.#span === 0) this.#span = length;
    else if (this.#span === length) this.#span = 0;
  }

  /** An empty line ends all spans. A span that goes over the end of another is one, or a block ends there and it is none. */
  #endLine(end: string): void {
    // The second half of one end.
    if (this.#isAfterReturn && end === "\n") {
      this.#isAfterReturn = false;
      return;
    }
    if (this.#isLineEmpty) this.#span = 0;
    else if (this.#span !== 0) this.#span = "unsure";
    this.#isLineEmpty = true;
    this.#isAfterReturn = end === "\r";
  }

  #address(piece: string, at: number, begin: string, rest: string): string {
    const end = at + begin.length + rest.length;
    const trail = TRAIL.exec(rest)?.[0] ?? "";
    const isAlone = !/[`\\]/.test(piece[at - 1] ?? "") && (trail !== "" || piece[end] !== "`");
    if (isAlone && this.#span === 0) return `\`${begin}${rest.slice(0, rest.length - trail.length)}\`${trail}`;
    // The text has it in a span of its own.
    if (this.#span !== "unsure" && isEnclosed(piece, at, end, this.#span)) return begin + rest;
    return (begin + rest).replace(BREAK, "$& ");
  }
}

/** How much of a text is no address that may go on, nor a mark before one. */
function closedLength(text: string): number {
  const last = [...text.matchAll(MARK)].at(-1);
  const { begin } = last?.groups ?? {};
  if (last === undefined || begin === undefined || last.index + last[0].length < text.length) return text.length;
  let start = last.index;
  while (start > 0 && "`\\".includes(text.charAt(start - 1))) start -= 1;
  return text.length - start > OPEN_MAX ? text.length : start;
}

/** Whether what stands there is between two runs of so many backticks. */
function isEnclosed(piece: string, at: number, end: number, backticks: number): boolean {
  const before = /`+$/.exec(piece.slice(Math.max(0, at - backticks - 1), at))?.[0] ?? "";
  const after = /^`+/.exec(piece.slice(end, end + backticks + 1))?.[0] ?? "";
  return backticks > 0 && before.length === backticks && after.length === backticks;
}
