/** Models in an object: embedders of Workers AI embed what is put and asked, its language model answers, and ONNX is refused by name. */
import { expect, test } from "vitest";
import { embedding, openIn, schema, text } from "../src/durable-object.ts";
import { WorkersAiEmbedder, WorkersAiModel } from "../src/workers-ai.ts";
import { StandInStorage } from "./object-storage.ts";

const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "bge", dimensions: 4 }) });
const WORDS = ["invoice", "garden", "train", "music"];

/** Workers AI, as far as it is used: a vector has a value for each of four words, and the model says the prompt's length. */
const ai = {
  asked: [] as string[],
  run: async (model: string, inputs: object): Promise<unknown> => {
    ai.asked.push(model);
    const { text: texts, messages } = inputs as { text?: readonly string[]; messages?: readonly { content: string }[] };
    if (texts === undefined) return { response: `It was paid. [1] (${messages?.length})` };
    return { shape: [texts.length, 4], data: texts.map((it) => WORDS.map((word) => (it.includes(word) ? 1 : 0.1))) };
  },
};
const bge = (): WorkersAiEmbedder => new WorkersAiEmbedder({ id: "bge", ai, model: "@cf/baai/bge-small-en-v1.5" });

test("what is put is embedded, found by what it is near to, and answered from", async () => {
  const model = new WorkersAiModel({ ai, model: "@cf/meta/llama", stream: false });
  const options = { schemas: [note], models: { embedders: [bge()] }, languageModel: model };
  const database = await openIn(new StandInStorage(), options);
  const group = database.group("me");
  for (const word of WORDS) await group.put(note, word, { body: `about a ${word}` });
  const { hits } = await group.search(note, { near: { field: "vec", text: "the garden" }, limit: 1 });
  expect(hits.map(({ id }) => id)).toEqual(["garden"]);
  let said = "";
  for await (const part of group.ask(note, "What of the invoice?")) said += part.text;
  expect(said).toContain("It was paid.");
  expect(ai.asked).toContain("@cf/baai/bge-small-en-v1.5");
  expect(ai.asked).toContain("@cf/meta/llama");
  await database.close();
});

test("what the platform refuses is told, and the document is not stored", async () => {
  const strict = { run: () => Promise.reject(new Error("3006: Request is too large")) };
  const embedder = new WorkersAiEmbedder({ id: "bge", ai: strict, model: "@cf/baai/bge-small-en-v1.5" });
  const database = await openIn(new StandInStorage(), { schemas: [note], models: { embedders: [embedder] } });
  await expect(database.group("me").put(note, "1", { body: "garden" })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining("The model of embedder 'bge' failed with status 413: 3006: Request is too large"),
  });
  expect(await database.group("me").count(note)).toBe(0);
  await database.close();
});

test("a vector that is shorter than its field is the caller's fault, and says by how much", async () => {
  const long = schema("note", { body: text(), vec: embedding({ from: "body", model: "bge", dimensions: 8 }) });
  const database = await openIn(new StandInStorage(), { schemas: [long], models: { embedders: [bge()] } });
  await expect(database.group("me").put(long, "1", { body: "garden" })).rejects.toThrow(
    "The model of embedder 'bge' gives 4 values, and 8 are asked for",
  );
  await database.close();
});

test("ONNX models are refused by name: told when they are deployed, and when they would be needed", async () => {
  const bgeOnnx = { type: "hugging-face", transformer: { path: "bge.onnx" }, tokenizer: { path: "bge.json" } } as const;
  const refusal = "embedder 'bge' (hugging-face-embedder) is not run in an object: give one of that id";
  const database = await openIn(new StandInStorage(), { schemas: [note], embedders: { bge: bgeOnnx } });
  expect(database.warnings.join()).toContain(refusal);
  await expect(database.group("me").put(note, "1", { body: "garden" })).rejects.toThrow(refusal);
  await expect(database.group("me").search(note, { near: { field: "vec", text: "the garden" } })).rejects.toThrow(
    refusal,
  );
  await database.close();
  // One that is given in its place is used.
  const given = await openIn(new StandInStorage(), {
    schemas: [note],
    embedders: { bge: bgeOnnx },
    models: { embedders: [bge()] },
  });
  await given.group("me").put(note, "1", { body: "garden" });
  expect(given.warnings.join()).not.toContain("not run");
  await given.close();
});
