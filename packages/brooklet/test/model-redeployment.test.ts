/** What models were asked before a deployment took their place is answered by them. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { EmbeddingWanted, ModelRun } from "@brooklet/core";
import type { DeployReport } from "@brooklet/partition";
import { expect, onTestFinished, test } from "vitest";
import { crossEncoder, tinyModel, WIDTH } from "../../models/test/tiny-model.ts";
import { ApplicationEmbedders } from "../src/node/application-embedders.ts";
import { ApplicationModels } from "../src/node/application-models.ts";
import { folder } from "./served.ts";

const TIME_MS = 60_000;
/** More than a run of the runtime takes, so that some wait. */
const MANY = 60;

test("runs of a rank profile's model", async () => {
  const content = crossEncoder();
  const inputs = ["input_ids", "attention_mask", "token_type_ids"].map((name) => ({
    name,
    element: 7,
    sizes: [1, 64],
    bytes: new Uint8Array(64 * 8),
  }));
  const runs: readonly ModelRun[] = Array.from({ length: MANY }, (_, key) => ({
    key: [key],
    file: "m.onnx",
    settings: [],
    isBatched: true,
    outputs: ["logits"],
    inputs,
  }));
  const models = new ApplicationModels({});
  onTestFinished(() => models.close());
  const deployed = () => ({ report: {} as DeployReport, file: () => content });
  const [before, after] = [deployed(), deployed()].map((application) => models.run(runs, application, TIME_MS));
  expect(await before).toHaveLength(MANY);
  expect(await after).toHaveLength(MANY);
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
