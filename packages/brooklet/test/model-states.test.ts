/** The models of a server as it tells them: those of its application and of its process, what they were asked, and why one cannot be. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { HashEmbedder } from "@brooklet/models";
import { expect, onTestFinished, test } from "vitest";
import { tinyModel, WIDTH } from "../../models/test/tiny-model.ts";
import { asking, folder, writeFiles } from "./served.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/serve.js", import.meta.url).href;
const { serve } = (await import(built)) as typeof import("../src/serve.ts");

const component = (id: string, model: string): string => `<component id="${id}" type="hugging-face-embedder">
  <transformer-model path="${model}"/><tokenizer-model path="words.txt"/></component>`;
const services = (...components: readonly string[]): string => `<services version="1.0">
  <container id="default" version="1.0"><search/><document-api/>${components.join("")}</container>
  <content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>`;
const SCHEMA = `schema t { document t { field a type string { indexing: summary } }
  field v type tensor<float>(x[${WIDTH}]) { indexing: input a | embed tiny | attribute }
  field w type tensor<float>(x[8]) { indexing: input a | embed words | attribute }
  rank-profile near { inputs { query(q) tensor<float>(x[${WIDTH}]) } first-phase { expression: closeness(field, v) } } }`;

interface State {
  readonly id: string;
  readonly state: string;
  readonly problem?: string;
  readonly calls: readonly { readonly purpose: string; readonly calls: number; readonly items: number }[];
}

/** A server of the application; asked for the states of its models, and for anything. */
async function served(threads: number, text: string, models: readonly string[]) {
  const modelFolder = folder();
  const { model, tokenizer } = tinyModel();
  cpSync(tokenizer, join(modelFolder, "words.txt"));
  for (const name of models) cpSync(model, join(modelFolder, name));
  const files = new Map([
    ["services.xml", text],
    ["schemas/t.sd", SCHEMA],
  ]);
  const application = writeFiles(join(folder(), "application"), files);
  const embedders = [new HashEmbedder("words")];
  const service = await serve({
    application,
    port: 0,
    threads,
    models: { modelFolder, embedders, onNotice: () => {} },
  });
  onTestFinished(() => service.close());
  const ask = asking(service.port);
  const states = async (): Promise<ReadonlyMap<string, State>> => {
    const { text: told } = await ask("GET", "/brooklet/v1/models");
    const { models: all } = JSON.parse(told) as { models: readonly State[] };
    return new Map(all.map((state) => [state.id, state]));
  };
  return { ask, states, modelFolder };
}

test.each([0, 1])("what queries and documents asked of which model, with %i threads", async (threads) => {
  const { ask, states } = await served(threads, services(component("tiny", "tiny.onnx")), ["tiny.onnx"]);
  // It is read when the application begins to be served, and nobody waits for that.
  await expect.poll(async () => (await states()).get("tiny")?.state).toBe("ready");
  expect([...(await states()).keys()]).toEqual(["words", "tiny"]);
  for (const id of ["1", "2"])
    expect((await ask("POST", `/document/v1/t/t/group/u/${id}?timeout=60s`, { fields: { a: "reset" } })).status).toBe(
      200,
    );
  const query = {
    yql: "select * from t where {targetHits: 1}nearestNeighbor(v, q)",
    "ranking.profile": "near",
    "input.query(q)": "embed(tiny, @text)",
    text: "canary",
    "streaming.groupname": "canarygroup",
    timeout: "60s",
  };
  expect((await ask("POST", "/search/", query)).status).toBe(200);
  const told = await states();
  const [queries, documents] = told.get("tiny")?.calls ?? [];
  expect(told.get("tiny")).toMatchObject({ kind: "embedder", type: "hugging-face-embedder", dimensions: WIDTH });
  expect([queries, documents]).toMatchObject([
    { purpose: "query", items: 1, calls: 1, running: 0, waiting: 0, failures: {} },
    { purpose: "document", items: 2, failures: {} },
  ]);
  expect(told.get("words")?.calls).toMatchObject([{ items: 0 }, { purpose: "document", items: 2 }]);
  const metrics = (await ask("GET", "/metrics")).text;
  expect(metrics).toContain('brooklet_model_items_total{model="tiny",kind="embedder",purpose="document"} 2\n');
  expect(metrics).toContain('brooklet_model_ready{model="tiny",kind="embedder"} 1\n');
  // "reset" has three tokens with those around it, "canary" as many; one more text was run to get ready.
  const tokens = Number(/brooklet_model_tokens_total\{model="tiny",kind="embedder"\} (\d+)/.exec(metrics)?.[1]);
  expect(tokens).toBeGreaterThanOrEqual(9);
  for (const text of [metrics, JSON.stringify([...told])]) expect(text).not.toContain("canary");
});

test("a model that is not there keeps no other from being loaded and asked", async () => {
  const both = services(component("tiny", "tiny.onnx"), component("other", "gone.onnx"));
  const { ask, states } = await served(0, both, ["tiny.onnx"]);
  await expect.poll(async () => (await states()).get("tiny")?.state).toBe("ready");
  expect((await states()).get("other")).toMatchObject({ state: "failed", calls: [{ calls: 0 }, { calls: 0 }] });
  expect((await ask("POST", "/document/v1/t/t/group/u/1?timeout=60s", { fields: { a: "reset" } })).status).toBe(200);
});

test("why a model cannot be asked, and that it can when its file is there", async () => {
  const { ask, states, modelFolder } = await served(0, services(component("tiny", "gone.onnx")), []);
  const missing = `there is no file gone.onnx in the folder of models: put it there (brooklet serve --models <dir>)`;
  expect((await states()).get("tiny")).toMatchObject({ state: "failed", problem: missing });
  const put = () => ask("POST", "/document/v1/t/t/group/u/1?timeout=60s", { fields: { a: "reset" } });
  expect((await put()).status).toBe(400);
  expect((await ask("GET", "/metrics")).text).toContain('brooklet_model_failed{model="tiny",kind="embedder"} 1\n');
  cpSync(tinyModel().model, join(modelFolder, "gone.onnx"));
  // What was wrong with it is not what is wrong now: it is tried again by the next request.
  expect((await put()).status).toBe(200);
  expect((await states()).get("tiny")).toMatchObject({ state: "ready", dimensions: WIDTH });
});
