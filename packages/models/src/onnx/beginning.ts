/**
 * How much of a text has to be read for its first tokens. Most tokenizers split a text at spaces before anything else, and change
 * its characters in place: then what comes after a space changes no token before it. Of others the whole text is read.
 */

/** A part of `tokenizer.json`. */
interface Part {
  readonly type?: string;
  readonly normalizers?: readonly Part[];
  readonly pretokenizers?: readonly Part[];
  readonly pattern?: { readonly Regex?: string };
  readonly use_regex?: boolean;
  readonly handle_chinese_chars?: boolean;
  readonly [more: string]: unknown;
}

/** What is read of `tokenizer.json`. */
export interface Description {
  readonly truncation?: { readonly strategy: string; readonly max_length: number } | null;
  readonly normalizer?: Part | null;
  readonly pre_tokenizer?: Part | null;
  readonly added_tokens?: readonly { readonly content: string }[];
  readonly model?: { readonly type?: string; readonly vocab?: unknown; readonly [more: string]: unknown };
}

/** Normalizers that make of what is before a space the same, whatever comes after it. */
const LOCAL: readonly (string | undefined)[] = [
  "BertNormalizer",
  "Precompiled",
  "NFC",
  "NFD",
  "NFKC",
  "NFKD",
  "Lowercase",
  "StripAccents",
  "Strip",
];
/** What splits at every space; in byte level a space belongs to the word after it. */
const SPLITTERS: readonly (string | undefined)[] = ["BertPreTokenizer", "WhitespaceSplit", "Whitespace", "ByteLevel"];
/** Characters for a token: more than words have, so that a text is seldom read again. */
const TOKEN_CHARACTERS = 8;

/** The end of a word that a space follows. */
const WORD_END = String.raw`[\p{L}\p{N}\p{P}](?= )`;
/** A place between two ideographs of Chinese and Japanese, each of which is a word to BERT. */
const IDEOGRAPH_END = String.raw`[\u3400-\u4DBF\u4E00-\u9FFF](?=[\u3400-\u4DBF\u4E00-\u9FFF])`;
const EITHER_END: RegExp = new RegExp(`${WORD_END}|${IDEOGRAPH_END}`, "u");

/** Where a text may be cut, so that the tokens before are the same without what comes after it; nothing: nowhere. */
export function cutOf({ normalizer, pre_tokenizer, added_tokens = [], model }: Description): RegExp | undefined {
  const [splitter] = pre_tokenizer?.pretokenizers ?? [pre_tokenizer ?? {}];
  const normalizers = normalizer?.normalizers ?? [normalizer ?? { type: "Strip" }];
  const areLocal = normalizers.every(
    // Of a run of spaces the first is where the text is cut.
    ({ type, pattern }) => LOCAL.includes(type) || (type === "Replace" && pattern?.Regex === " {2,}"),
  );
  const areWords = added_tokens.every(({ content }) => !(/\S\s/.test(content) || EITHER_END.test(content)));
  if (!areLocal || !areWords) return undefined;
  if (splitter?.type === "Metaspace")
    return model?.type === "Unigram" && haveNoWords(model.vocab) ? new RegExp(WORD_END, "gu") : undefined;
  if (!SPLITTERS.includes(splitter?.type) || splitter?.use_regex === false) return undefined;
  const partsIdeographs = normalizers.some(
    (part) => part.type === "BertNormalizer" && part.handle_chinese_chars === true,
  );
  return new RegExp(partsIdeographs ? EITHER_END : WORD_END, "gu");
}

/** Whether no entry of a vocabulary of SentencePiece reaches from one word into the next. */
function haveNoWords(vocab: unknown): boolean {
  return Array.isArray(vocab) && vocab.every(([entry]) => !/[^▁]▁/.test(String(entry)));
}

/** The beginning of a text that holds so many tokens unless its words are unusual; the whole text where it is not much more. */
export function beginningOf(text: string, tokens: number, cut: RegExp): string {
  cut.lastIndex = tokens * TOKEN_CHARACTERS;
  if (text.length < 2 * cut.lastIndex || !cut.test(text)) return text;
  return text.slice(0, cut.lastIndex);
}
