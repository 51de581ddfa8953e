/**
 * The documents that every store is filled with, and what is asked of it. There are more of one user than a page of a script holds and than
 * `load.ts` feeds at once; texts have what a line of JSON has to escape.
 */
const ALICE_COUNT = 1_203;
const BOB_COUNT = 40;
const QUESTIONS = 8;
const SEED = 20_250_117;
const TEXTS = [
  "The deposit is paid back.",
  'She said "no"\nand left.',
  "Größe 北京 🌊",
  "C:\\temp\tis full, 100 %",
  "it's",
];

/** How many neighbours are asked for. */
export const NEIGHBOURS = 10;

/**
 * @typedef {object} Line what a script writes of a document
 * @property {string} user
 * @property {string} id
 * @property {string} text
 * @property {number[]} embedding
 * @property {Record<string, unknown>} metadata
 */

/** The documents, with the questions: a user, and the vector whose neighbours are asked for. */
export function sample() {
  const random = randomOf(SEED);
  const users = [...Array(ALICE_COUNT).fill("alice"), ...Array(BOB_COUNT).fill("bob")];
  /** @type {Line[]} */
  const documents = users.map((user, index) => ({
    user,
    id: String(index + 1),
    text: `${TEXTS[index % TEXTS.length]} ${index}`,
    embedding: direction(random),
    metadata: { page: index % 97 },
  }));
  const questions = Array.from({ length: QUESTIONS }, (_, index) => ({
    user: index % 2 === 0 ? "alice" : "bob",
    vector: direction(random),
  }));
  return { documents, questions, neighbours: NEIGHBOURS };
}

/**
 * A vector of length one, as 32-bit floats are: the angle and the distance give the same neighbours.
 *
 * @param {() => number} random
 */
function direction(random) {
  for (;;) {
    const values = [random() * 2 - 1, random() * 2 - 1, random() * 2 - 1];
    const length = Math.hypot(...values);
    if (length > 0.1 && length <= 1) return values.map((value) => Math.fround(value / length));
  }
}

/**
 * The same numbers from 0 to 1 in every run (xorshift of 32 bits).
 *
 * @param {number} seed
 */
function randomOf(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
