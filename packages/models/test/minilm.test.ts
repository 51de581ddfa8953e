/**
 * The real model: all-MiniLM-L6-v2 on onnxruntime-node against what PyTorch 1.13.1 and transformers 4.37.2 gave for hard
 * texts (test-vectors/embedding/minilm.jsonl: token ids and mean-pooled vectors of length 1, little-endian floats, of at most 128 tokens).
 * `node tools/models/minilm.mjs` makes the model; BROOKLET_MINILM says where it is.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { deadlineIn, type Embedding } from "../src/embedder.ts";
import { OnnxEmbedder } from "../src/onnx/onnx-embedder.ts";
import type { Recipe } from "../src/onnx/recipe.ts";
import { Tokens } from "../src/onnx/tokens.ts";

const folder = process.env["BROOKLET_MINILM"];
/** More than the tokenizer says itself: its 128 win, as in Vespa. */
const TOKENS_MAX = 256;

interface Row {
  readonly text: string;
  readonly ids: readonly number[];
  readonly vector: string;
}

const rows: readonly Row[] = readFileSync(
  new URL("../../../test-vectors/embedding/minilm.jsonl", import.meta.url),
  "utf8",
)
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

const expected = (row: Row) => new Float32Array(Uint8Array.from(Buffer.from(row.vector, "base64")).buffer);

function cosine(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  a.forEach((value, index) => {
    const other = b[index] ?? 0;
    dot += value * other;
    aa += value * value;
    bb += other * other;
  });
  return dot / Math.sqrt(aa * bb);
}

/** What the tests of a model that is not there are. */
describe.runIf(folder !== undefined)("all-MiniLM-L6-v2", () => {
  const path = (name: string) => join(folder ?? "", name);
  const recipe: Recipe = {
    model: path("model.onnx"),
    tokenizer: path("tokenizer.json"),
    tokensMax: TOKENS_MAX,
    prepend: { document: "", query: "" },
    inputIds: "input_ids",
    attentionMask: "attention_mask",
    tokenTypeIds: "token_type_ids",
    output: "last_hidden_state",
    reduction: { kind: "pool", strategy: "mean", normalize: true },
  };

  test("the tokens of hard texts", () => {
    const tokens = new Tokens(recipe.tokenizer, TOKENS_MAX);
    expect(rows.map((row) => tokens.withSpecial(row.text))).toEqual(rows.map((row) => row.ids));
  });

  test("their embeddings, alone on every core and together in padded batches", async () => {
    const embedder = new OnnxEmbedder({ id: "minilm", recipe, cores: 2 });
    const ask = (texts: readonly string[]) =>
      embedder.embed({ texts, purpose: "document", dimensions: 384, deadline: deadlineIn(120_000) });
    const alone: (Embedding | undefined)[] = [];
    for (const row of rows) alone.push((await ask([row.text]))[0]);
    const together = await ask(rows.map((row) => row.text));
    for (const [index, row] of rows.entries()) {
      for (const embedding of [alone[index], together[index]]) {
        expect(cosine(embedding?.values ?? new Float32Array(), expected(row))).toBeGreaterThanOrEqual(0.9999);
      }
    }
    expect(embedder.statistics().narrowBatches).toBeGreaterThan(0);
    expect(embedder.statistics().wideBatches).toBeGreaterThan(0);
    await embedder.close();
  });

  test("means something", async () => {
    const embedder = new OnnxEmbedder({ id: "minilm", recipe });
    const texts = ["how can I recover my login credentials", "Reset a forgotten password", "The invoice is due"];
    const [query, near, far] = await embedder.embed({
      texts,
      purpose: "query",
      dimensions: 384,
      deadline: deadlineIn(120_000),
    });
    const to = (other?: { values: Float32Array }) =>
      cosine(query?.values ?? new Float32Array(), other?.values ?? new Float32Array());
    expect(to(near)).toBeGreaterThan(to(far) + 0.3);
    await embedder.close();
  });
});

test("every row names what the model must give", () => {
  expect(rows.length).toBeGreaterThan(30);
  for (const row of rows) expect(expected(row)).toHaveLength(384);
});
