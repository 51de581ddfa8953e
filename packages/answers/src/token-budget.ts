/** How many tokens a text takes. */

/** Counts the tokens of a text, with the tokenizer of whichever model will read it. */
export type TokenCounter = (text: string) => number;

const BYTES = new TextEncoder();

/**
 * The count that is used when no tokenizer is given: the bytes of the text in UTF-8. Tokenizers over bytes (those of
 * GPT, Llama 3, Mistral, Qwen and their kin) make every token of one byte at least, so the true number is never larger. It
 * is about four times as large as the true one for English text: give `countTokens` to fill a window exactly.
 *
 * @example
 * ```ts
 * tokensAtMost("née"); // 4: never fewer than any tokenizer of bytes
 * ```
 */
export function tokensAtMost(text: string): number {
  return BYTES.encode(text).length;
}
