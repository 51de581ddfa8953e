/** Models of components that are not there, or not theirs: the deployment says so, and what no retry can mend is no 503. */
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import { expect, onTestFinished, test } from "vitest";
import { tinyModel, WIDTH } from "../../models/test/tiny-model.ts";
import { serve } from "../src/index.ts";
import type { ModelOptions } from "../src/node/models/application-embedders.ts";
import { openCluster } from "../src/node/threads.ts";
import { asking, folder, writeFiles } from "./served.ts";

const URL_OF_MODEL = "https://models.invalid/model.onnx";
const COMPONENT = `<component id="e5" type="hugging-face-embedder">
  <transformer-model url="${URL_OF_MODEL}"/><tokenizer-model path="here/tokenizer.json"/></component>`;
const SERVICES = `<services version="1.0"><container id="default" version="1.0"><search/><document-api/>${COMPONENT}</container>
  <content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>`;
const SCHEMA = `schema t { document t { field a type string { indexing: summary } }
  field v type tensor<float>(x[2]) { indexing: input a | embed e5 | attribute }
  rank-profile near { inputs { query(q) tensor<float>(x[2]) } first-phase { expression: closeness(field, v) } } }`;

function applicationPackage(services = SERVICES, schema = SCHEMA): Uint8Array {
  return new Writer().varint(2).text("services.xml").text(services).text("schemas/t.sd").text(schema).finish();
}

test("each model that is not there is a warning of the deployment, with the command that brings it", async () => {
  const [path, models] = [join(folder(), "data"), folder()];
  const cluster = openCluster({ path, threads: 0, models: { modelFolder: models } });
  onTestFinished(() => cluster.close());
  const { warnings } = await cluster.deploy(applicationPackage());
  expect(warnings).toEqual([
    `embedder 'e5': ${URL_OF_MODEL} is not downloaded: run 'brooklet model pull ${URL_OF_MODEL}' (with --model-cache <dir>), or the first request that needs it waits for the download; the folder is ${join(path, "models")}`,
    `embedder 'e5': there is no file here/tokenizer.json in the folder of models: put it there (brooklet serve --models <dir>); the folder is ${models}`,
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
  const outcome = await cluster.partition("g:u").apply(put, 60_000);
  expect(outcome).toMatchObject({ status: 400, outcome: "not_applied" });
  expect(outcome.message).toContain(`run 'brooklet model pull ${URL_OF_MODEL}'`);
});

/** What a put and a query with embed() are answered by a server of the application. */
async function asked(models: ModelOptions, services = SERVICES) {
  const files = new Map([
    ["services.xml", services],
    ["schemas/t.sd", SCHEMA],
  ]);
  const application = writeFiles(join(folder(), "application"), files);
  const service = await serve({
    application,
    port: 0,
    models,
    modelOrigins: [...new Set([...services.matchAll(/"(http:\/\/[^/"]+)/g)].map(([, origin = ""]) => origin))],
  });
  onTestFinished(() => service.close());
  const ask = asking(service.port);
  const query = {
    yql: "select * from t where {targetHits: 1}nearestNeighbor(v, q)",
    "ranking.profile": "near",
    "input.query(q)": "embed(e5, @text)",
    text: "reset",
    "streaming.groupname": "u",
    timeout: "60s",
  };
  return {
    put: await ask("POST", "/document/v1/t/t/group/u/1?timeout=60s", { fields: { a: "reset" } }),
    query: await ask("POST", "/search/", query),
  };
}

/** A server of models that answers every request with a status. */
async function answering(status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/model.onnx`;
}

test.each([
  ["no folder for downloads", 404, false, 400],
  ["nothing at the address", 404, true, 400],
  ["no right to the address", 403, true, 400],
  // Here a retry may find it.
  ["a server that is in trouble", 500, true, 503],
])("a put and a query name the command: %s", async (_, answered, hasCache, status) => {
  const url = await answering(answered);
  const models = hasCache ? { modelCache: folder() } : {};
  const { put, query } = await asked(models, SERVICES.replace(URL_OF_MODEL, url));
  for (const answer of [put, query]) {
    expect(answer.text).toContain(`run 'brooklet model pull ${url}'`);
    expect(answer.status).toBe(status);
  }
});

test("a put and a query say which file the folder of models lacks, and not where that folder is", async () => {
  const modelFolder = folder();
  const { put, query } = await asked({ modelFolder }, SERVICES.replace(`url="${URL_OF_MODEL}"`, 'path="gone.onnx"'));
  for (const answer of [put, query]) {
    expect(answer.text).toContain("there is no file gone.onnx in the folder of models: put it there");
    expect(answer.text).not.toContain(modelFolder);
    expect(answer.status).toBe(400);
  }
});

test("an input that no embedder gives is a warning of the deployment, and refused by its name for good", async () => {
  const modelFolder = folder();
  const { model, tokenizer } = tinyModel("pixel_values");
  cpSync(model, join(modelFolder, "model.onnx"));
  cpSync(tokenizer, join(modelFolder, "words.txt"));
  const services = SERVICES.replace(`url="${URL_OF_MODEL}"`, 'path="model.onnx"').replace(
    "here/tokenizer.json",
    "words.txt",
  );
  const told = "The model must be given the input 'pixel_values', and an embedder of its kind gives input_ids,";
  const cluster = openCluster({ models: { modelFolder } });
  onTestFinished(() => cluster.close());
  const { warnings } = await cluster.deploy(applicationPackage(services));
  expect(warnings).toEqual([expect.stringMatching(`^embedder 'e5': The model .*model.onnx cannot be used: ${told}`)]);
  const { put, query } = await asked({ modelFolder }, services);
  for (const answer of [put, query]) {
    expect(answer.text).toContain(told);
    expect(answer.status).toBe(400);
  }
  // The one that fits is no reason to warn.
  cpSync(tinyModel().model, join(modelFolder, "model.onnx"));
  expect((await cluster.deploy(applicationPackage(services))).warnings).toEqual([]);
});

test.each(["embed e5", "embed"])(
  "a field that is longer than what the model gives is a warning, too: %s",
  async (embeds) => {
    const modelFolder = folder();
    const { model, tokenizer } = tinyModel();
    cpSync(model, join(modelFolder, "model.onnx"));
    cpSync(tokenizer, join(modelFolder, "words.txt"));
    const services = SERVICES.replace(`url="${URL_OF_MODEL}"`, 'path="model.onnx"').replace(
      "here/tokenizer.json",
      "words.txt",
    );
    const cluster = openCluster({ models: { modelFolder } });
    onTestFinished(() => cluster.close());
    const deployed = async (values: number): Promise<readonly string[]> => {
      const schema = SCHEMA.replaceAll("x[2]", `x[${values}]`).replace("embed e5", embeds);
      return (await cluster.deploy(applicationPackage(services, schema))).warnings;
    };
    expect(await deployed(WIDTH)).toEqual([]);
    expect(await deployed(8)).toContain(`embedder 'e5': it gives ${WIDTH} values, and the field 'v' of 't' has 8`);
    const body = new TextEncoder().encode('{"fields":{"a":"reset"}}');
    const put = { kind: "put", rawPath: "", id: "id:t:t:g=u:1", create: false, condition: "", body } as const;
    expect(await cluster.partition("g:u").apply(put, 60_000)).toMatchObject({
      status: 400,
      message: `Embedder 'e5': The model gives ${WIDTH} values, and 8 are asked for`,
    });
  },
);
