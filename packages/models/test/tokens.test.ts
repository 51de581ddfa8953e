/** The first tokens of long texts are those of the whole, and only as much is read as they need. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { type PairModel, PairPieces } from "../src/onnx/pair-pieces.ts";
import { Tokens } from "../src/onnx/tokens.ts";

// The class as it is loaded for a model.
const { Tokenizer } = createRequire(import.meta.url)(
  "@huggingface/tokenizers",
) as typeof import("@huggingface/tokenizers");
const folder = mkdtempSync(join(tmpdir(), "brooklet-tokens-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LETTERS = [..."abcdefghijklmnoprstuvz,.!'é▁Ġ漢字", "th", "▁t", "▁th", "▁▁", "in"];
const bert = {
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
  pre_tokenizer: { type: "BertPreTokenizer" },
  model: {
    type: "WordPiece",
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
    vocab: ["[UNK]", ...LETTERS, ...LETTERS.map((letter) => `##${letter}`)],
  },
};
const unigram = {
  normalizer: {
    type: "Sequence",
    normalizers: [{ type: "Precompiled" }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }],
  },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always" },
  model: { type: "Unigram", unk_id: 0, vocab: ["[UNK]", ...LETTERS].map((entry) => [entry, -entry.length / 3]) },
};
const bytes = {
  normalizer: { type: "NFC" },
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: true },
  model: { type: "BPE", unk_token: "[UNK]", vocab: ["[UNK]", ...LETTERS, "Ġt"], merges: ["t h", "i n", "Ġ t"] },
};
const across = { ...unigram, model: { ...unigram.model, vocab: [...unigram.model.vocab, ["n▁t", -0.1]] } };

type Made = typeof bert | typeof unigram | typeof bytes;

function tokensOf(name: string, description: Made): Tokens {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(wholeOf(description)));
  return new Tokens(path, Number.POSITIVE_INFINITY);
}

function wholeOf(description: Made) {
  const { vocab } = description.model;
  const isList = description.model.type === "Unigram";
  const numbered = isList ? vocab : Object.fromEntries(vocab.map((entry, id) => [entry, id]));
  return {
    version: "1.0",
    truncation: null,
    added_tokens: ["<s>", "</s>"].map((content, at) => ({ id: 200 + at, content, special: true, normalized: false })),
    post_processor: { type: "RobertaProcessing", cls: ["<s>", 200], sep: ["</s>", 201] },
    decoder: null,
    ...description,
    model: { ...description.model, vocab: numbered },
  };
}

/** One of a list, another at each call. */
function chooser(): <T>(of: readonly T[]) => T {
  let state = 7;
  return (of) => {
    state = (state * 48_271) % 2_147_483_647;
    return of[state % of.length] as (typeof of)[number];
  };
}

/** Texts of words, spaces, and what is no word. */
function* texts(): Generator<string> {
  const any = chooser();
  const PARTS = [
    "the",
    "thin",
    "in",
    ",",
    ". ",
    " ",
    "  ",
    "\n",
    "é",
    "e\u0301",
    "漢字",
    "漢字字漢".repeat(9),
    "漢\u3099字",
    "～",
    "</s>",
    "\u200b",
    "😀",
    "q",
    "Σ",
    "\0",
    "zz'",
  ];
  for (let round = 0; round < 20; round += 1) {
    yield Array.from({ length: 400 }, () => any(PARTS) + any(["", " ", " "])).join("");
  }
}

test.each([
  ["WordPiece", bert],
  ["Unigram", unigram],
  ["BPE", bytes],
  ["Unigram with entries of two words", across],
])("%s: the first tokens are those of the whole text", (name, description) => {
  const tokens = tokensOf(name, description);
  for (const text of texts()) {
    const all = tokens.plain(text);
    for (const max of [3, 20, 50]) {
      expect(tokens.plain(text, max)).toEqual(all.slice(0, max));
      expect(tokens.withSpecial(text, max)).toEqual([200, ...all.slice(0, max - 2), 201]);
    }
  }
});

test("a long text is read once, and of words no more than its beginning", () => {
  const encode = vi.spyOn(Tokenizer.prototype as { encode(text: string): unknown }, "encode");
  const read = () => encode.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
  const long = "the thin, ".repeat(5000);
  for (const [name, description, most] of [
    ["WordPiece", bert, 1000],
    ["Unigram", unigram, 1000],
    ["BPE", bytes, 1000],
    ["across", across, long.length + 10],
  ] as const) {
    encode.mockClear();
    tokensOf(name, description).withSpecial(long, 16);
    expect(read(), name).toBeLessThan(most);
  }
  encode.mockClear();
  tokensOf("ideographs", bert).withSpecial("漢字".repeat(5000), 16);
  expect(read()).toBeLessThan(1000);
  // What makes few tokens is read to its end.
  const few = `${"\0".repeat(900)} thin`.repeat(3);
  expect(tokensOf("few", bert).plain(few, 16)).toEqual(tokensOf("few", bert).plain("thin thin thin"));
  encode.mockRestore();
});

/** Pieces that are as good as others, those that are parts of others, and those that have no number. */
const ties = {
  ...unigram,
  model: {
    ...unigram.model,
    vocab: ["[UNK]", ..."abcd漢", "aa", "aab", "bab", "漢漢", "abcdabcd", "字漢漢漢"].map((entry) => [
      entry,
      -entry.length * 0.1,
    ]),
  },
};

test.each([
  ["WordPiece", bert],
  ["Unigram", unigram],
  ["Unigram with ties", ties],
  ["BPE", bytes],
])("%s: of a text without spaces the first tokens are those that the library gives the whole", (name, description) => {
  const tokens = tokensOf(name, description as Made);
  const library = new Tokenizer(wholeOf(description as Made), {});
  const any = chooser();
  for (let round = 0; round < 60; round += 1) {
    const parts = any([
      ["a", "b"],
      [..."abcd漢字"],
      ["aab", "漢", ",", "q", "thin"],
      ["字", "漢漢", "😀", "e\u0301", "</s>", "w"],
    ]);
    const text = Array.from({ length: 900 }, () => any(parts)).join("");
    const { ids } = library.encode(text, { add_special_tokens: false });
    for (const max of [1, 7, 60, 400, 2000]) expect(tokens.plain(text, max), text).toEqual(ids.slice(0, max));
  }
});

/** A model of pairs that were chosen by chance out of letters and of what earlier pairs make. */
function pairs(letters: readonly string[], most: number, more: object = {}) {
  const any = chooser();
  const made = [...letters];
  const merges = new Set<string>();
  while (merges.size < most) {
    const [left, right] = [any(made), any(made)];
    if (left.length + right.length > 12) continue;
    merges.add(`${left} ${right}`);
    made.push(left + right);
  }
  const vocab = ["[UNK]", ...new Set(made)];
  return { ...bytes, model: { type: "BPE", unk_token: "[UNK]", vocab, merges: [...merges], ...more } };
}

test.each([
  ["few pairs", pairs(["a", "b"], 6)],
  ["many pairs", pairs(["a", "b", "c", "d"], 300)],
  ["pairs with what ends a word", pairs(["a", "b", "c", "d", "a$", "b$"], 100, { end_of_word_suffix: "$" })],
  ["pairs and bytes", pairs(["a", "b", "Ã", "©"], 40, { byte_fallback: true })],
  ["words before pairs", pairs(["a", "b", "c"], 60, { ignore_merges: true })],
])("of a long word the first tokens are those that the library gives the whole: %s", (name, description) => {
  const tokens = tokensOf(name, description as Made);
  const library = new Tokenizer(wholeOf(description as Made), {});
  const any = chooser();
  for (let round = 0; round < 8; round += 1) {
    const parts = any([["a"], ["a", "b"], ["abab", "ba", "c"], [..."abcd"], ["a", "b", "z", "é", "漢"]]);
    const text = Array.from({ length: 9_000 }, () => any(parts)).join("");
    const { ids } = library.encode(text, { add_special_tokens: false });
    for (const max of [1, 60, 1_000, 50_000]) expect(tokens.plain(text, max), name).toEqual(ids.slice(0, max));
  }
});

test("of a word of a megabyte no more is read than its first tokens need", () => {
  const { model } = new Tokenizer(wholeOf(pairs(["a", "b", "c", "d"], 30) as Made), {});
  const [first = []] = new PairPieces(model as unknown as PairModel).parts("abdc".repeat(250_000));
  expect(first.join("").length).toBeLessThan(2_000);
});

test("a text without spaces that has more pieces than a call has arguments is read", () => {
  const text = "漢字thin".repeat(50_000);
  const pieces = tokensOf("long word", unigram).plain(text, 16);
  expect(pieces).toEqual(tokensOf("long word", unigram).plain(text.slice(0, 300), 16));
  expect(pieces).toHaveLength(16);
  // What has no number is one token, however much of it there is.
  expect(tokensOf("long word", unigram).plain("ж".repeat(300_000), 16)).toEqual(
    tokensOf("long word", unigram).plain("жж", 16),
  );
});
