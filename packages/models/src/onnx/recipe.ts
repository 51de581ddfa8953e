/**
 * How a transformer is asked, and what is made of what it gives: the settings of a component of services.xml, with
 * Vespa's names, defaults and formulas (documentation of embedders; `model-integration/src/main/java/ai/vespa/embedding`).
 * A recipe travels to the threads of the model.
 */
import type { Purpose } from "../embedder.ts";

/** What is made of the output. */
export type Reduction =
  /** Hugging Face and BERT embedders: one vector a text. `none`: the model has pooled already. */
  | { readonly kind: "pool"; readonly strategy: "mean" | "cls" | "none"; readonly normalize: boolean }
  /** ColBERT: one vector a token. */
  | {
      readonly kind: "rows";
      readonly queryTokensMax: number;
      readonly documentTokensMax: number;
      readonly queryTokenId: number;
      readonly documentTokenId: number;
      readonly startTokenId: number;
      readonly endTokenId: number;
      readonly maskTokenId: number;
      readonly attendToExpansion: boolean;
    }
  /** SPLADE: a weight for each entry of the vocabulary that scores more than the threshold. */
  | { readonly kind: "weights"; readonly threshold: number };

/** A transformer with its tokenizer. */
export interface Recipe {
  /** Path of the ONNX file. */
  readonly model: string;
  /** Path of `tokenizer.json`, or of a WordPiece `vocab.txt`. */
  readonly tokenizer: string;
  /** Tokens at most, special ones included. */
  readonly tokensMax: number;
  /** The tokens that begin and end a sequence, where they are not those that the tokenizer says. */
  readonly frame?: { readonly start: number; readonly end: number };
  /** Text put before a text, as it is. */
  readonly prepend: Readonly<Record<Purpose, string>>;
  readonly inputIds: string;
  readonly attentionMask: string;
  /** Nothing: the model does not take it. */
  readonly tokenTypeIds?: string;
  readonly output: string;
  readonly reduction: Reduction;
}

/** Threads of one session of the runtime. 0 takes every core. */
export interface SessionThreads {
  readonly intraOp: number;
  readonly interOp: number;
  readonly executionMode: "sequential" | "parallel";
}

/** A text to embed. */
export interface TextJob {
  readonly text: string;
  readonly purpose: Purpose;
  readonly dimensions: number;
}

/** What a session's thread is started with: a transformer that embeds texts, or a model of a rank profile. */
export type SessionData =
  | { readonly kind: "transformer"; readonly recipe: Recipe; readonly threads: SessionThreads }
  | { readonly kind: "model"; readonly path: string; readonly name: string; readonly threads: SessionThreads };

/** What is told to the thread of a session: texts for a transformer, runs for a model. */
export type ThreadRequest =
  | { readonly kind: "run"; readonly call: number; readonly jobs: readonly unknown[] }
  | { readonly kind: "close" };

/** What the thread says. */
export type ThreadReply =
  | { readonly kind: "ready"; readonly openedMs: number; readonly width?: number }
  /** The model cannot be opened, and will not be the next time; the thread ends. */
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "done"; readonly call: number; readonly results: readonly unknown[]; readonly tokens?: number }
  | { readonly kind: "failed"; readonly call: number; readonly message: string; readonly callers: boolean };
