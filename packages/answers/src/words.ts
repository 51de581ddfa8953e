/** Words of a text, as far as telling passages apart needs them. Searching is the core's business. */

const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** The words in lower case, compatibility forms joined, in their order. */
export function wordsOf(text: string): string[] {
  return text.normalize("NFKC").toLowerCase().match(WORD) ?? [];
}

/**
 * How good each text is for a question by its words: BM25 with k1 = 1.2 and b = 0.75, where the texts themselves are the
 * collection. Words are compared by their first six letters at most, so that inflected ones meet.
 */
export function wordScores(question: string, texts: readonly string[]): number[] {
  const asked = [...new Set(wordsOf(question).map(stem))];
  const counted = texts.map((text) => counts(wordsOf(text).map(stem)));
  const lengths = counted.map((words) => [...words.values()].reduce((sum, count) => sum + count, 0));
  const averageLength = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, texts.length);
  const rarity = new Map(
    asked.map((word) => {
      const having = counted.filter((words) => words.has(word)).length;
      return [word, Math.log(1 + (texts.length - having + 0.5) / (having + 0.5))];
    }),
  );
  return counted.map((words, index) => {
    const longness = 1.2 * (0.25 + (0.75 * (lengths[index] ?? 0)) / Math.max(1, averageLength));
    let score = 0;
    for (const word of asked) {
      const count = words.get(word) ?? 0;
      score += ((rarity.get(word) ?? 0) * count * 2.2) / (count + longness);
    }
    return score;
  });
}

const STEM_LETTERS = 6;

function stem(word: string): string {
  return [...word].slice(0, STEM_LETTERS).join("");
}

function counts(words: readonly string[]): Map<string, number> {
  const counted = new Map<string, number>();
  for (const word of words) counted.set(word, (counted.get(word) ?? 0) + 1);
  return counted;
}
