/** What models were asked before a deployment took their place is answered by them. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingWanted, ModelRun } from "@brooklet/core";
import type { DeployReport } from "@brooklet/partition";
import { expect, onTestFinished, test } from "vitest";
import { crossEncoder, tinyModel, WIDTH } from "../../models/test/tiny-model.ts";
import { ApplicationEmbedders } from "../src/node/models/application-embedders.ts";
import { ApplicationModels } from "../src/node/models/application-models.ts";
import { folder } from "./served.ts";

const TIME_MS = 60_000;
/** More than a run of the runtime takes, so that some wait. */
const MANY = 60;

const INPUTS = ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({
  name,
  element: 7,
  sizes: [1, 64],
  bytes: new Uint8Array(64 * 8),
}));
const RUNS: readonly ModelRun[] = Array.from({ length: MANY }, (_, key) => ({
  key: [key],
  file: "m.onnx",
  settings: [],
  isBatched: true,
  outputs: ["logits"],
  inputs: INPUTS,
}));

/** A deployment with a model. */
const deployed = (content: Uint8Array) => ({ report: {} as DeployReport, file: () => content });

/** Another file of the same model. */
function another(content: Uint8Array): Uint8Array {
  // A version that nobody asks for: `model_version` of onnx.proto3.
  return Uint8Array.from([...content, 5 << 3, 7]);
}

test("runs of a rank profile's model", async () => {
  const models = new ApplicationModels({});
  onTestFinished(() => models.close());
  const content = crossEncoder();
  const asked = [content, content, another(content)].map((file) => models.run(RUNS, deployed(file), TIME_MS));
  for (const answer of asked) expect(await answer).toHaveLength(MANY);
});

test("a model that a deployment leaves as it is stays open", async () => {
  const models = new ApplicationModels({});
  onTestFinished(() => models.close());
  const content = crossEncoder();
  const stateIn = async (file: Uint8Array) => (await models.states(["m.onnx"], deployed(file)))[0]?.state;
  expect(await models.run(RUNS, deployed(content), TIME_MS)).toHaveLength(MANY);
  expect(await stateIn(content)).toBe("ready");
  // Nobody asked for it since.
  expect(await stateIn(content)).toBe("unloaded");
  expect(await models.run(RUNS, deployed(content), TIME_MS)).toHaveLength(MANY);
  expect(await stateIn(another(content))).toBe("unloaded");
  expect(await models.run(RUNS, deployed(another(content)), TIME_MS)).toHaveLength(MANY);
});

test("texts of an embedder", async () => {
  const modelFolder = folder();
  const { model, tokenizer } = tinyModel();
  cpSync(model, join(modelFolder, "tiny.onnx"));
  cpSync(tokenizer, join(modelFolder, "words.txt"));
  const embedders = new ApplicationEmbedders({ modelFolder });
  onTestFinished(() => embedders.close());
  const deployed = (max: string) => {
    const settings = { "transformer-model@path": "tiny.onnx", "tokenizer-model@path": "words.txt", "max-tokens": max };
    const component = { id: "tiny", type: "hugging-face-embedder", settings: Object.entries(settings) };
    return { embedders: [component] } as unknown as DeployReport;
  };
  const wanted = Array.from(
    { length: MANY },
    () => ({ embedder: "tiny", text: "reset", purpose: "document", values: WIDTH }) as EmbeddingWanted,
  );
  const [before, after] = ["16", "8"].map((max) => embedders.embed(wanted, deployed(max), TIME_MS));
  expect(await before).toHaveLength(MANY);
  expect(await after).toHaveLength(MANY);
});
