/** What documents of benches are made of, each from a seed: the same in every run, and on every machine. */

/** A repeatable stream of numbers from 0 to 1 (xorshift of 32 bits). */
export function random(seed) {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** The place of a word in a vocabulary, by how often words come in natural language: the one at place r about as often as 1/r. */
export function place(next, vocabulary) {
  return Math.floor(vocabulary ** next() - 1);
}

const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ");

/** A word of its own for every place: frequent ones are short. */
export function word(at) {
  let name = "";
  let rest = at;
  do {
    name += SYLLABLES[rest % SYLLABLES.length];
    rest = Math.floor(rest / SYLLABLES.length);
  } while (rest > 0);
  return name;
}

/** A vector of bfloat16 cells about a sphere, as float32. */
export function vector(next, dimensions) {
  const cells = new Float32Array(dimensions);
  for (let i = 0; i < dimensions; i += 1) cells[i] = next() + next() + next() + next() - 2;
  const bits = new Uint32Array(cells.buffer);
  for (let i = 0; i < dimensions; i += 1) bits[i] &= 0xffff0000;
  return cells;
}

/** Its cells as the upper halves of floats (bfloat16), or with eight digits as whole floats. */
export function hex(cells, digits = 4) {
  const bits = new Uint32Array(cells.buffer);
  let text = "";
  for (const cell of bits) text += (digits === 4 ? cell >>> 16 : cell).toString(16).padStart(digits, "0");
  return text.toUpperCase();
}
