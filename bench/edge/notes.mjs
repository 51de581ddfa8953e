/** What the edge is measured with: the same documents and searches in workerd and on Node. */
import { int, schema, text, vector } from "@brooklet/client";

export const DOCUMENTS = 1_000;
const DIMENSIONS = 384;
/** Queries of one turn. */
export const QUERIES = 200;
export const HITS = 10;
const WORDS = [...["river", "stone", "light", "paper", "winter", "garden", "letter", "bridge", "morning", "silver"]];

export const note = schema("note", { title: text(), body: text(), n: int(), vec: vector(DIMENSIONS) });

/** Documents of which no two are near each other, however many there are: their cells look random. */
function cellOf(seed, at) {
  const first = Math.imul((seed * DIMENSIONS + at) ^ 0x9e37_79b1, 0x85eb_ca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2_ae35);
  return ((second ^ (second >>> 16)) >>> 8) / (1 << 23) - 1;
}

export const numbers = (seed) => Array.from({ length: DIMENSIONS }, (_, at) => cellOf(seed, at));
export const wordsOf = (n) => `${WORDS[n % 10]} ${WORDS[(n * 7 + 3) % 10]}`;
const bodyOf = (n) => Array.from({ length: 30 }, (_, at) => WORDS[(n * 3 + at * at) % 10]).join(" ");

/** A document by its number. */
export const documentOf = (n) => ({
  id: `${n}`,
  fields: { title: `${WORDS[n % 10]} ${n}`, body: bodyOf(n), n, vec: numbers(n) },
});

/** Searches by `group.search`, by the name of what they show. */
export const SEARCHES = {
  text: (n) => ({ text: wordsOf(n), limit: HITS }),
  vectors: (n) => ({ near: { field: "vec", vector: Float32Array.from(numbers(n)) }, limit: HITS }),
  both: (n) => ({ text: wordsOf(n), near: { field: "vec", vector: Float32Array.from(numbers(n)) }, limit: HITS }),
};

/** Puts all documents into a group. */
export async function fillGroup(group) {
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => documentOf(n));
  for await (const { ok, id } of group.feed(note, documents)) if (!ok) throw new Error(`${id} was not stored`);
}

/** Asks so many searches of a name from one on, one after another: the hits of each and what they score. */
export async function recall(group, name, from, count) {
  const answers = [];
  for (let n = from; n < from + count; n += 1) {
    const { hits } = await group.search(note, SEARCHES[name](n % QUERIES));
    answers.push(hits.map(({ id, relevance }) => [id, relevance]));
  }
  return answers;
}
