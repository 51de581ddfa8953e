/** Vectors that the server makes of texts, embedders of the application, and models that rank, as they are written. */
import { describe, expect, test } from "vitest";
import { applicationFiles } from "../src/deployment/application.ts";
import { type EmbeddingOptions, embedding, query, schema, string, text } from "../src/index.ts";

const note = schema("note", {
  title: text(),
  body: text().optional(),
  label: string().optional(),
  vec: embedding({ from: ["title", "body"], model: "minilm" }),
  short: embedding({ from: "title", model: "tiny", dimensions: 8, cell: "bfloat16", metric: "prenormalized-angular" }),
});

test("a made field stands outside the document, with the script that makes it", () => {
  const sd = String(note);
  const document = sd.slice(sd.indexOf("document note"), sd.indexOf("field vec"));
  expect(document).not.toContain("embed");
  expect(sd).toContain(`  field vec type tensor<float>(x[384]) {
    indexing: (input title || "") . " " . (input body || "") | embed minilm | attribute
    attribute { distance-metric: angular }
  }
  field short type tensor<bfloat16>(x[8]) {
    indexing: input title | embed tiny | attribute
    attribute { distance-metric: prenormalized-angular }
  }`);
  expect(sd).toContain("rank-profile hybrid_vec");
});

test("documents have no such field", () => {
  expect(note.zod.safeParse({ title: "a" }).success).toBe(true);
  expect(note.zod.safeParse({ title: "a", vec: [1] }).success).toBe(false);
});

test("a text is searched near to with the embedder that made the field, or the one that is named", () => {
  const near = { field: "vec", text: 'a "quoted" text' } as const;
  expect(query(note, { near }).parameters).toMatchObject({
    "input.query(vec)": "embed(minilm, @nearText)",
    nearText: 'a "quoted" text',
  });
  expect(query(note, { near: { ...near, embedder: "other" } }).parameters).toMatchObject({
    "input.query(vec)": "embed(other, @nearText)",
  });
  expect(query(note, { near, fields: ["title", "vec"] }).yql).toContain("select title, vec,");
});

test("what is made of nothing, of no text, or by what can be no embedder is refused", () => {
  expect(() => embedding({ from: [], model: "m" })).toThrow("needs a field to be made from");
  expect(() => embedding({ from: "a", model: "a b" })).toThrow("cannot be the name of an embedder");
  expect(() => embedding({ from: "a" } as EmbeddingOptions)).toThrow("undefined cannot be the name of an embedder");
  expect(() => embedding({ from: "a", modal: "m" } as unknown as EmbeddingOptions)).toThrow(
    "embedding has no option 'modal'; did you mean 'model'?",
  );
  expect(() => schema("s", { title: text(), vec: embedding({ model: "m" } as EmbeddingOptions) })).toThrow(
    "'vec' of schema s is made from 'undefined', which is no text",
  );
  expect(() => schema("s", { title: text(), vec: embedding({ from: "titel", model: "m" }) })).toThrow(
    "'vec' of schema s is made from 'titel', which is no text",
  );
});

describe("an application", () => {
  test("has its embedders as components, whose texts are escaped", () => {
    const files = applicationFiles([note], {
      embedders: {
        minilm: {
          type: "hugging-face",
          transformer: { path: "minilm/model.onnx" },
          tokenizer: { url: "https://models.example/tokenizer.json?a=1&b=2" },
          maxTokens: 128,
          normalize: true,
          takesTokenTypes: false,
          prepend: { query: "query: " },
        },
        far: { type: "openai", model: "m", endpoint: "http://127.0.0.1:1/v1/embeddings", apiKeySecret: "myKey" },
        tokens: { type: "tokenizer", model: { path: "t.json" }, specialTokens: false },
      },
      files: { "models/m.onnx": new Uint8Array([1, 2, 3]) },
    });
    expect(files.get("models/m.onnx")).toEqual(new Uint8Array([1, 2, 3]));
    const services = String(files.get("services.xml"));
    expect(services).toContain(`    <component id="minilm" type="hugging-face-embedder">
      <transformer-model path="minilm/model.onnx"/>
      <tokenizer-model url="https://models.example/tokenizer.json?a=1&amp;b=2"/>
      <max-tokens>128</max-tokens>
      <transformer-token-type-ids/>
      <normalize>true</normalize>
      <prepend><query>query: </query></prepend>
    </component>`);
    expect(services).toContain("<api-key-secret-ref>myKey</api-key-secret-ref>");
    expect(services).toContain('<component id="tokens" type="hugging-face-tokenizer">');
  });

  test("without a file, or of an unknown type, is refused", () => {
    const embedders = { m: { type: "tokenizer", model: {} } } as never;
    expect(() => applicationFiles([note], { embedders })).toThrow("model needs { path } or { url }");
    const other = { m: { type: "other" } } as never;
    expect(() => applicationFiles([note], { embedders: other })).toThrow('there is no embedder of type "other"');
  });
});

test("a profile has its models and its global phase", () => {
  const ranked = schema(
    "ranked",
    { title: text() },
    {
      profiles: {
        reranked: {
          inputs: { t: "tensor<float>(d0[8])" },
          onnxModels: {
            cross: {
              file: "models/cross.onnx",
              inputs: { input_ids: "tokenInputIds(16, query(t), attribute(tokens))" },
              outputs: { logits: "score" },
              threads: 2,
            },
            remote: { url: "https://models/m.onnx", inputs: { x: "query(t)" } },
          },
          globalPhase: { expression: "sum(onnx(cross).score)", rerankCount: 20 },
        },
      },
    },
  );
  expect(String(ranked)).toContain(`  rank-profile reranked inherits default {
    onnx-model cross {
      file: models/cross.onnx
      input "input_ids": tokenInputIds(16, query(t), attribute(tokens))
      output "logits": score
      intraop-threads: 2
    }
    onnx-model remote {
      uri: https://models/m.onnx
      input "x": query(t)
    }`);
  expect(String(ranked)).toContain(`    global-phase {
      rerank-count: 20
      expression: sum(onnx(cross).score)
    }`);
});
