/**
 * The exact answers to queries of words and a vector, by scores that are worked out here in double precision for every document of the
 * group. There are two, for what is asked is not the same everywhere:
 *
 * | name | matches | score |
 * |---|---|---|
 * | `hybrid` | one of the words, or is one of the ten nearest | `bm25(body) + closeness(field, cells)`, with the constants that bm25 has in streaming search |
 * | `hybrid-typed` | one of the words, or has a cosine of 0.15 or more | what `group.search` ranks by: `0.45 w^1.5 / (w^1.5 + 89.443) + 0.55 cos`, where `w` is bm25 with the statistics of the group |
 */
const [K1, B] = [1.2, 0.75];
/** What streaming search takes for the average length of a text, and for how rare a word is. */
const PLAIN = { average: 100, rareness: () => Math.log(1 + 0.5 / 1.5) };
const SIMILARITY_MIN = 0.15;
const HALF_SCORE = 89.443;

const length = (cells) => Math.sqrt(cells.reduce((sum, cell) => sum + cell * cell, 0));

function cosine(left, right) {
  let sum = 0;
  for (let at = 0; at < left.length; at += 1) sum += left[at] * right[at];
  return Math.max(-1, Math.min(1, sum / (length(left) * length(right))));
}

/** bm25 of a document that has each of the words so many times. */
function bm25(counts, words, { average, rareness }) {
  const base = K1 * (1 - B + (B * words) / average);
  return counts.reduce((sum, count, word) => sum + (rareness(word) * count * (K1 + 1)) / (count + base), 0);
}

/**
 * Every document that matches a query, with its score, by the names above. `documents` are those of the group: number, words and cells;
 * `top` is how many nearest match by their vector alone.
 */
export function hybridScores(documents, { words, vector, top }) {
  const found = documents.map(({ number, body, cells }) => {
    const counts = words.map((word) => body.reduce((sum, other) => sum + (other === word ? 1 : 0), 0));
    return {
      number,
      size: body.length,
      counts,
      hasWord: counts.some((count) => count > 0),
      near: cosine(cells, vector),
    };
  });
  const least = found.map(({ near }) => near).sort((left, right) => right - left)[Math.min(top, found.length) - 1];
  const holders = words.map((_, word) => found.filter(({ counts }) => counts[word] > 0).length);
  const group = {
    average: found.reduce((sum, { size }) => sum + size, 0) / found.length,
    rareness: (word) => Math.log(1 + (found.length - holders[word] + 0.5) / (holders[word] + 0.5)),
  };
  const plain = ({ counts, size, near }) => bm25(counts, size, PLAIN) + 1 / (1 + Math.acos(near));
  const typed = ({ counts, size, near }) => {
    const scaled = bm25(counts, size, group) ** 1.5;
    return (0.45 * scaled) / (scaled + HALF_SCORE) + 0.55 * Math.max(0, near);
  };
  const scored = (matches, score) => found.filter(matches).map((one) => [score(one), one.number]);
  return {
    hybrid: scored(({ hasWord, near }) => hasWord || near >= least, plain),
    "hybrid-typed": scored(({ hasWord, near }) => hasWord || near >= SIMILARITY_MIN, typed),
  };
}
