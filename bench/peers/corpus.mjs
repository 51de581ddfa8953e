/**
 * Corpora that every peer is given: groups of documents that arrive interleaved, as those of a live system do, with the queries
 * and the exact answers. All is drawn from a seed, and kept in files that drivers in any language read:
 *
 * | file | what |
 * |---|---|
 * | `corpus.json` | its shape, and the queries: `{ group, low, words }` |
 * | `groups.u32`, `times.u32` | of each document, by its number: the group, and a time from 0 to a million |
 * | `vectors.bf16` | of each document, 384 cells: the upper halves of float32 |
 * | `queries.f32` | of each query, 384 cells, which are whole bfloat16 too |
 * | `bodies.txt` | of each document, a line of words |
 * | `truth.json` | for each query of each kind, the documents that may be in the answer, and how many have to; of words with a vector twice (`hybrid-truth.mjs`) |
 *
 * Peers are to be given vectors of length 1, which `unit` makes of the stored cells, so that the cosine, the inner product and the
 * distance have one order. A document that is as near as the tenth but for rounding may stand in its place.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { random as stream } from "../corpus.mjs";
import { hybridScores } from "./hybrid-truth.mjs";

export const DIMENSIONS = 384;
export const TOP = 10;
const TIMES = 1_000_000;
/** How much of the times a filter lets through: a tenth. */
export const SPAN = 100_000;
const QUERIES = 100;
const VOCABULARY = 30_000;
const WORDS = 200;
const CENTRES_OF_GROUP = 40;
const NEAR_ENOUGH = 2e-6;
/** The form of the files. Those with texts and vectors have answers to both together since the second. */
const formOf = ({ vectors, texts }) => (vectors && texts ? 2 : 1);

/** Streams of seeds that follow each other begin far apart. */
const random = (seed) => stream(Math.imul(seed, 2_654_435_761));

/** About normally distributed. */
function normal(next) {
  return next() + next() + next() + next() + next() + next() - 3;
}

/** The same directions turned: signs, and sums and differences of cells in blocks of 128, over two orders of the cells. */
function turned(cells) {
  const signs = random(99);
  let now = cells;
  for (let round = 0; round < 2; round += 1) {
    const moved = now.map((_, at) => now[(at * 5 + 1) % DIMENSIONS] * (signs() < 0.5 ? -1 : 1));
    for (let block = 0; block < DIMENSIONS; block += 128) {
      for (let half = 1; half < 128; half *= 2) {
        for (let at = 0; at < 128; at += 1) {
          if (at & half) continue;
          const [left, right] = [moved[block + at], moved[block + at + half]];
          moved[block + at] = left + right;
          moved[block + at + half] = left - right;
        }
      }
    }
    now = moved;
  }
  return now;
}

/** Cells of bfloat16 of a vector of length 1, as float32, rounded to nearest. */
function rounded(cells) {
  const length = Math.hypot(...cells);
  const narrow = Float32Array.from(cells, (cell) => cell / length);
  const bits = new Uint32Array(narrow.buffer);
  for (let at = 0; at < bits.length; at += 1) bits[at] = ((bits[at] + 0x8000) & 0xffff0000) >>> 0;
  return narrow;
}

/** The same direction with length 1. */
export function unit(cells) {
  let sum = 0;
  for (const cell of cells) sum += cell * cell;
  const length = Math.sqrt(sum);
  return Float32Array.from(cells, (cell) => cell / length);
}

const SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ");
/** A word of its own for every number, of four to eight letters. */
function wordOf(number) {
  let name = "";
  for (let rest = number + 20; rest > 0; rest = Math.floor(rest / 20)) name += SYLLABLES[rest % 20];
  return name;
}

/** The vectors of a group: about forty centres, near which its documents and its queries are, with a spectrum that decays. */
function vectorsOf(group) {
  const scale = Float64Array.from({ length: DIMENSIONS }, (_, at) => (1 + at) ** -0.35);
  const centres = Array.from({ length: CENTRES_OF_GROUP }, (_, number) => {
    const next = random(1_000 + group * CENTRES_OF_GROUP + number);
    return Float64Array.from(scale, (by) => normal(next) * by);
  });
  return (next) => {
    const centre = centres[Math.floor(CENTRES_OF_GROUP ** next() - 1)];
    return rounded(turned(Float64Array.from(centre, (cell, at) => cell + 0.9 * normal(next) * scale[at])));
  };
}

/** Words by how often they come, as in natural language: the one at place r about as often as 1/r. */
function bodyOf(next) {
  const words = Math.floor(WORDS * (0.5 + next()));
  return Int32Array.from({ length: words }, () => Math.floor(VOCABULARY ** next() - 1));
}

/** Words of one document that are neither on every page nor on one only. */
function wordsOf(body, count, next) {
  const usual = [...new Set(body)].filter((word) => word >= 50 && word < 20_000);
  while (usual.length > count) usual.splice(Math.floor(next() * usual.length), 1);
  return usual.map(wordOf);
}

/** Makes a corpus unless it is there. `shape`: `{ name, groups, documents, vectors, texts }`, documents being those of one group. */
export function makeCorpus(folder, shape) {
  const path = join(folder, `${shape.name}-${formOf(shape)}`);
  if (existsSync(join(path, "corpus.json"))) return path;
  const unready = `${path}.unready`;
  rmSync(unready, { recursive: true, force: true });
  mkdirSync(unready, { recursive: true });
  const all = shape.groups * shape.documents;
  const next = random(7 + all + shape.groups);
  const groups = Uint32Array.from({ length: all }, (_, number) => number % shape.groups);
  for (let at = all - 1; at > 0; at -= 1) {
    const other = Math.floor(next() * (at + 1));
    [groups[at], groups[other]] = [groups[other], groups[at]];
  }
  const times = Uint32Array.from(groups, () => Math.floor(next() * TIMES));
  writeFileSync(join(unready, "groups.u32"), groups);
  writeFileSync(join(unready, "times.u32"), times);
  const queries = Array.from({ length: QUERIES }, () => ({
    group: Math.floor(next() * shape.groups),
    low: Math.floor(next() * (TIMES - SPAN)),
  }));
  const truth = {};
  const corpus = { shape, groups, times, queries, truth, path: unready, next };
  if (shape.vectors) addVectors(corpus);
  if (shape.texts) addTexts(corpus);
  if (shape.vectors && shape.texts) addHybrids(corpus);
  writeFileSync(join(unready, "truth.json"), JSON.stringify(truth));
  writeFileSync(join(unready, "corpus.json"), JSON.stringify({ ...shape, queries }));
  renameSync(unready, path);
  return path;
}

function addVectors(corpus) {
  const { shape, groups, times, queries, truth, path, next } = corpus;
  const drawn = Array.from({ length: shape.groups }, (_, group) => vectorsOf(group));
  const cells = new Uint16Array(groups.length * DIMENSIONS);
  for (const [number, group] of groups.entries()) {
    const bits = new Uint32Array(drawn[group](next).buffer);
    for (let at = 0; at < DIMENSIONS; at += 1) cells[number * DIMENSIONS + at] = bits[at] >>> 16;
  }
  const asked = queries.map(({ group }) => drawn[group](next));
  Object.assign(corpus, { cells, asked });
  writeFileSync(join(path, "vectors.bf16"), cells);
  writeFileSync(join(path, "queries.f32"), Buffer.concat(asked.map((cells) => new Uint8Array(cells.buffer))));
  truth.near = [];
  truth["near-filter"] = [];
  const scored = queries.map(() => []);
  for (const [number, group] of groups.entries()) {
    let vector;
    for (const [query, { group: of }] of queries.entries()) {
      if (of !== group) continue;
      vector ??= unit(widened(cells.subarray(number * DIMENSIONS, (number + 1) * DIMENSIONS)));
      let sum = 0;
      for (let at = 0; at < DIMENSIONS; at += 1) sum += vector[at] * asked[query][at];
      scored[query].push([sum, number]);
    }
  }
  for (const [query, { low }] of queries.entries()) {
    const order = scored[query].sort((left, right) => right[0] - left[0]);
    const length = Math.hypot(...asked[query]);
    truth.near.push(nearest(order, length));
    truth["near-filter"].push(
      nearest(
        order.filter(([, number]) => times[number] >= low && times[number] < low + SPAN),
        length,
      ),
    );
  }
}

/** float32 of the upper halves. */
function widened(cells) {
  return new Float32Array(Uint32Array.from(cells, (cell) => cell << 16).buffer);
}

function nearest(order, length) {
  const count = Math.min(TOP, order.length);
  const least = (order[count - 1]?.[0] ?? 0) / length - NEAR_ENOUGH;
  return { count, documents: order.filter(([score]) => score / length >= least).map(([, number]) => number) };
}

/** The documents of each group. */
function membersOf(groups) {
  const members = new Map();
  for (const [number, group] of groups.entries()) {
    if (!members.has(group)) members.set(group, []);
    members.get(group).push(number);
  }
  return members;
}

/** The answers to words and a vector: a document that scores as much as the tenth but for rounding may stand in its place. */
function addHybrids({ groups, queries, truth, bodies, cells, asked }) {
  const members = membersOf(groups);
  for (const [at, query] of queries.entries()) {
    const documents = members.get(query.group).map((number) => {
      const own = cells.subarray(number * DIMENSIONS, (number + 1) * DIMENSIONS);
      return { number, body: bodies[number], cells: widened(own) };
    });
    const words = query.words["words-2"].map((word) => numberOf(word));
    const scores = hybridScores(documents, { words, vector: asked[at], top: TOP });
    for (const [name, scored] of Object.entries(scores)) {
      truth[name] ??= [];
      truth[name].push(
        nearest(
          scored.sort((left, right) => right[0] - left[0]),
          1,
        ),
      );
    }
  }
}

function addTexts(corpus) {
  const { groups, times, queries, truth, path, next } = corpus;
  const bodies = Array.from(groups, () => bodyOf(next));
  corpus.bodies = bodies;
  writeFileSync(join(path, "bodies.txt"), `${bodies.map((body) => Array.from(body, wordOf).join(" ")).join("\n")}\n`);
  const counts = { "words-2": 2, "words-4": 4, "words-filter": 2 };
  const members = membersOf(groups);
  for (const kind of Object.keys(counts)) truth[kind] = [];
  for (const query of queries) {
    const of = members.get(query.group);
    query.words = {};
    for (const [kind, count] of Object.entries(counts)) {
      const words = wordsOf(bodies[of[Math.floor(next() * of.length)]], count, next);
      query.words[kind] = words;
      const wanted = new Set(words.map((word) => numberOf(word)));
      const found = of.filter((number) => bodies[number].some((word) => wanted.has(word)));
      const kept = kind === "words-filter" ? found.filter((at) => inSpan(times[at], query.low)) : found;
      truth[kind].push({ count: Math.min(TOP, kept.length), documents: kept });
    }
  }
}

const inSpan = (time, low) => time >= low && time < low + SPAN;

/** The number that a word was made of. */
function numberOf(word) {
  let number = 0;
  for (let at = word.length - 2; at >= 0; at -= 2) number = number * 20 + SYLLABLES.indexOf(word.slice(at, at + 2));
  return number - 20;
}

/** A corpus of a folder: its shape, its queries with their vectors, and its documents in batches. */
export function readCorpus(path) {
  const { queries, ...shape } = JSON.parse(readFileSync(join(path, "corpus.json"), "utf8"));
  const bytes = (name) => {
    const { buffer, byteOffset, byteLength } = readFileSync(join(path, name));
    return buffer.slice(byteOffset, byteOffset + byteLength);
  };
  const groups = new Uint32Array(bytes("groups.u32"));
  const asked = shape.vectors ? new Float32Array(bytes("queries.f32")) : undefined;
  const withVectors = queries.map((query, at) => ({
    ...query,
    vector: asked?.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS),
  }));
  function* batches(size) {
    const times = new Uint32Array(bytes("times.u32"));
    const cells = shape.vectors ? new Uint16Array(bytes("vectors.bf16")) : undefined;
    const bodies = shape.texts ? readFileSync(join(path, "bodies.txt"), "utf8").split("\n") : undefined;
    for (let from = 0; from < groups.length; from += size) {
      yield Array.from({ length: Math.min(size, groups.length - from) }, (_, offset) => {
        const number = from + offset;
        const vector = cells && widened(cells.subarray(number * DIMENSIONS, (number + 1) * DIMENSIONS));
        return { number, group: groups[number], time: times[number], vector, body: bodies?.[number] };
      });
    }
  }
  return { ...shape, count: groups.length, queries: withVectors, batches };
}
