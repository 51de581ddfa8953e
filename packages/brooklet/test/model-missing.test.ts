/** Models of components that are not there: the deployment says so, and what no retry can mend is no 503. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { expect, onTestFinished, test } from "vitest";
import { openCluster } from "../src/node/threads.ts";
import { folder } from "./served.ts";

const URL_OF_MODEL = "https://models.invalid/model.onnx";
const COMPONENT = `<component id="e5" type="hugging-face-embedder">
  <transformer-model url="${URL_OF_MODEL}"/><tokenizer-model path="here/tokenizer.json"/></component>`;
const SERVICES = `<services version="1.0"><container id="default" version="1.0"><search/><document-api/>${COMPONENT}</container>
  <content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>`;
const SCHEMA = `schema t { document t { field a type string { indexing: summary } }
  field v type tensor<float>(x[2]) { indexing: input a | embed e5 | attribute } }`;

function applicationPackage(): Uint8Array {
  return new Writer().varint(2).text("services.xml").text(SERVICES).text("schemas/t.sd").text(SCHEMA).finish();
}

test("each model that is not there is a warning of the deployment, with the command that brings it", async () => {
  const [path, models] = [join(folder(), "data"), folder()];
  const cluster = openCluster({ path, threads: 0, models: { modelFolder: models } });
  onTestFinished(() => cluster.close());
  const { warnings } = await cluster.deploy(applicationPackage());
  expect(warnings).toEqual([
    `embedder 'e5': ${URL_OF_MODEL} is not downloaded: run 'brooklet model pull ${URL_OF_MODEL}' (with --model-cache ${join(path, "models")}), or the first request that needs it waits for the download`,
    `embedder 'e5': there is no file here/tokenizer.json in the folder of models, ${models}: put it there (brooklet serve --models <dir>)`,
  ]);
  mkdirSync(join(models, "here"));
  writeFileSync(join(models, "here", "tokenizer.json"), "{}");
  expect((await cluster.deploy(applicationPackage())).warnings).toEqual(warnings.slice(0, 1));
});

test("without a folder for models a document is refused for good, with what to do", async () => {
  const cluster = openCluster();
  onTestFinished(() => cluster.close());
  const { warnings } = await cluster.deploy(applicationPackage());
  expect(warnings[0]).toContain(`run 'brooklet model pull ${URL_OF_MODEL}'`);
  const body = new TextEncoder().encode('{"fields":{"a":"text"}}');
  const put = { kind: "put", rawPath: "", id: "id:t:t:g=u:1", create: false, condition: "", body } as const;
  const outcome = await cluster.partition("g:u").apply(put, 10_000);
  expect(outcome).toMatchObject({ status: 400, outcome: "not_applied" });
  expect(outcome.message).toContain(`run 'brooklet model pull ${URL_OF_MODEL}'`);
});
