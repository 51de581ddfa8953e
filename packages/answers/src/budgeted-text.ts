/** Texts within a budget of tokens. */
import type { TokenCounter } from "./token-budget.ts";

/** What stands between two passages when their tokens are counted. */
const PASSAGE_SEPARATOR = "\n\n";

/**
 * The texts that were taken, joined, and their tokens. Each text is counted by itself, since counting all of it for every one that is
 * tried takes the square of the time; all of it is counted where what joins could save enough for one more, and at the end.
 */
export class BudgetedText {
  readonly #countTokens: TokenCounter;
  readonly #budget: number;
  /** What a counter says of nothing: of tokens that begin and end a text. */
  readonly #ofNothing: number;
  readonly #texts: string[] = [];
  /** Counted exactly up to so many texts. */
  #exact = 0;
  /** Tokens of all texts that were added. */
  tokens = 0;

  constructor(countTokens: TokenCounter, budget: number) {
    this.#countTokens = countTokens;
    this.#budget = budget;
    this.#ofNothing = countTokens("");
  }

  /** Whether a text can be added. */
  fits(text: string): boolean {
    const cost = this.#cost(text);
    // A token may go over the place where two texts meet.
    const unsure = this.#texts.length - this.#exact;
    if (Math.abs(this.tokens + cost - this.#budget) <= unsure) this.#count();
    return this.tokens + cost <= this.#budget;
  }

  /** Adds a text. */
  add(text: string): void {
    this.tokens += this.#cost(text);
    this.#texts.push(text);
  }

  /** Takes back what does not fit after all; how many texts there are. */
  end(): number {
    this.#count();
    while (this.tokens > this.#budget && this.#texts.pop() !== undefined) this.#count();
    return this.#texts.length;
  }

  #cost(text: string): number {
    if (this.#texts.length === 0) return this.#countTokens(text);
    return this.#countTokens(PASSAGE_SEPARATOR + text) - this.#ofNothing;
  }

  #count(): void {
    this.#exact = this.#texts.length;
    this.tokens = this.#exact === 0 ? 0 : this.#countTokens(this.#texts.join(PASSAGE_SEPARATOR));
  }
}

/**
 * A counter whose counts can be compared: what is no number, as the promise of one that counts later, would be more than any budget, or
 * less than all. Throws a `RangeError` for it.
 */
export function checkedCounter(countTokens: TokenCounter): TokenCounter {
  return (text) => {
    const count = countTokens(text);
    if (Number.isFinite(count) && count >= 0) return count;
    throw new RangeError(`countTokens gave ${count}: it has to give a number that is not negative, and no promise`);
  };
}
