/**
 * The pieces that a text begins with, as the tokenizers' library gives them, and no more of the text read than they need. A text
 * without spaces is one word to the library: of a model of SentencePiece it builds all pieces of a megabyte before it gives one, in
 * seconds, and fails where they are more than a call may have arguments.
 */
import { isLongFor, type PairModel, PairPieces } from "./pair-pieces.ts";

/** What is used of the library's model. */
export interface PieceModel {
  encode(words: readonly string[]): string[];
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token_id: number | undefined;
}

/** What is used of its model of SentencePiece: the pieces that begin at a place, and what each of them counts. */
export interface UnigramModel extends PieceModel {
  readonly trie: { common_prefix_search(characters: readonly string[], at: number): Iterable<string> };
  readonly scores: readonly number[];
  readonly unk_score: number;
}

function isUnigram(model: PieceModel): model is UnigramModel {
  return "trie" in model && "unk_score" in model;
}

/** The pieces that words begin with, by one model. */
export class FirstPieces {
  readonly #model: PieceModel;
  /** Made for the first word that is long. */
  #pairs: PairPieces | undefined;

  constructor(model: PieceModel) {
    this.#model = model;
  }

  /** The pieces of words until more than `most` of them have numbers of their own; of all words if there are not so many. */
  of(words: readonly string[], most: number): string[] {
    const model = this.#model;
    const pieces: string[] = [];
    let left = most;
    for (const word of words) {
      const own = this.#ofWord(word, left);
      // Not as arguments of one call: a word may have more than it takes.
      for (const piece of own) pieces.push(piece);
      left -= knownIn(model, own);
      if (left < 0) break;
    }
    return pieces;
  }

  #ofWord(word: string, most: number): readonly string[] {
    const model = this.#model;
    if (isUnigram(model)) return fused(model, unigramPieces(model, word, most));
    // A word that is a token as a whole may be one before anything is merged.
    if (!isLongFor(model, word) || model.tokens_to_ids.has(word)) return model.encode([word]);
    return this.#ofLong(model, word, most);
  }

  #ofLong(model: PieceModel & PairModel, word: string, most: number): readonly string[] {
    this.#pairs ??= new PairPieces(model);
    const pieces: string[] = [];
    let left = most;
    for (const part of this.#pairs.parts(word)) {
      // What a piece becomes that has no number, the library knows: bytes, or the one that stands for all such.
      const own = part.flatMap((piece) => (model.tokens_to_ids.has(piece) ? piece : model.encode([piece])));
      for (const piece of own) pieces.push(piece);
      left -= knownIn(model, own);
      if (left < 0) break;
    }
    return pieces;
  }
}

/** How many pieces have numbers of their own: of those that have none, neighbours may become one. */
function knownIn(model: PieceModel, pieces: readonly string[]): number {
  return pieces.filter((piece) => isKnown(model, piece)).length;
}

function isKnown({ tokens_to_ids, unk_token_id }: PieceModel, piece: string): boolean {
  return (tokens_to_ids.get(piece) ?? unk_token_id) !== unk_token_id;
}

/**
 * Of neighbours without a number one, as they are one token of SentencePiece. The library joins their texts, and looks each of them up
 * again: of a text in a script that the model does not know the square of its length.
 */
function fused(model: UnigramModel, pieces: readonly string[]): string[] {
  const known = pieces.map((piece) => isKnown(model, piece));
  return pieces.filter((_, at) => known[at] || at === 0 || known[at - 1]);
}

/** Before so many characters it is not asked whether the first pieces are decided. */
const UNDECIDED = 64;

/** The best way through a word (Viterbi), with the library's sums in its order; it ends once enough pieces are in every way on. */
function unigramPieces(model: UnigramModel, word: string, most: number): string[] {
  const characters = Array.from(word);
  const ways = new Ways();
  let asked = most + UNDECIDED;
  for (let at = 0; at < characters.length; at += 1) {
    if (at >= asked) {
      const decided = ways.decided(at).map((piece) => textOf(characters, piece));
      if (knownIn(model, decided) > most) return decided;
      asked = 2 * at;
    }
    let isSingle = false;
    for (const text of model.trie.common_prefix_search(characters, at)) {
      const length = Array.from(text).length;
      isSingle ||= length === 1;
      ways.add(at, length, model.scores[model.tokens_to_ids.get(text) ?? -1] ?? Number.NaN);
    }
    if (!isSingle) ways.add(at, 1, model.unk_score);
  }
  return ways.best(characters.length).map((piece) => textOf(characters, piece));
}

/** A piece of a word: where it begins, and how long it is. */
interface Piece {
  readonly at: number;
  readonly length: number;
}

interface Step extends Piece {
  /** Of the best way to its end. */
  readonly score: number;
  /** The number of the step before it; -1: the way begins with it. */
  readonly before: number;
}

/** The best ways to each place of a word. */
class Ways {
  readonly #steps: Step[] = [];
  /** The numbers of the steps that end at a place. */
  readonly #ends: number[][] = [];

  /** A piece, with the best of the ways to where it begins; of equal ones the first. */
  add(at: number, length: number, score: number): void {
    const best = at === 0 ? { before: -1, score } : this.#bestBefore(at, score);
    const end = at + length;
    this.#ends[end] ??= [];
    this.#ends[end].push(this.#steps.length);
    this.#steps.push({ at, length, ...best });
  }

  /** The best way to a place. */
  best(end: number): Piece[] {
    return end === 0 ? [] : this.#wayTo(this.#bestBefore(end, 0).before);
  }

  /** The pieces that are in the best way to any place from `at` on, whatever comes there; all that begin before have been added. */
  decided(at: number): Piece[] {
    const open = new Set(this.#ends.slice(at).flat());
    while (open.size > 1) {
      // A step's number is greater than those of the steps before it.
      const last = Math.max(...open);
      open.delete(last);
      open.add(this.#steps[last]?.before ?? -1);
    }
    const [common = -1] = open;
    return this.#wayTo(common);
  }

  #bestBefore(at: number, own: number): { readonly before: number; readonly score: number } {
    let [before, score] = [-1, 0];
    for (const number of this.#ends[at] ?? []) {
      const sum = (this.#steps[number]?.score ?? 0) + own;
      if (before < 0 || sum > score) [before, score] = [number, sum];
    }
    return { before, score };
  }

  #wayTo(last: number): Piece[] {
    const way: Piece[] = [];
    for (let number = last; number >= 0; number = this.#steps[number]?.before ?? -1) {
      const step = this.#steps[number];
      if (step !== undefined) way.push(step);
    }
    return way.reverse();
  }
}

function textOf(characters: readonly string[], { at, length }: Piece): string {
  return characters.slice(at, at + length).join("");
}
