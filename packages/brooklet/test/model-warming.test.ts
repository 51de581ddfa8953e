/** The models of an application are read when it begins to be served: the first query need not wait for them. */
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Writer } from "@brooklet/core";
import type { Embedder } from "@brooklet/models";
import type { Cluster, DeployReport } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { tinyModel } from "../../models/test/tiny-model.ts";
import { ApplicationEmbedders } from "../src/node/models/application-embedders.ts";
import { openCluster } from "../src/node/threads.ts";
import { folder } from "./served.ts";

const COMPONENT = `<component id="e" type="hugging-face-embedder">
  <transformer-model url="https://models.invalid/model.onnx"/><tokenizer-model path="tokenizer.json"/></component>`;

function applicationPackage(components = ""): Uint8Array {
  const services = `<services version="1.0"><container id="default" version="1.0"><search/>${components}</container>
    <content id="c" version="1.0"><redundancy>1</redundancy><documents><document type="t" mode="streaming"/></documents></content></services>`;
  const schema = `schema t { document t { field a type string { indexing: summary } }
    field v type tensor<float>(x[2]) { indexing: input a | embed e | attribute } }`;
  return new Writer().varint(2).text("services.xml").text(services).text("schemas/t.sd").text(schema).finish();
}

/** An application without schemas. */
const NOTHING: DeployReport = { schemas: [], clusters: [], fingerprint: "0", warnings: [] };

/** An embedder that is asked for nothing but to get ready. */
function counted(warm: () => Promise<void>): Embedder {
  return { id: "e", shape: "vector", embed: () => Promise.reject(new Error("asked")), close: async () => {}, warm };
}

function opened(path: string, warm: () => Promise<void>): Cluster {
  const cluster = openCluster({ path, threads: 0, models: { embedders: [counted(warm)] } });
  onTestFinished(() => cluster.close());
  return cluster;
}

test("models get ready when an application is deployed, and when a stored one is opened", async () => {
  const path = join(folder(), "data");
  const first = vi.fn(async () => {});
  const cluster = opened(path, first);
  expect(first).not.toHaveBeenCalled();
  await cluster.deploy(applicationPackage());
  await expect.poll(() => first.mock.calls.length).toBe(1);
  await cluster.close();
  const second = vi.fn(() => Promise.reject(new Error("no memory")));
  opened(path, second);
  await expect.poll(() => second.mock.calls.length).toBe(1);
});

test("nothing is downloaded for it", async () => {
  const fetched = vi.spyOn(globalThis, "fetch");
  onTestFinished(() => fetched.mockRestore());
  const embedders = new ApplicationEmbedders({ modelFolder: folder(), modelCache: folder() });
  const settings = [
    ["transformer-model@url", "https://models.invalid/model.onnx"],
    ["tokenizer-model@path", "tokenizer.json"],
  ] as const;
  await embedders.warm({ ...NOTHING, embedders: [{ id: "e", type: "hugging-face-embedder", settings }] });
  expect(fetched).not.toHaveBeenCalled();
  await embedders.close();
});

test("what is closed meanwhile is not opened again", async () => {
  const warm = vi.fn(async () => {});
  const embedders = new ApplicationEmbedders({ embedders: [counted(warm)] });
  const warming = embedders.warm(NOTHING);
  await embedders.close();
  await warming;
  expect(warm).not.toHaveBeenCalled();
});

test("a component that is given as an embedder of the process is that one", async () => {
  const warm = vi.fn(async () => {});
  await opened(join(folder(), "data"), warm).deploy(applicationPackage(COMPONENT));
  await expect.poll(() => warm.mock.calls.length).toBe(1);
});

describe("what keeps a model from being read is told when an application begins to be served", () => {
  const PAGE = "<!doctype html><title>404</title>";
  const NO_VOCABULARY = JSON.stringify({ added_tokens: [], model: { type: "WordPiece", vocab: {} } });
  const EMBEDS = 'transformer-model path="model.onnx"/><tokenizer-model';
  const TOKENIZES = "model";

  test.each([
    ["a page in place of a tokenizer", "hugging-face-embedder", EMBEDS, PAGE, /tokenizer\.json cannot be used/],
    ["a tokenizer without words", "hugging-face-embedder", EMBEDS, NO_VOCABULARY, /tokenizer\.json cannot be used/],
    ["a page, of which tokens are made", "hugging-face-tokenizer", TOKENIZES, PAGE, /tokenizer\.json cannot be used/],
  ])("%s", async (_, type, element, tokenizer, told) => {
    const [path, modelFolder] = [join(folder(), "data"), folder()];
    cpSync(tinyModel().model, join(modelFolder, "model.onnx"));
    writeFileSync(join(modelFolder, "tokenizer.json"), tokenizer);
    const component = `<component id="e" type="${type}"><${element} path="tokenizer.json"/></component>`;
    const opened = (): { readonly cluster: Cluster; readonly notices: string[] } => {
      const notices: string[] = [];
      const onNotice = (notice: string): void => void notices.push(notice);
      const cluster = openCluster({ path, threads: 0, models: { modelFolder, onNotice } });
      onTestFinished(() => cluster.close());
      return { cluster, notices };
    };
    const first = opened();
    await first.cluster.deploy(applicationPackage(component));
    await expect.poll(() => first.notices).toEqual([expect.stringMatching(told)]);
    expect(first.notices[0]).toMatch(/^embedder 'e': /);
    await expect.poll(async () => (await first.cluster.models?.())?.[0]?.state).toBe("failed");
    await first.cluster.close();
    const { notices } = opened();
    await expect.poll(() => notices).toEqual(first.notices);
  });

  test("so is what an embedder of the process says, but not that it is slow", async () => {
    const notices: string[] = [];
    const told = (warm: () => Promise<void>): ApplicationEmbedders =>
      new ApplicationEmbedders({ embedders: [counted(warm)], onNotice: (notice) => void notices.push(notice) });
    for (const warm of [
      () => Promise.reject(new ServiceError("TIMED_OUT", "late")),
      () => Promise.reject(new Error("no memory")),
    ]) {
      const embedders = told(warm);
      await embedders.warm(NOTHING);
      await embedders.close();
    }
    expect(notices).toEqual(["embedder 'e': no memory"]);
  });
});
