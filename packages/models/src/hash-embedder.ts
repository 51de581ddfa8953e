/**
 * An embedder without a model, for tests and first runs: words are thrown into dimensions by a hash. Texts that share
 * words are near each other, nothing else is: it knows no meaning, and says so.
 */
import type { Embedder, Embedding, EmbedRequest } from "./embedder.ts";

/** FNV-1a, 32 bits (Fowler, Noll, Vo). */
function hash(text: string, seed: number): number {
  let value = (0x811c9dc5 ^ seed) >>> 0;
  for (const character of text) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return value;
}

/** Each word has this many places, so that two words seldom look alike. */
const PLACES = 4;

/**
 * The embedder. Any number of dimensions may be asked for.
 *
 * @example
 * ```ts
 * const database = await open({ schemas: [mail], models: { embedders: [new HashEmbedder("words")] } });
 * ```
 */
export class HashEmbedder implements Embedder {
  readonly id: string;
  readonly shape = "vector";
  readonly notice = "the hash embedder knows no meaning: it compares words";

  constructor(id: string) {
    this.id = id;
  }

  embed(request: EmbedRequest): Promise<readonly Embedding[]> {
    return Promise.resolve(request.texts.map((text) => ({ shape: "vector", values: bag(text, request.dimensions) })));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** A unit vector; that of a text without words is the first axis. */
function bag(text: string, dimensions: number): Float32Array {
  const values = new Float32Array(dimensions);
  for (const word of text
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []) {
    for (let place = 0; place < PLACES; place += 1) {
      const index = hash(word, place) % dimensions;
      const sign = hash(word, place + PLACES) & 1 ? 1 : -1;
      values[index] = (values[index] ?? 0) + sign;
    }
  }
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  if (length === 0) values[0] = 1;
  else for (let index = 0; index < dimensions; index += 1) values[index] = (values[index] ?? 0) / length;
  return values;
}
