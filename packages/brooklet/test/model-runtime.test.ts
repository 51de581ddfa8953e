/** Packages that models need and nobody installed: the deployment warns of them, before a document is put. */
import { Writer } from "@brooklet/core";
import type * as Models from "@brooklet/models/node";
import { expect, onTestFinished, test, vi } from "vitest";
import { openCluster } from "../src/node/threads.ts";
import { folder } from "./served.ts";

const TOLD = "A model needs the package onnxruntime-node: npm install onnxruntime-node";
vi.mock("@brooklet/models/node", async (original) => ({
  ...(await original<typeof Models>()),
  lackingPackage: (type: string) => (type === "hugging-face-embedder" ? TOLD : undefined),
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
    `embedder 'e5': there is no file ${file} in the folder of models, ${models}: put it there (brooklet serve --models <dir>)`;
  expect(warnings).toEqual([`embedder 'e5': ${TOLD}`, missing("e5.onnx"), missing("e5.json")]);
});
