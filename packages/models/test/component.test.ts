/** Embedders as services.xml configures them: Vespa's settings, with Vespa's defaults where nothing is said. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { deadlineIn, type Purpose } from "../src/embedder.ts";
import { checkComponent, openComponent } from "../src/onnx/component.ts";
import { shareOfCores, threadsOfModel } from "../src/onnx/session-threads.ts";
import { signatureOf } from "../src/onnx/signature.ts";
import { Tokens } from "../src/onnx/tokens.ts";
import { constant, FLOAT, file, INT32, node, value } from "./onnx-file.ts";
import { tinyModel, tokenVector, typedModel, WIDTH } from "./tiny-model.ts";

const files = tinyModel();
type Pairs = Readonly<Record<string, string>>;

async function embed(type: string, settings: Pairs, texts: string[], purpose: Purpose = "document") {
  const named: string[] = [];
  const embedder = await openComponent(
    { id: "e", type, settings: Object.entries(settings) },
    {
      file: (where) => {
        const name = "path" in where ? where.path : where.url;
        named.push(name);
        return Promise.resolve(name.endsWith("model") ? files.model : files.tokenizer);
      },
      secret: (name) => (name === "known" ? "the key" : undefined),
    },
  );
  try {
    const dimensions = type === "openai-embedder" ? 2 : WIDTH;
    const [first] = await embedder.embed({ texts, purpose, dimensions, deadline: deadlineIn(30_000) });
    return { values: [...(first?.values ?? [])], named };
  } finally {
    await embedder.close();
  }
}

const FILES = { "transformer-model@path": "a/model", "tokenizer-model@path": "a/words" };
const BERT = { "transformer-model@path": "a/model", "tokenizer-vocab@path": "a/words" };
const mean = (...ids: number[]) =>
  Array.from({ length: WIDTH }, (_, at) =>
    Math.fround(ids.reduce((sum, id) => sum + (tokenVector(id)[at] ?? 0), 0) / ids.length),
  );

describe("hugging-face-embedder", () => {
  test("takes the mean of 'last_hidden_state', not normalized, without instructions", async () => {
    expect((await embed("hugging-face-embedder", FILES, ["reset"])).values).toEqual(mean(2, 5, 3));
  });

  test("has its settings: pooling, normalize, prepend by purpose, max-tokens; url goes before path", async () => {
    const settings = {
      ...FILES,
      "tokenizer-model@url": "https://models/words",
      "pooling-strategy": "cls",
      normalize: "true",
      "onnx-intraop-threads": "1",
    };
    const { values, named } = await embed("hugging-face-embedder", settings, ["reset"]);
    expect(Math.hypot(...values)).toBeCloseTo(1, 6);
    expect(values[0]).toBeCloseTo((tokenVector(2)[0] ?? 0) / Math.hypot(...tokenVector(2)), 6);
    expect(named).toEqual(["a/model", "https://models/words"]);
    const prepended = { ...FILES, "prepend/query": "invoice ", "prepend/document": "due ", "max-tokens": "4" };
    const query = await embed("hugging-face-embedder", prepended, ["reset reset"], "query");
    expect(query.values).toEqual(mean(2, 8, 5, 3));
    expect((await embed("hugging-face-embedder", prepended, ["reset"])).values).toEqual(mean(2, 9, 5, 3));
  });

  test("without pooling needs an output that is pooled already, and one without token types can be said", async () => {
    const none = { ...FILES, "pooling-strategy": "none" };
    await expect(embed("hugging-face-embedder", none, ["reset"])).rejects.toThrow("this embedder needs 2 dimensions");
    const untyped = { ...FILES, "transformer-token-type-ids": "" };
    // This model has such an input, so it misses it.
    await expect(embed("hugging-face-embedder", untyped, ["reset"])).rejects.toThrow("token_type_ids");
    const misnamed = { ...FILES, "transformer-input-ids": "ids" };
    await expect(embed("hugging-face-embedder", misnamed, ["reset"])).rejects.toThrow("has no input 'ids'");
  });
});

describe("what a model and its component do not agree on is told by its name", () => {
  const [picky, none] = [tinyModel("pixel_values"), tinyModel()];
  writeFileSync(none.model, "<html>");
  const check = (settings: Pairs, { model, tokenizer } = files, type = "hugging-face-embedder") => {
    const path = (where: { readonly path: string } | { readonly url: string }) =>
      "path" in where && where.path.endsWith("model") ? model : tokenizer;
    const surroundings = { file: async (where: Parameters<typeof path>[0]) => path(where), secret: () => undefined };
    const component = { id: "e", type, settings: Object.entries(settings) };
    return { checked: checkComponent(component, surroundings), opened: () => openComponent(component, surroundings) };
  };

  test.each([
    ["an input that no embedder gives", FILES, picky, "must be given the input 'pixel_values', and an embedder"],
    ["one that the component leaves out", { ...FILES, "transformer-token-type-ids": "" }, files, "'token_type_ids'"],
    ["one that it has not", { ...FILES, "transformer-attention-mask": "mask" }, files, "has no input 'mask'"],
    ["an output that it has not", { ...FILES, "transformer-output": "pooled" }, files, "has no output 'pooled'"],
    [
      "floats as ids",
      FILES,
      typedModel({ input: FLOAT }),
      "takes 'input_ids' of float32; this embedder needs int64, int32",
    ],
    ["one text for a number of tokens", FILES, typedModel({ sizes: [1, 8] }), "takes 'input_ids' of 8 tokens only"],
    ["an input of another rank", FILES, typedModel({ sizes: ["tokens"] }), "takes 'input_ids' of the shape [?]; this"],
    ["whole numbers", FILES, typedModel({ output: INT32 }), "gives 'last_hidden_state' of int32; this embedder"],
    ["an output that is not pooled", { ...FILES, "pooling-strategy": "none" }, files, "needs 2 dimensions"],
    ["weights elsewhere", FILES, typedModel({ weights: "tiny.onnx_data" }), "tiny.onnx_data"],
    ["a file that is no model", FILES, none, `The model ${basename(none.model)} cannot be used: `],
  ])("%s", async (_, settings, of, message) => {
    const { checked, opened } = check(settings, of);
    await expect(checked).rejects.toMatchObject({ code: "BAD_REQUEST", message: expect.stringContaining(message) });
    const embedder = await opened();
    onTestFinished(() => embedder.close());
    const asked = embedder.embed({ texts: ["a"], purpose: "query", dimensions: WIDTH, deadline: deadlineIn(30_000) });
    // Asking again finds the same: it is nobody's to retry.
    await expect(asked).rejects.toMatchObject({ code: "BAD_REQUEST", message: expect.stringContaining(message) });
  });

  test("what fits is no fault, nor is what has no model", async () => {
    await check(FILES).checked;
    await check({}, files, "openai-embedder").checked;
    await check({ "model@path": "a/words" }, files, "hugging-face-tokenizer").checked;
  });

  test("a model for one text at a time is asked so, whatever waits", async () => {
    const embedder = await check(FILES, typedModel({ sizes: [1, "tokens"] })).opened();
    onTestFinished(() => embedder.close());
    const texts = ["reset", "due due", "reset"];
    const request = { texts, purpose: "document", dimensions: WIDTH, deadline: deadlineIn(30_000) } as const;
    const values = (await embedder.embed(request)).map((one) => [...one.values]);
    expect(values).toEqual([mean(2, 5, 3), mean(2, 9, 9, 3), mean(2, 5, 3)]);
  });

  test("a constant that is listed as an input need not be given", () => {
    const folder = mkdtempSync(join(tmpdir(), "brooklet-signature-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, "model.onnx");
    const inputs = ["given", "kept"].map((name) => value(name, FLOAT, [1]));
    const constants = [constant("kept", [1], Float32Array.of(1))];
    writeFileSync(
      path,
      file({ nodes: [node("Add", ["given", "kept"], "sum")], constants, inputs, outputs: [value("sum", FLOAT, [1])] }),
    );
    expect(signatureOf(path)).toEqual({
      inputs: [{ name: "given", element: "float32", sizes: [1] }],
      outputs: [{ name: "sum", element: "float32", sizes: [1] }],
    });
    writeFileSync(path, readFileSync(path).subarray(0, -40));
    expect(() => signatureOf(path)).toThrow("no ONNX model, or cut short");
  });
});

test("the other kinds have outputs of their own, and BERT the tokens around a text", async () => {
  await expect(embed("bert-embedder", BERT, ["a"])).rejects.toThrow("has no output 'output_0'");
  await expect(embed("colbert-embedder", FILES, ["a"])).rejects.toThrow("has no output 'contextual'");
  await expect(embed("splade-embedder", FILES, ["a"])).rejects.toThrow("has no output 'logits'");
  const framed = {
    ...BERT,
    "transformer-output": "last_hidden_state",
    "transformer-start-sequence-token": "4",
    "transformer-end-sequence-token": "9",
  };
  expect((await embed("bert-embedder", framed, ["reset"])).values).toEqual(mean(4, 5, 9));
});

test("openai-embedder asks its endpoint with the key that the secret is", async () => {
  const asked: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += String(part);
    asked.push(request.headers.authorization, JSON.parse(body));
    response.end(JSON.stringify({ data: [{ index: 0, embedding: [1, 2] }] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/embeddings`;
  const settings = { endpoint, model: "m", "api-key-secret-ref": "known", dimensions: "2", "prepend/query": "q: " };
  expect((await embed("openai-embedder", settings, ["a"], "query")).values).toEqual([1, 2]);
  expect(asked[0]).toBe("Bearer the key");
  expect(asked[1]).toMatchObject({ model: "m", input: ["q: a"], dimensions: 2 });
  await embed("openai-embedder", { endpoint, model: "m" }, ["a"]);
  expect(asked[3]).not.toHaveProperty("dimensions");
});

test("a kind that is not known is refused", async () => {
  await expect(embed("other", FILES, ["a"])).rejects.toThrow("type 'other' is not supported");
});

test("threads are a number, or a part of the cores", () => {
  const cores = availableParallelism();
  expect([3, 0, -1, -4].map(shareOfCores)).toEqual([3, 1, cores, Math.max(1, Math.ceil(cores / 4))]);
  const of = (settings: Pairs) => threadsOfModel(new Map(Object.entries(settings)));
  expect(of({ "gpu-device": "0" })).toBeUndefined();
  expect(of({ "intraop-threads": "2" })).toEqual({ intraOp: 2, interOp: 1, executionMode: "sequential" });
  const quarter = Math.max(1, Math.ceil(cores / 4));
  const parallel = { intraOp: quarter, interOp: quarter, executionMode: "parallel" };
  expect(of({ "execution-mode": "parallel" })).toEqual(parallel);
  expect(of({ "execution-mode": "sequential", "interop-threads": "3" })).toEqual({
    intraOp: quarter,
    interOp: 3,
    executionMode: "sequential",
  });
});

describe("a tokenizer.json", () => {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-tokenizer-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each([
    ["its own truncation by the longest first wins", { strategy: "LongestFirst", max_length: 4 }, 4],
    ["another truncation does not", { strategy: "OnlyFirst", max_length: 4 }, 6],
    ["nor does one without a length", { strategy: "LongestFirst", max_length: 0 }, 6],
    ["without one the setting counts", null, 6],
  ])("%s", (_, truncation, length) => {
    const words = readFileSync(files.tokenizer, "utf8").trim().split("\n");
    const path = join(folder, "tokenizer.json");
    const description = {
      version: "1.0",
      truncation,
      added_tokens: [2, 3].map((id) => ({ id, content: words[id], special: true, normalized: false })),
      normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, lowercase: true },
      pre_tokenizer: { type: "BertPreTokenizer" },
      post_processor: { type: "BertProcessing", cls: ["[CLS]", 2], sep: ["[SEP]", 3] },
      decoder: { type: "WordPiece", prefix: "##", cleanup: true },
      model: {
        type: "WordPiece",
        unk_token: "[UNK]",
        continuing_subword_prefix: "##",
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(words.map((word, id) => [word, id])),
      },
    };
    writeFileSync(path, JSON.stringify(description));
    const ids = new Tokens(path, 6).withSpecial("due due due due due due due due");
    expect(ids).toEqual([2, ...Array.from({ length: length - 2 }, () => 9), 3]);
  });
});
