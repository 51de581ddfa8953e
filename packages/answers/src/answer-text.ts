/**
 * The text of an answer as it may be shown: citations checked, and nothing in it that a renderer of Markdown or HTML would
 * fetch or run. It comes in pieces, cut anywhere; what a piece leaves open is kept until it is clear, within a limit.
 *
 * `[3]` and `[1, 3]` are citations: of numbers without a passage, only the others stay. `【3】`, `［3］` and `【3†title】`, as some models
 * write, are read as `[3]`. Images become their description,
 * links their text, tags vanish, and an address that stands for itself is put into a code span, so that it can be read
 * and copied but leads nowhere.
 */

import { QuotedAddresses } from "./quoted-addresses.ts";

/** A piece of an answer that nothing that follows can change. */
export interface AnswerPiece {
  readonly text: string;
  /** Numbers cited in it, in their order. */
  readonly cited: readonly number[];
  /** Citations that were taken out of it, as they were written. */
  readonly removed: readonly string[];
}

/** Characters kept back at most: what is still open then is no link or tag of honest use. */
const HELD_MAX = 2_048;
const DEPTH_MAX = 8;
const CITATION = /^\s*\d+(?:\s*[,;–-]\s*\d+)*\s*$/;
/** A citation that the end of an answer cut off: whether its last number is whole is not known. */
const CUT_CITATION = /^\[\s*\d+(?:\s*[,;–-]\s*\d*)*\s*$/;
const CUT_CITATION_MAX = 100;
/** A citation in wide brackets, to its end or to that of the text. */
const WIDE_CITATION = /[【［]\s?(\d[\d\s,;，；、–-]*)?(?:†[^】］\n]{0,99})?([】］]|$)/g;
/** A tag, a comment, a declaration, or an address in angle brackets. */
const TAG_BEGIN = /^<[a-z/!?]/i;
/** An address in angle brackets (CommonMark 0.31.2, 6.5). */
const ADDRESS_INSIDE = /^[a-z][a-z0-9+.-]*:[^\s<>]*$/i;
/**
 * Where a space has to go, after what was taken out or has no end: a sign and what would make a tag of it, a bracket and what would make
 * a link or the target of links of it.
 */
const JOINT = /<(?=[a-z/!?])|\](?=[(:])/i;
const JOINTS: RegExp = new RegExp(JOINT, "gi");

/** The end of a piece of a word, in scripts that have no spaces: no address and no citation begins before it and goes on after it. */
const UNSPACED_END = /[\u0E00-\u1FFF\u3001-\uD7FF\uDC00-\uFFFF]$/;

/** What may come after a citation that is at the end of a word. */
const WORD_END = /^[.,;:!?)]*(?:\s|$)/;

/** Checks one answer. */
export class AnswerText {
  readonly #isPassage: (number: number) => boolean | Promise<boolean>;
  readonly #addresses = new QuotedAddresses();
  /** The end of what came, which may become a citation in wide brackets. */
  #wide = "";
  #held = "";
  /** The last character that was given out. */
  #last = "";

  /** `isPassage` says whether there is a passage of that number, now. */
  constructor(isPassage: (number: number) => boolean | Promise<boolean>) {
    this.#isPassage = isPassage;
  }

  /** Takes a piece of the model's text; gives what nothing can change any more. */
  async push(piece: string): Promise<AnswerPiece> {
    this.#held += this.#narrow(piece, false);
    return this.#take(false);
  }

  /** The rest. */
  async finish(): Promise<AnswerPiece> {
    this.#held += this.#narrow("", true);
    return this.#take(true);
  }

  /** Citations in wide brackets as they are in others; what may become one is kept back. */
  #narrow(piece: string, isLast: boolean): string {
    const text = this.#wide + piece;
    this.#wide = "";
    return text.replace(WIDE_CITATION, (whole: string, numbers: string | undefined, end: string) => {
      if (end === "" && !isLast && whole.length < HELD_MAX) {
        this.#wide = whole;
        return "";
      }
      return numbers === undefined ? whole : `[${numbers.replace(/[，；、]/g, ",")}${end && "]"}`;
    });
  }

  async #take(isLast: boolean): Promise<AnswerPiece> {
    const cut = isLast ? cutCitation(this.#held) : "";
    const end = isLast ? this.#held.length - cut.length : closedLength(this.#held);
    const ready = this.#held.slice(0, end);
    this.#held = isLast ? "" : this.#held.slice(end);
    const writer = new Writer(this.#isPassage, this.#last);
    await writer.write(ready, 0);
    const { text, cited, removed } = writer;
    this.#last = text.at(-1) ?? this.#last;
    const isOpen = !isLast && !/\s$/.test(ready) && !/^\s/.test(this.#held);
    // A word too long to be kept back is two: no address comes together from the end of a piece and the begin of the next.
    const isWordCut = isOpen && ready !== "" && !UNSPACED_END.test(ready);
    const shown = this.#addresses.write(isWordCut ? `${text} ` : text, isOpen);
    return { text: shown, cited, removed: cut === "" ? removed : [...removed, cut.trim()] };
  }
}

/** The citation, with the spaces before it, that a text ends in without closing it. */
function cutCitation(text: string): string {
  const at = text.lastIndexOf("[");
  if (at < 0 || text.length - at > CUT_CITATION_MAX || !CUT_CITATION.test(text.slice(at))) return "";
  return text.slice(text.slice(0, at).trimEnd().length);
}

/** How much of a text cannot be changed by what follows it but for an address at its end: up to a space before a word, and not within a construct. */
function closedLength(text: string): number {
  const constructs: { readonly start: number; readonly end: number }[] = [];
  let open = text.length;
  for (let at = nextMark(text, 0); at >= 0; ) {
    const end = endOfConstruct(text, at);
    // What was kept back for too long is taken as it stands.
    if (end < 0 && text.length - at <= HELD_MAX) {
      open = at;
      break;
    }
    if (end > at + 1) constructs.push({ start: at, end });
    at = nextMark(text, Math.max(end, at + 1));
  }
  let cut = wordStart(text, open);
  for (const { start, end } of constructs.toReversed()) if (cut > start && cut < end) cut = wordStart(text, start);
  return text.length - cut > 2 * HELD_MAX ? open : cut;
}

const MARK = /[[<]/g;

/** The next character that may begin a construct. */
function nextMark(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.exec(text)?.index ?? -1;
}

/**
 * Where the word begins that ends at `end`, with the spaces before it: the beginning of an address must not be let out, nor a space
 * that goes with a citation.
 */
function wordStart(text: string, end: number): number {
  let at = end;
  while (at > 0 && !/\s/.test(text.charAt(at - 1)) && !UNSPACED_END.test(text.charAt(at - 1))) at -= 1;
  while (at > 0 && text[at - 1] === " ") at -= 1;
  return at;
}

/** Where the construct at `at` ends; -1 while that is open. */
function endOfConstruct(text: string, at: number): number {
  if (text[at] === "<") {
    if (at + 1 === text.length) return -1;
    if (!TAG_BEGIN.test(text.slice(at, at + 2))) return at + 1;
    const end = text.indexOf(">", at);
    return end < 0 ? -1 : end + 1;
  }
  const end = closing(text, at, "[", "]");
  if (end < 0 || end + 1 === text.length) return -1;
  if (text[end + 1] === "(") {
    const target = closing(text, end + 1, "(", ")");
    return target < 0 ? -1 : target + 1;
  }
  return end + 1;
}

/** Where the bracket at `at` is closed; -1 if it is not. */
function closing(text: string, at: number, open: string, close: string): number {
  // Most that is open has no end anywhere near.
  if (!text.slice(at, at + HELD_MAX + 1).includes(close)) return -1;
  let depth = 0;
  for (let index = at; index < text.length && index - at <= HELD_MAX; index += 1) {
    if (text[index] === "\\") index += 1;
    else if (text[index] === open) depth += 1;
    else if (text[index] === close) {
      depth -= 1;
      if (depth === 0) return index;
    }
  }
  return -1;
}

/** Writes text that is complete. */
class Writer implements AnswerPiece {
  text = "";
  readonly cited: number[] = [];
  readonly removed: string[] = [];
  readonly #isPassage: (number: number) => boolean | Promise<boolean>;
  readonly #before: string;
  /** The last character that was written, also before this text. */
  #last: string;

  /** `before`: the last character of the text before. */
  constructor(isPassage: (number: number) => boolean | Promise<boolean>, before: string) {
    this.#isPassage = isPassage;
    this.#before = before;
    this.#last = before;
  }

  async write(text: string, depth: number): Promise<void> {
    let at = 0;
    while (at < text.length) {
      const next = nextMark(text, at);
      if (next < 0) break;
      const isImage = text[next] === "[" && text[next - 1] === "!";
      this.#add(text.slice(at, isImage ? next - 1 : next));
      at = text[next] === "<" ? this.#tag(text, next) : await this.#brackets(text, next, depth);
    }
    this.#add(text.slice(at));
  }

  /** Writes what no construct is in, with what was written before. */
  #add(text: string): void {
    if (text === "") return;
    const joint = `${this.#last}${text[0]}`.search(JOINT) === 0 ? " " : "";
    this.text += joint + text.replace(JOINTS, "$& ");
    this.#last = text.at(-1) ?? "";
  }

  /** Leaves out a tag; shows the address in angle brackets as any other. A sign that begins none stays. */
  #tag(text: string, at: number): number {
    const end = text.indexOf(">", at);
    if (!TAG_BEGIN.test(text.slice(at, at + 2)) || end < 0) {
      this.#add("<");
      return at + 1;
    }
    const inside = text.slice(at + 1, end);
    if (ADDRESS_INSIDE.test(inside)) this.#add(inside);
    return end + 1;
  }

  /** A citation is checked; of a link or an image its text stays. Gives where to go on. */
  async #brackets(text: string, at: number, depth: number): Promise<number> {
    const end = closing(text, at, "[", "]");
    if (end < 0 || depth >= DEPTH_MAX) {
      this.#add("[");
      return at + 1;
    }
    const inside = text.slice(at + 1, end);
    const next = text[end + 1];
    if (CITATION.test(inside)) {
      await this.#citation(inside, text.slice(end + 1));
      // A citation that is dressed as a link leads nowhere.
      return next === "(" ? endOfTarget(text, end + 1) : end + 1;
    }
    const isLink = next === "(" || next === "[" || next === ":" || text[at - 1] === "!";
    if (!isLink) this.#add("[");
    await this.write(inside, depth + 1);
    if (!isLink) this.#add("]");
    return next === "(" ? endOfTarget(text, end + 1) : end + 1;
  }

  async #citation(inside: string, rest: string): Promise<void> {
    const numbers = numbersOf(inside);
    const kept: number[] = [];
    for (const number of numbers) {
      if (await this.#isPassage(number)) kept.push(number);
      else this.removed.push(`[${number}]`);
    }
    if (kept.length > 0) this.#add(`[${kept.join(", ")}]`);
    // What stood before a citation that is gone must not be left with two spaces, nor be one word with what comes after it.
    else if (this.#last === " " && WORD_END.test(rest)) {
      this.text = this.text.slice(0, -1);
      this.#last = this.text.at(-1) ?? this.#before;
    }
    this.cited.push(...kept);
  }
}

/** Where a link's target ends; without an end it is no target. */
function endOfTarget(text: string, at: number): number {
  const end = closing(text, at, "(", ")");
  return end < 0 ? at : end + 1;
}

/** Longest range of citations that is spelled out. */
const RANGE_MAX = 50;

/** The numbers of `1, 3` and `2-4`. */
function numbersOf(inside: string): number[] {
  return inside.split(/[,;]/).flatMap((part) => {
    const [first = 0, last = first] = (part.match(/\d+/g) ?? []).map(Number);
    if (!(last > first && last - first < RANGE_MAX)) return first === last ? [first] : [first, last];
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}
