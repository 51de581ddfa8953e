/** The embedders that a Worker is configured with: models of Workers AI by name, and what is wrong with a configuration. */
import { expect, test } from "vitest";
import { type EmbedderConfig, embeddersOf } from "../src/embedders.ts";

type Configured = Readonly<Record<string, EmbedderConfig>>;

const asked: unknown[] = [];
const AI = {
  run: async (model: string, inputs: { readonly text: readonly string[] }): Promise<unknown> => {
    asked.push([model, inputs]);
    return { shape: [inputs.text.length, 2], data: inputs.text.map(() => [1, 2]) };
  },
} as never;
const text = { text: "hello", values: 2 } as const;

test("texts are embedded by the model of their name, each as it is configured", async () => {
  const embedders = embeddersOf({
    AI,
    EMBEDDERS: {
      bge: "@cf/baai/bge-base-en-v1.5",
      large: { model: "@cf/baai/bge-m3", prepend: { query: "find: " }, inputs: { pooling: "cls" } },
    },
  });
  const made = await embedders.embed(
    [
      { ...text, embedder: "large", purpose: "query" },
      { ...text, embedder: "bge", purpose: "document" },
      { ...text, embedder: "large", purpose: "query", text: "more" },
    ],
    {},
    10_000,
  );
  expect(made.map(({ values }) => [...values])).toEqual([
    [1, 2],
    [1, 2],
    [1, 2],
  ]);
  expect(asked).toEqual([
    ["@cf/baai/bge-m3", { pooling: "cls", text: ["find: hello", "find: more"] }],
    ["@cf/baai/bge-base-en-v1.5", { text: ["hello"] }],
  ]);
});

test("their state is told as that of endpoints, and what nobody gave has failed", async () => {
  const application = { embedders: [{ id: "minilm", type: "hugging-face-embedder" }] };
  const embedders = embeddersOf({ AI, EMBEDDERS: { bge: "@cf/baai/bge-base-en-v1.5" } });
  await embedders.embed([{ ...text, embedder: "bge", purpose: "document" }], application, 10_000);
  expect(await embedders.states(application)).toMatchObject([
    { id: "bge", kind: "endpoint", state: "ready", dimensions: 2, calls: [{}, { purpose: "document", items: 1 }] },
    { id: "minilm", state: "failed", problem: expect.stringContaining("is not run in a Worker"), calls: [] },
  ]);
});

test("an ONNX component is refused by name, at its deployment and when it is needed, unless a model has its name", async () => {
  const application = { embedders: [{ id: "minilm", type: "hugging-face-embedder" }] };
  const refusal = "embedder 'minilm' (hugging-face-embedder) is not run in a Worker: give one of that id";
  expect((await embeddersOf({}).missing(application)).join()).toContain(refusal);
  const wanted = [{ ...text, embedder: "minilm", purpose: "document" }] as const;
  await expect(embeddersOf({}).embed(wanted, application, 1_000)).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining(refusal),
  });
  const given = embeddersOf({ AI, EMBEDDERS: { minilm: "@cf/baai/bge-base-en-v1.5" } });
  expect(await given.missing(application)).toEqual([]);
  expect(await given.embed(wanted, application, 1_000)).toHaveLength(1);
  await expect(embeddersOf({}).embed(wanted, {}, 1_000)).rejects.toMatchObject({ code: "BAD_REQUEST" });
});

const NEITHER = "'bge' of EMBEDDERS is neither a model nor { model, prepend: { document, query }, inputs }";

function wrong(config: object): object {
  return { AI, EMBEDDERS: { bge: { model: "@cf/baai/bge-m3", ...config } } };
}

test.each([
  [{ EMBEDDERS: { bge: "@cf/baai/bge-m3" } }, `EMBEDDERS has 'bge', and there is no "ai": { "binding": "AI" }`],
  [{ AI, EMBEDDERS: [] as unknown as Configured }, "has to be an object of models by their names"],
  [{ AI, EMBEDDERS: "bge" as unknown as Configured }, "has to be an object of models by their names"],
  [{ AI, EMBEDDERS: {} }, "has to be an object of models by their names"],
  [{ AI, EMBEDDERS: null as unknown as Configured }, "has to be an object of models by their names"],
  [{ AI, EMBEDDERS: { bge: {} } as unknown as Configured }, "embedder 'bge' needs its `model`"],
  [{ AI, EMBEDDERS: { "": "@cf/baai/bge-m3" } }, "needs the `id` that schemas have for it"],
  [{ AI, EMBEDDERS: { bge: 7 } as unknown as Configured }, NEITHER],
  [wrong({ prefix: "find: " }), NEITHER],
  [wrong({ prepend: "find: " }), NEITHER],
  [wrong({ prepend: null }), NEITHER],
  [wrong({ prepend: { documents: "find: " } }), NEITHER],
  [wrong({ inputs: ["cls"] }), NEITHER],
])("a wrong configuration is told: %j", (env, said) => {
  expect(() => embeddersOf(env)).toThrow(said);
});
