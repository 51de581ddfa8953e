/** Text → token ids, as the tokenizer of a model says, cut to what the model takes. */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { ServiceError } from "@brooklet/wire";
import type { Tokenizer } from "@huggingface/tokenizers";
import { beginningOf, cutOf, type Description } from "./beginning.ts";
import { withoutFolders } from "./file-name.ts";
import { FirstPieces, type PieceModel } from "./first-pieces.ts";
import { noTokenizers, requireOf, TOKENIZERS } from "./runtime.ts";

/** What is used of the library's tokenizer. */
interface Encoder {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  decode(ids: number[], options?: { skip_special_tokens?: boolean }): string;
  readonly model: PieceModel;
}

/** Characters that ColBERT leaves out of documents. */
const PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/** Special tokens that stand around a text at most. */
const ADDED_MAX = 8;
/** A text that every tokenizer has tokens for. */
export const SAMPLE = "a";

/** A tokenizer that knows its model's limit. */
export class Tokens {
  readonly #name: string;
  readonly #encoder: Encoder;
  /** More pieces than these are not made of a text. */
  #piecesMax = Number.POSITIVE_INFINITY;
  /** Tokens at most. */
  readonly max: number;
  readonly #cut: RegExp | undefined;
  #around: { readonly before: number; readonly after: number } | undefined;
  #punctuation: ReadonlySet<number> | undefined;

  constructor(path: string, tokensMax: number) {
    this.#name = basename(path);
    const text = textOf(path);
    const Library = tokenizerClass();
    let description: Description;
    try {
      description = path.endsWith(".txt") ? wordPiece(text) : (JSON.parse(text) as Description);
      this.#encoder = new Library(description, {}) as Encoder;
    } catch (cause) {
      const why = withoutFolders(cause instanceof Error ? cause.message : String(cause), path);
      throw new ServiceError("BAD_REQUEST", `The tokenizer ${this.#name} cannot be used: ${why}`, { cause });
    }
    const { model } = this.#encoder;
    const whole: PieceModel = Object.create(model, { encode: { value: model.encode.bind(model) } });
    const first = new FirstPieces(whole);
    model.encode = (words) => first.of(words, this.#piecesMax);
    this.#cut = cutOf(description);
    const own = description.truncation;
    this.max = own?.strategy === "LongestFirst" && own.max_length > 0 ? own.max_length : tokensMax;
  }

  /** With special tokens; too long a text loses its end, the special tokens stay. */
  withSpecial(text: string, max: number = this.max): number[] {
    const all = this.#first(text, max, true);
    if (all.length <= max) return all;
    this.#around ??= this.#specialAround();
    const { before, after } = this.#around;
    const own = Math.max(0, max - before - after);
    return [...all.slice(0, before + own), ...all.slice(all.length - after)].slice(0, max);
  }

  /** Without special tokens. */
  plain(text: string, max: number = this.max): number[] {
    const ids = this.#first(text, max, false);
    return ids.length > max ? ids.slice(0, max) : ids;
  }

  /** The ids of a text; of one that has more than `max` perhaps of its beginning alone, which then has more, too. */
  #first(text: string, max: number, hasSpecial: boolean): number[] {
    this.#piecesMax = max + ADDED_MAX;
    const beginning = this.#cut ? beginningOf(text, max, this.#cut) : text;
    const ids = this.#ids(beginning, hasSpecial);
    const isEnough = beginning.length === text.length || ids.length > max + ADDED_MAX;
    return isEnough ? ids : this.#ids(text, hasSpecial);
  }

  /** How many special tokens stand before a text and after it: as many as around any other. */
  #specialAround(): { readonly before: number; readonly after: number } {
    const [all, plain] = [this.#ids(SAMPLE, true), this.#ids(SAMPLE, false)];
    const special = all.length - plain.length;
    const before = firstDifference(all, plain, special);
    return { before, after: special - before };
  }

  /** What is no vocabulary gives no number even for what it does not know. */
  #ids(text: string, hasSpecial: boolean): number[] {
    const { ids } = this.#encoder.encode(text, { add_special_tokens: hasSpecial });
    if (ids.every(Number.isInteger)) return ids;
    const lacking = "it has no number for a token of the text, and none for unknown ones";
    throw new ServiceError("BAD_REQUEST", `The tokenizer ${this.#name} cannot be used: ${lacking}. Is it the model's?`);
  }

  /** The text of one id. */
  decode(id: number): string {
    return this.#encoder.decode([id], { skip_special_tokens: false });
  }

  /** The ids that single punctuation characters have. */
  punctuation(): ReadonlySet<number> {
    this.#punctuation ??= new Set([...PUNCTUATION].flatMap((character) => this.plain(character)));
    return this.#punctuation;
  }
}

/** Which errors of the system may be over when it is asked again. */
const PASSING: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const { code } = Object(cause) as { readonly code?: unknown };
    const message = `The tokenizer ${basename(path)} cannot be read: ${code}`;
    throw new ServiceError(PASSING.has(code) ? "UNAVAILABLE" : "BAD_REQUEST", message, { cause });
  }
}

/** The library's class, loaded when a model needs it: it is an optional package, which no bundler may look for either. */
function tokenizerClass(): typeof Tokenizer {
  try {
    return (requireOf(TOKENIZERS)(TOKENIZERS) as { readonly Tokenizer: typeof Tokenizer }).Tokenizer;
  } catch (cause) {
    throw new ServiceError("BAD_REQUEST", noTokenizers(), { cause });
  }
}

/** How many special tokens come before the text: the first place at which the text's own ids stand. */
function firstDifference(all: readonly number[], plain: readonly number[], special: number): number {
  for (let before = 0; before <= special; before += 1) {
    if (plain.slice(0, 8).every((id, index) => all[before + index] === id)) return before;
  }
  return special;
}

/** What `tokenizer.json` would say of BERT's lower-cased WordPiece with this vocabulary, one entry a line. */
function wordPiece(vocabulary: string): Description & Record<string, unknown> {
  const entries = vocabulary.split(/\r?\n/).filter((line, index, lines) => line !== "" || index + 1 < lines.length);
  const vocab = Object.fromEntries(entries.map((entry, id) => [entry, id]));
  const special = ["[CLS]", "[SEP]"].map((token) => [token, vocab[token] ?? 0] as const);
  const [cls, sep] = special;
  return {
    version: "1.0",
    truncation: null,
    added_tokens: special.map(([content, id]) => ({ id, content, special: true, normalized: false })),
    normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
    pre_tokenizer: { type: "BertPreTokenizer" },
    post_processor: { type: "BertProcessing", cls, sep },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "[UNK]",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab,
    },
  };
}
