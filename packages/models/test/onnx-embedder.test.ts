/** Embedders of a real runtime over a tiny model: formulas, batches, closing. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { testEmbedder } from "../src/contract.ts";
import { deadlineIn, type Purpose } from "../src/embedder.ts";
import { OnnxEmbedder } from "../src/onnx/onnx-embedder.ts";
import type { Recipe, Reduction } from "../src/onnx/recipe.ts";
import { DOUBLE, HALF, INT8, INT32 } from "./onnx-file.ts";
import { tinyModel, tokenVector, typedModel, WIDTH } from "./tiny-model.ts";

const files = tinyModel();
const MEAN: Reduction = { kind: "pool", strategy: "mean", normalize: false };

function recipe(reduction: Reduction = MEAN, changes: Partial<Recipe> = {}): Recipe {
  return {
    ...files,
    tokensMax: 16,
    prepend: { document: "", query: "" },
    inputIds: "input_ids",
    attentionMask: "attention_mask",
    tokenTypeIds: "token_type_ids",
    output: "last_hidden_state",
    reduction,
    ...changes,
  };
}

async function embed(of: Recipe, texts: string[], purpose: Purpose = "document", dimensions: number = WIDTH) {
  const embedder = new OnnxEmbedder({ id: "tiny", recipe: of, cores: 2 });
  try {
    return await embedder.embed({ texts, purpose, dimensions, deadline: deadlineIn(30_000) });
  } finally {
    await embedder.close();
  }
}

const mean = (ids: readonly number[], dimensions: number = WIDTH) =>
  Array.from({ length: dimensions }, (_, dimension) =>
    Math.fround(ids.reduce((sum, id) => sum + (tokenVector(id)[dimension] ?? 0), 0) / ids.length),
  );
const lengthOf = (values: Float32Array) => Math.hypot(...values);

describe("the contract", () => {
  testEmbedder({ test }, () => Promise.resolve(new OnnxEmbedder({ id: "tiny", recipe: recipe(), cores: 2 })), WIDTH);
});

test("a warmed embedder has its session, which has run", async () => {
  const embedder = new OnnxEmbedder({ id: "tiny", recipe: recipe(), cores: 2 });
  expect(embedder.statistics()).toMatchObject({ runners: 0, jobs: 0 });
  await embedder.warm();
  expect(embedder.statistics()).toMatchObject({ runners: 1, jobs: 1, waiting: 0, running: 0 });
  await embedder.close();
});

describe("formulas", () => {
  test("mean over all tokens, the special ones included", async () => {
    const [one] = await embed(recipe(), ["Reset a password"]);
    expect([...(one?.values ?? [])]).toEqual(mean([2, 5, 6, 7, 3]));
  });
  test.each([
    ["halves of floats", { output: HALF }, (value: number) => Math.abs(value) / 2048],
    ["floats of 64 bits", { output: DOUBLE }, () => 0],
    ["bytes", { output: INT8 }, () => 1],
    ["ids of 32 bits", { input: INT32 }, () => 0],
  ] as const)("a model of %s gives the same, as exact as they are", async (_, types, error) => {
    const first = recipe({ kind: "pool", strategy: "cls", normalize: false }, typedModel(types));
    const last = recipe(MEAN, { ...typedModel(types), frame: { start: 7, end: 7 } });
    const [cls] = await embed(first, ["Reset a password", "invoice"]);
    const [word] = await embed(last, [""]);
    for (const [values, expected] of [
      [cls?.values, tokenVector(2)],
      [word?.values, tokenVector(7)],
    ] as const) {
      expect(values).toHaveLength(WIDTH);
      expected.forEach((value, index) => {
        expect(Math.abs((values?.[index] ?? Number.NaN) - value)).toBeLessThanOrEqual(error(value));
      });
    }
  });

  test("the first token, cut and then divided by its length", async () => {
    const [one] = await embed(recipe({ kind: "pool", strategy: "cls", normalize: true }), ["due"], "query", 3);
    const expected = tokenVector(2).slice(0, 3);
    const length = lengthOf(expected);
    expect([...(one?.values ?? [])].map((value) => value.toFixed(5))).toEqual(
      [...expected].map((value) => (value / length).toFixed(5)),
    );
  });
  test("a text too long loses its end, not its special tokens", async () => {
    const [one] = await embed(recipe(MEAN, { tokensMax: 4 }), ["due due due due due due"]);
    expect([...(one?.values ?? [])]).toEqual(mean([2, 9, 9, 3]));
  });
  test("BERT: the tokens of the component begin and end a sequence, which is cut before its end", async () => {
    const frame = { start: 4, end: 9 };
    const [short, long] = await embed(recipe(MEAN, { frame, tokensMax: 4 }), ["reset", "reset reset reset reset"]);
    expect([...(short?.values ?? [])]).toEqual(mean([4, 5, 9]));
    expect([...(long?.values ?? [])]).toEqual(mean([4, 5, 5, 9]));
  });
  test("instructions are put before texts as they are", async () => {
    const prepend = { document: "", query: "invoice " };
    const [one] = await embed(recipe(MEAN, { prepend }), ["due"], "query");
    expect([...(one?.values ?? [])]).toEqual(mean([2, 8, 9, 3]));
  });
  test("ColBERT: documents without punctuation, queries filled with masks", async () => {
    const reduction: Reduction = {
      kind: "rows",
      queryTokensMax: 7,
      documentTokensMax: 16,
      queryTokenId: 0,
      documentTokenId: 1,
      startTokenId: 2,
      endTokenId: 3,
      maskTokenId: 4,
      attendToExpansion: true,
    };
    const [document] = await embed(recipe(reduction), ["due ."], "document", 2);
    expect(document).toMatchObject({ shape: "rows", width: 2 });
    expect([...(document?.values ?? [])]).toEqual([2, 1, 9, 3].flatMap((id) => [...tokenVector(id).slice(0, 2)]));
    const [query] = await embed(recipe(reduction), ["due ."], "query", 1);
    expect([...(query?.values ?? [])]).toEqual([2, 0, 9, 10, 3, 4, 4].map((id) => tokenVector(id)[0]));
  });
  test("SPLADE: the largest logit of each entry, logarithmic, above the threshold", async () => {
    const [one] = await embed(recipe({ kind: "weights", threshold: 1 }), ["due"]);
    const expected = Array.from({ length: WIDTH }, (_, entry) =>
      Math.log1p(Math.max(0, ...[2, 9, 3].map((id) => tokenVector(id)[entry] ?? 0))),
    );
    const kept = expected.flatMap((weight, entry) => (weight > 1 ? [entry] : []));
    expect(kept.length).toBeGreaterThan(0);
    expect([...(one?.values ?? [])]).toEqual(kept.map((entry) => Math.fround(expected[entry] ?? 0)));
    expect(one).toMatchObject({
      labels: kept.map((entry) => ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "reset"][entry]),
    });
  });
});

describe("refusals", () => {
  test("more values than the model has", async () => {
    await expect(embed(recipe(), ["due"], "query", WIDTH + 1)).rejects.toMatchObject({ code: "BAD_REQUEST" });
  });
  test("an output that the model does not have, by the names it has", async () => {
    await expect(embed(recipe(MEAN, { output: "logits" }), ["due"])).rejects.toThrow("it has last_hidden_state");
  });
  test.each([
    ["no vocabulary", "vocab.txt", "<html>\n", /tokenizer .*vocab\.txt cannot be used: it has no number for a token/],
    ["a cut file", "tokenizer.json", '{"model":', /tokenizer .*tokenizer\.json cannot be used: .*JSON/],
    ["an empty description", "tokenizer.json", "{}", /tokenizer .*tokenizer\.json cannot be used: /],
  ])("a tokenizer with %s, by its file", async (_, name, text, message) => {
    const tokenizer = join(mkdtempSync(join(tmpdir(), "brooklet-tokenizer-")), name);
    writeFileSync(tokenizer, text);
    const asked = embed(recipe(MEAN, { tokenizer }), ["due"]);
    await expect(asked).rejects.toMatchObject({ code: "BAD_REQUEST", message: expect.stringMatching(message) });
  });
  test("a tokenizer of another model, by both files", async () => {
    const tokenizer = join(mkdtempSync(join(tmpdir(), "brooklet-tokenizer-")), "vocab.txt");
    const others = Array.from({ length: 40 }, (_, word) => `word${word}`);
    writeFileSync(tokenizer, `${["[UNK]", "[CLS]", "[SEP]", ...others].join("\n")}\n`);
    const asked = embed(recipe(MEAN, { tokenizer }), ["word39"]);
    await expect(asked).rejects.toThrow(/The model .*tiny\.onnx with the tokenizer .*vocab\.txt failed: /);
  });
  test("a model that is not there; the next request tries again", async () => {
    const embedder = new OnnxEmbedder({ id: "none", recipe: recipe(MEAN, { model: "nowhere.onnx" }), cores: 1 });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const ask = embedder.embed({ texts: ["a"], purpose: "query", dimensions: 1, deadline: deadlineIn(30_000) });
      await expect(ask).rejects.toMatchObject({ code: "BAD_REQUEST" });
    }
    await embedder.close();
  });
});

test("closing lets what runs end, refuses what waits, and leaves the process alive", async () => {
  const embedder = new OnnxEmbedder({ id: "tiny", recipe: recipe(), cores: 2 });
  const asked = Array.from({ length: 200 }, () =>
    embedder
      .embed({ texts: ["reset a password"], purpose: "document", dimensions: WIDTH, deadline: deadlineIn(30_000) })
      .then(
        () => "embedded",
        (error: { code: string }) => error.code,
      ),
  );
  await asked[0];
  await embedder.close();
  const outcomes = new Set(await Promise.all(asked));
  expect(outcomes).toContain("embedded");
  expect([...outcomes].every((outcome) => outcome === "embedded" || outcome === "UNAVAILABLE")).toBe(true);
});
