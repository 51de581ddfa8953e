/** A tokenizer as an embedder: the ids of a text's tokens, with zeros after the last. What cross-encoders are given. */
import type { Embedder, Embedding, EmbedRequest } from "../embedder.ts";
import { SAMPLE, Tokens } from "./tokens.ts";

/** How texts become tokens. */
export interface TokenizerEmbedderOptions {
  readonly id: string;
  /** Path of `tokenizer.json`, or of a WordPiece `vocab.txt`. */
  readonly tokenizer: string;
  /** Tokens at most; as many as the tensor has places, unless that is fewer. */
  readonly tokensMax?: number;
  /** Whether the tokens that begin and end a sequence are among them. Yes, unless it is said. */
  readonly specialTokens?: boolean;
}

/** The embedder. The file is read when it is first needed. */
export class TokenizerEmbedder implements Embedder {
  readonly id: string;
  readonly shape = "vector";
  readonly #options: TokenizerEmbedderOptions;
  #tokens: Tokens | undefined;

  constructor(options: TokenizerEmbedderOptions) {
    this.id = options.id;
    this.#options = options;
  }

  embed({ texts, dimensions }: EmbedRequest): Promise<readonly Embedding[]> {
    const { tokensMax = Number.POSITIVE_INFINITY, specialTokens = true } = this.#options;
    const max = Math.min(tokensMax, dimensions);
    const tokens = this.#read();
    return Promise.resolve(
      texts.map((text) => {
        const values = new Float32Array(dimensions);
        values.set(specialTokens ? tokens.withSpecial(text, max) : tokens.plain(text, max));
        return { shape: "vector", values };
      }),
    );
  }

  /** Reads the file, and has tokens made of a text: what is no vocabulary is found so. */
  warm(): Promise<void> {
    return new Promise((resolve) => {
      this.#read().withSpecial(SAMPLE);
      resolve();
    });
  }

  #read(): Tokens {
    this.#tokens ??= new Tokens(this.#options.tokenizer, Number.POSITIVE_INFINITY);
    return this.#tokens;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
