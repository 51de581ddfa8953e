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
  const asked = [...new Set(wordsOf(question).map(stem))];
  const places = new Map(asked.map((word, place) => [word, place]));
  const words = texts.map((text) => wordsOf(text));
  const counted = words.map((own) => counts(own, places));
  const averageLength = words.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  const rarity = asked.map((_, place) => {
    const having = counted.filter((own) => (own[place] ?? 0) > 0).length;
    return Math.log(1 + (texts.length - having + 0.5) / (having + 0.5));
  });
  return counted.map((own, index) => {
    const longness = 1.2 * (0.25 + (0.75 * (words[index]?.length ?? 0)) / Math.max(1, averageLength));
    return rarity.reduce((score, rare, place) => {
      const count = own[place] ?? 0;
      return score + (rare * count * 2.2) / (count + longness);
    }, 0);
  });
}

const STEM_LETTERS = 6;

function stem(word: string): string {
  return word.length <= STEM_LETTERS ? word : word.slice(0, STEM_LETTERS);
}

/** How often each word that is asked for comes, by its place. */
function counts(words: readonly string[], places: ReadonlyMap<string, number>): readonly number[] {
  const counted = new Array<number>(places.size).fill(0);
  for (const word of words) {
    const place = places.get(stem(word));
    if (place !== undefined) counted[place] = (counted[place] ?? 0) + 1;
  }
  return counted;
}
