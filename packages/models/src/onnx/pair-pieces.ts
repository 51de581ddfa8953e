/**
 * The pieces of a long word by a model of byte pairs (Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units"): of
 * the neighbours that may become one those of the lowest rank do first, and of equal ones the first in the word. The library
 * keeps an object for each character and a text for each pair, which is half a minute for a megabyte without spaces. Here they are
 * numbers, and a word is read part by part, parted where no piece can reach across.
 */

/** What is used of the library's model. */
export interface PairModel {
  /** Ranks by pairs, each written as JSON. */
  readonly bpe_ranks: ReadonlyMap<string, number>;
  readonly end_of_word_suffix?: string | null;
  readonly continuing_subword_suffix?: string | null;
}

/** Characters of a text around a place, of which no piece has more in it: whether one can reach across is asked of so many. */
const REACH = 4;
/** Characters of a part at least; a word that is not longer than a few of them is left to the library. */
const PART_MIN = 1_024;
/** Ranks, and places in a word, are less than this: one number orders pairs by both. */
const PLACES = 2 ** 23;

/** The pairs of a model as numbers. */
export class PairPieces {
  /** The number of a text that is in a pair, or that one makes. */
  readonly #numbers = new Map<string, number>();
  /** The rank of a pair of numbers. */
  readonly #ranks = new Map<number, number>();
  /** The number that the pair of a rank becomes. */
  readonly #made: number[] = [];
  /** What pairs make where that is short, and all short texts within what is longer. */
  readonly #within = new Set<string>();

  constructor(model: PairModel) {
    for (const [pair, rank] of model.bpe_ranks) {
      const [left = "", right = ""] = JSON.parse(pair) as readonly string[];
      this.#made[rank] = this.#numberOf(left + right);
      this.#ranks.set(pairOf(this.#numberOf(left), this.#numberOf(right)), rank);
      this.#remember(Array.from(left + right));
    }
  }

  /** The pieces of a word, part by part. */
  *parts(word: string): Generator<string[]> {
    const characters = Array.from(word);
    for (let from = 0; from < characters.length; ) {
      const end = this.#endOf(characters, from);
      yield this.#merged(characters.slice(from, end));
      from = end;
    }
  }

  #numberOf(text: string): number {
    const number = this.#numbers.get(text) ?? this.#numbers.size;
    this.#numbers.set(text, number);
    return number;
  }

  #remember(characters: readonly string[]): void {
    if (characters.length <= REACH) this.#within.add(characters.join(""));
    for (let at = 0; at + REACH <= characters.length; at += 1)
      this.#within.add(characters.slice(at, at + REACH).join(""));
  }

  /** Where the part ends that begins at a place: no piece reaches across. */
  #endOf(characters: readonly string[], from: number): number {
    for (let end = from + PART_MIN; end < characters.length; end += 1) {
      if (!this.#isReachedAcross(characters, end)) return end;
    }
    return characters.length;
  }

  /** Whether a piece may have both the character at a place and the one before it. */
  #isReachedAcross(characters: readonly string[], place: number): boolean {
    for (let length = 2; length <= REACH; length += 1) {
      for (let at = place - length + 1; at < place; at += 1) {
        if (this.#within.has(characters.slice(at, at + length).join(""))) return true;
      }
    }
    return false;
  }

  /** The pieces of one part: pairs are merged until no neighbours are one. */
  #merged(texts: string[]): string[] {
    const numbers = Int32Array.from(texts, (text) => this.#numbers.get(text) ?? -1);
    const ends = Int32Array.from(texts, (_, at) => at + 1);
    const starts = Int32Array.from(texts, (_, at) => at - 1);
    const due = new Due(texts.length);
    const look = (at: number) => {
      const right = ends[at] as number;
      const rank = right < texts.length ? this.#rankOf(numbers[at] as number, numbers[right] as number) : undefined;
      due.set(at, rank);
    };
    for (let at = 0; at < texts.length; at += 1) look(at);
    for (let next = due.take(); next !== undefined; next = due.take()) {
      const { at, rank } = next;
      const right = ends[at] as number;
      const end = ends[right] as number;
      numbers[at] = this.#made[rank] as number;
      ends[at] = end;
      due.set(right, undefined);
      if (end < texts.length) starts[end] = at;
      look(at);
      if ((starts[at] as number) >= 0) look(starts[at] as number);
    }
    const pieces: string[] = [];
    for (let at = 0; at < texts.length; at = ends[at] as number) pieces.push(texts.slice(at, ends[at]).join(""));
    return pieces;
  }

  #rankOf(left: number, right: number): number | undefined {
    return left < 0 || right < 0 ? undefined : this.#ranks.get(pairOf(left, right));
  }
}

/** Whether a word is long enough for this, and the model one of plain pairs: of few, what ends a word has texts of its own. */
export function isLongFor(model: object, word: string): model is PairModel {
  if (word.length <= 4 * PART_MIN || word.length >= PLACES || !("bpe_ranks" in model)) return false;
  const { end_of_word_suffix: end, continuing_subword_suffix: within } = model as PairModel;
  return (end ?? "") === "" && (within ?? "") === "";
}

/** Numbers are of fewer than 2^26 texts, as ranks are. */
function pairOf(left: number, right: number): number {
  return left * 2 ** 26 + right;
}

/** Which pair is merged next: a heap of ranks and places, in which one stays that is no more what it was, and is passed over. */
class Due {
  readonly #heap: number[] = [];
  /** The rank of the pair that begins at a place; -1: there is none. */
  readonly #ranks: Int32Array;

  constructor(places: number) {
    this.#ranks = new Int32Array(places).fill(-1);
  }

  /** What the pair at a place is now; nothing: no pair. */
  set(at: number, rank: number | undefined): void {
    this.#ranks[at] = rank ?? -1;
    if (rank !== undefined) this.#push(rank * PLACES + at);
  }

  take(): { readonly at: number; readonly rank: number } | undefined {
    for (let least = this.#pop(); least !== undefined; least = this.#pop()) {
      const at = least % PLACES;
      const rank = (least - at) / PLACES;
      if (this.#ranks[at] === rank) return { at, rank };
    }
    return undefined;
  }

  #push(value: number): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(value);
    while (at > 0) {
      const above = (at - 1) >> 1;
      if ((heap[above] as number) <= value) break;
      heap[at] = heap[above] as number;
      at = above;
    }
    heap[at] = value;
  }

  #pop(): number | undefined {
    const heap = this.#heap;
    const least = heap[0];
    const value = heap.pop();
    if (value === undefined || heap.length === 0) return least;
    let at = 0;
    for (let below = 1; below < heap.length; below = 2 * at + 1) {
      if (below + 1 < heap.length && (heap[below + 1] as number) < (heap[below] as number)) below += 1;
      if ((heap[below] as number) >= value) break;
      heap[at] = heap[below] as number;
      at = below;
    }
    heap[at] = value;
    return least;
  }
}
