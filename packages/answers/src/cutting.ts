/** Cuts a text into ranges of whole sentences, and shortens ranges at sentences or words. Ranges cover the text in order. */

/** A range of UTF-16 code units. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Characters after which a sentence is over, as the chunkers of the indexing language have them. */
const MARK = String.raw`[.!?\u203D\u1362\u0964\u0965\u2E2E\u061F\uFF01\uFF1F\uFF61\u3002]`;
/** Those of them, with the quotes and brackets after them, that no space follows: they are of scripts without spaces. */
const WIDE_END = String.raw`[\uFF01\uFF1F\uFF61\u3002]["'”’)\]」』）】》〉]*`;
/** A run of marks is looked at from its begin alone: from each of its marks a long one would take the square of its length. */
const SENTENCE_END: RegExp = new RegExp(
  String.raw`(?<!${MARK})(?:${MARK}+["'”’)\]]*(?=\s|$)|${MARK}*${WIDE_END})|\n\s*\n`,
  "gu",
);

/** Where sentences end, the end of the text included. */
function sentenceEnds(text: string): number[] {
  const ends = [...text.matchAll(SENTENCE_END)].map((found) => found.index + found[0].length);
  return ends.at(-1) === text.length ? ends : [...ends, text.length];
}

/** Ranges of whole sentences, of about so many code units; a sentence that is longer is cut at words. */
export function passageRanges(text: string, aboutLength: number): Range[] {
  if (text.length <= aboutLength) {
    const whole = trimRange(text, { start: 0, end: text.length });
    return whole.end > whole.start ? [whole] : [];
  }
  const ranges: Range[] = [];
  let start = 0;
  let end = 0;
  for (const next of sentenceEnds(text)) {
    if (next - start > aboutLength && end > start) {
      ranges.push({ start, end });
      start = end;
    }
    end = next;
    while (end - start > 2 * aboutLength) {
      const cut = wordCut(text, start, start + aboutLength);
      ranges.push({ start, end: cut });
      start = cut;
    }
  }
  if (end > start) ranges.push({ start, end });
  return ranges.map((range) => trimRange(text, range)).filter((range) => range.end > range.start);
}

/** The range without white space around it. */
export function trimRange(text: string, { start, end }: Range): Range {
  const inside = text.slice(start, end);
  const before = inside.length - inside.trimStart().length;
  return { start: start + before, end: Math.max(start + before, end - (inside.length - inside.trimEnd().length)) };
}

/** A place to cut, at most at `most`: before a word if there is one, and never within a character. */
function wordCut(text: string, start: number, most: number): number {
  // No more of the text is looked at: it may be long, and have no word at all.
  const inside = text.slice(start, most + 1);
  const space = Math.max(inside.lastIndexOf(" "), inside.lastIndexOf("\n"), inside.lastIndexOf("\t"));
  if (space > 0) return start + space;
  return characterCut(text, start, most);
}

/** Code units of one character at most, as a reader sees it; what has more marks is cut at some of them. */
const CHARACTER_MAX = 32;

let segmenter: Intl.Segmenter | undefined;

/**
 * A place between two characters, at most at `most` where there is one, and always behind `start`: an accent, the parts of an emoji,
 * and both letters of a flag stay together.
 */
function characterCut(text: string, start: number, most: number): number {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  const characters = segmenter.segment(text.slice(start, most + CHARACTER_MAX));
  const { index, segment } = characters.containing(most - start) ?? { index: most - start, segment: "" };
  const cut = index > 0 ? index : segment.length;
  if (Math.abs(start + cut - most) < CHARACTER_MAX) return start + cut;
  return isPair(text, most) ? most + 1 : most;
}

/** Whether a place is within a code point. */
function isPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(at - 1, at + 1));
}

/** The longest beginning of a range, cut at sentences or else at words, of which `fits` is true; nothing if none is. */
export function shortenRange(text: string, range: Range, fits: (range: Range) => boolean): Range | undefined {
  const inside = text.slice(range.start, range.end);
  const sentences = sentenceEnds(inside).map((end) => range.start + end);
  const words = [...inside.matchAll(/\s+/gu)].map((found) => range.start + found.index);
  return (
    longest(text, range.start, sentences, fits) ??
    longest(text, range.start, words, fits) ??
    withinWord(text, range.start, words[0] ?? range.end, fits)
  );
}

/** Letters of one word at most; what is longer is of a script without spaces. */
const WORD_MAX = 64;

/** The longest beginning of a word that is none, cut between characters. */
function withinWord(text: string, start: number, end: number, fits: (range: Range) => boolean): Range | undefined {
  if (end - start <= WORD_MAX) return undefined;
  const places = Array.from({ length: end - start - 1 }, (_, index) => start + 1 + index);
  const most = longest(text, start, places, fits);
  const range = most && { start: most.start, end: characterCut(text, most.start, most.end) };
  return range && fits(range) ? range : undefined;
}

/** By halves: longer beginnings take more tokens. What is found is checked, so that it surely fits. */
function longest(
  text: string,
  start: number,
  ends: readonly number[],
  fits: (range: Range) => boolean,
): Range | undefined {
  let [low, high] = [0, ends.length];
  let best: Range | undefined;
  while (low < high) {
    const middle = (low + high) >> 1;
    const range = trimRange(text, { start, end: ends[middle] ?? start });
    if (range.end > range.start && fits(range)) {
      best = range;
      low = middle + 1;
    } else high = middle;
  }
  return best;
}
