/** Packages that models need and nobody installed: the deployment warns of them, before a document is put. */
import { Writer } from "@brooklet/core";
import type * as Models from "@brooklet/models/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { outlineOf } from "../../models/src/onnx/outline.ts";
import { crossEncoder } from "../../models/test/tiny-model.ts";
import { openCluster } from "../src/node/threads.ts";
import { folder } from "./served.ts";

const TOLD = "A model needs the package onnxruntime-node: npm install onnxruntime-node";
vi.mock("@brooklet/models/node", async (original) => ({
  ...(await original<typeof Models>()),
  lackingPackage: (type: string) => (type === "hugging-face-embedder" ? TOLD : undefined),
  lackingRuntime: () => TOLD,
}));

const component = (id: string, type: string, inside: string): string =>
  `<component id="${id}" type="${type}">${inside}</component>`;
const SERVICES = `<services version="1.0"><container id="default" version="1.0"><search/><document-api/>
  ${component("e5", "hugging-face-embedder", '<transformer-model path="e5.onnx"/><tokenizer-model path="e5.json"/>')}
  ${component("away", "openai-embedder", "<model>m</model>")}</container>
  <content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>`;
const SCHEMA = `schema t { document t { field a type string { indexing: summary } }
  field v type tensor<float>(x[2]) { indexing: input a | embed e5 | attribute } }`;

test("a deployment warns of the package that a component lacks, beside the files that are not there", async () => {
  const models = folder();
  const cluster = openCluster({ models: { modelFolder: models } });
  onTestFinished(() => cluster.close());
  const files = new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/t.sd").text(SCHEMA).finish();
  const { warnings } = await cluster.deploy(files);
  const missing = (file: string): string =>
    `embedder 'e5': there is no file ${file} in the folder of models: put it there (brooklet serve --models <dir>); the folder is ${models}`;
  expect(warnings).toEqual([`embedder 'e5': ${TOLD}`, missing("e5.onnx"), missing("e5.json")]);
});

const RANKED = `schema t {
  document t { field tokens type tensor<float>(d0[8]) { indexing: attribute } }
  onnx-model cross {
    file: models/cross.onnx
    input input_ids: tokenInputIds(16, query(t), attribute(tokens))
    input attention_mask: tokenAttentionMask(16, query(t), attribute(tokens))
    input token_type_ids: tokenTypeIds(16, query(t), attribute(tokens))
    output logits: score
  }
  rank-profile ranked {
    inputs { query(t) tensor<float>(d0[8]) }
    first-phase { expression: sum(onnx(cross).score) }
  }
}`;

test("it warns of what models of rank profiles lack: the package, and the model of an outline", async () => {
  const models = folder();
  const cluster = openCluster({ models: { modelFolder: models } });
  onTestFinished(() => cluster.close());
  const services = SERVICES.replace(/<component[\s\S]*<\/component>/, "");
  const packageWith = (model: Uint8Array): Uint8Array => {
    const files = new Writer().varint(3).text("services.xml").text(services).text("schemas/t.sd").text(RANKED);
    return files.text("models/cross.onnx").bytes(model).finish();
  };
  const noPackage = `models/cross.onnx: ${TOLD}`;
  const outline = packageWith(outlineOf(crossEncoder()));
  expect((await cluster.deploy(packageWith(crossEncoder()))).warnings).toEqual([noPackage]);
  const noModel = expect.stringContaining("the model is not in the folder of models");
  expect((await cluster.checkDeployment?.(outline))?.warnings).toEqual([noPackage, noModel]);
  expect((await cluster.deploy(outline)).warnings).toEqual([noPackage, noModel]);
  const [state] = (await cluster.models?.()) ?? [];
  expect(state).toMatchObject({ id: "models/cross.onnx", state: "failed", problem: TOLD });
});
