/** Words of a text, as far as telling passages apart needs them. Searching is the core's business. */

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
const ASCII = /^[\p{ASCII}]*$/u;
const ASCII_WORD = /[a-z0-9]+/g;

/** The words in lower case, compatibility forms joined, in their order. */
export function wordsOf(text: string): string[] {
  // Most texts have nothing to be joined, which is told sooner than done.
  if (ASCII.test(text)) return text.toLowerCase().match(ASCII_WORD) ?? [];
  return text.normalize("NFKC").toLowerCase().match(WORD) ?? [];
}

/**
 * How good each text is for a question by its words: BM25 with k1 = 1.2 and b = 0.75, where the texts themselves are the
 * collection. Words are compared by their first six letters at most, so that inflected ones meet.
 */
export function wordScores(question: string, texts: readonly string[]): number[] {
  const asked = new QuestionWords(question);
  const counted = texts.map((text) => asked.countIn(text));
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  const rarity = Array.from({ length: asked.count }, (_, place) => {
    const having = counted.filter(({ counts }) => (counts[place] ?? 0) > 0).length;
    return Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
  });
  return counted.map(({ counts, length }) => {
    const longness = 1.2 * (0.25 + (0.75 * length) / Math.max(1, averageLength));
    return rarity.reduce((score, rare, place) => {
      const count = counts[place] ?? 0;
      return count === 0 ? score : score + (rare * count * 2.2) / (count + longness);
    }, 0);
  });
}

/** How many words a text has, and how often each that is asked for comes. */
interface Counted {
  readonly length: number;
  readonly counts: readonly number[];
}

const ASCII_CODES = 128;
/** 1 for the codes of letters and digits in lower case. */
const OF_WORDS = Uint8Array.from({ length: ASCII_CODES }, (_, code) =>
  /[a-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
);
const BLANK = 32;

/**
 * Shows where each word of a text in lower case stands, which is sooner done than making a list of them. False, and not to the
 * end, if it has other letters than those of ASCII.
 */
export function eachAsciiWord(lower: string, visit: (start: number, end: number) => void): boolean {
  let start = -1;
  for (let at = 0; at <= lower.length; at += 1) {
    const code = at < lower.length ? lower.charCodeAt(at) : BLANK;
    if (code >= ASCII_CODES) return false;
    if (OF_WORDS[code] === 1) {
      if (start < 0) start = at;
    } else if (start >= 0) {
      visit(start, at);
      start = -1;
    }
  }
  return true;
}

/** The words of a question, each by its place. */
class QuestionWords {
  readonly #places: ReadonlyMap<string, number>;
  /** 1 for the codes that any of them begins with: a word that begins otherwise is passed over. */
  readonly #beginnings = new Uint8Array(ASCII_CODES);

  constructor(question: string) {
    const words = [...new Set(wordsOf(question).map(stem))];
    this.#places = new Map(words.map((word, place) => [word, place]));
    for (const word of words) this.#beginnings[word.charCodeAt(0)] = 1;
  }

  get count(): number {
    return this.#places.size;
  }

  countIn(text: string): Counted {
    const lower = text.toLowerCase();
    const counts = new Array<number>(this.count).fill(0);
    let length = 0;
    const isWhole = eachAsciiWord(lower, (start, end) => {
      length += 1;
      if (this.#beginnings[lower.charCodeAt(start)] === 1) {
        this.#add(lower.slice(start, Math.min(end, start + STEM_LETTERS)), counts);
      }
    });
    return isWhole ? { length, counts } : this.#countOf(wordsOf(text));
  }

  #countOf(words: readonly string[]): Counted {
    const counts = new Array<number>(this.count).fill(0);
    for (const word of words) this.#add(stem(word), counts);
    return { length: words.length, counts };
  }

  #add(word: string, counts: number[]): void {
    const place = this.#places.get(word);
    if (place !== undefined) counts[place] = (counts[place] ?? 0) + 1;
  }
}

const STEM_LETTERS = 6;

function stem(word: string): string {
  return word.length <= STEM_LETTERS ? word : word.slice(0, STEM_LETTERS);
}
