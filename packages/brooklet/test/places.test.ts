/**
 * No answer names a place on the server's machine, whatever fails there and whoever asks (S-25): every folder that a server is given has a
 * name that is looked for in all it says. What it warns of at a deployment, and tells its operator, may name them.
 */
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { outlineOf } from "../../models/src/onnx/outline.ts";
import { crossEncoder, tinyModel } from "../../models/test/tiny-model.ts";
import { serve } from "../src/index.ts";
import { groupToken } from "../src/token.ts";
import { apiRequest } from "./api-requests.ts";
import { drawn } from "./cross-group.ts";
import { type Answered, asking, folder, writeFiles } from "./served.ts";

const KEY = "5b0ae6b1e0fd4a54bb7bbfbb0e3be9c55d3a65b8c0d14d3c";
/** What stands in the path of every folder. */
const CANARY = "canaryplace";
/** Components, each with files that cannot be what it asks for in another way. */
const BROKEN: Readonly<Record<string, readonly [model: string, tokenizer: string]>> = {
  gone: ["gone.onnx", "words.txt"],
  lost: ["tiny.onnx", "gone.json"],
  none: ["none.onnx", "words.txt"],
  directory: ["directory", "words.txt"],
  words: ["tiny.onnx", "broken.json"],
  vocabulary: ["tiny.onnx", "directory"],
  other: ["cross.onnx", "words.txt"],
  outside: ["../tiny.onnx", "words.txt"],
};
const DOWNLOADED = "http://127.0.0.1:9/model.onnx";

const component = (id: string, model: string, tokenizer: string): string =>
  `<component id="${id}" type="hugging-face-embedder"><transformer-model ${model}/><tokenizer-model path="${tokenizer}"/></component>`;

const SERVICES = `<services version="1.0"><container id="default" version="1.0"><search/><document-api/>
  ${Object.entries(BROKEN)
    .map(([id, [model, tokenizer]]) => component(id, `path="${model}"`, tokenizer))
    .join("")}
  ${component("downloaded", `url="${DOWNLOADED}"`, "words.txt")}
  <component id="tokens" type="hugging-face-tokenizer"><model path="broken.json"/></component>
  <component id="ids" type="hugging-face-tokenizer"><model path="directory"/></component></container>
  <content id="c" version="1.0"><redundancy>1</redundancy><documents>
  ${["t", ...Object.keys(BROKEN)].map((type) => `<document type="${type}" mode="streaming"/>`).join("")}</documents></content></services>`;

const schema = (name: string, embeds: string): string => `schema ${name} {
  document ${name} { field a type string { indexing: summary | index } }
  ${embeds} fieldset default { fields: a } }`;
/** What ranks by a model of which the package has the outline, and the folder nothing. */
const RANKED = `schema t {
  document t { field a type string { indexing: summary | index } field tokens type tensor<float>(d0[8]) { indexing: attribute } }
  fieldset default { fields: a }
  onnx-model cross {
    file: models/absent.onnx
    input input_ids: tokenInputIds(16, query(t), attribute(tokens))
    input attention_mask: tokenAttentionMask(16, query(t), attribute(tokens))
    input token_type_ids: tokenTypeIds(16, query(t), attribute(tokens))
    output logits: score
  }
  rank-profile ranked {
    inputs { query(t) tensor<float>(d0[4]) }
    first-phase { expression: sum(onnx(cross).score) }
  } }`;

/** A server, of which every folder has the name, and all the ways to ask it. */
async function served() {
  const home = join(folder(), CANARY);
  const models = join(home, "models");
  mkdirSync(join(models, "directory"), { recursive: true });
  const { model, tokenizer } = tinyModel();
  cpSync(model, join(models, "tiny.onnx"));
  cpSync(tokenizer, join(models, "words.txt"));
  writeFileSync(join(models, "cross.onnx"), crossEncoder());
  writeFileSync(join(models, "none.onnx"), "this is no model");
  writeFileSync(join(models, "broken.json"), "{ no tokenizer");
  // What is downloaded is kept in a folder that is a file.
  writeFileSync(join(home, "cache"), "");
  const files = new Map([
    ["services.xml", SERVICES],
    ["schemas/t.sd", RANKED],
    ...Object.keys(BROKEN).map((id): [string, string] => [
      `schemas/${id}.sd`,
      schema(id, `field v type tensor<float>(x[2]) { indexing: input a | embed ${id} | attribute }`),
    ]),
  ]);
  const application = writeFiles(join(home, "application"), files);
  mkdirSync(join(application, "models"));
  mkdirSync(join(home, "audit"));
  writeFileSync(join(application, "models", "absent.onnx"), outlineOf(crossEncoder()));
  const service = await serve({
    application,
    path: join(home, "data"),
    audit: join(home, "audit", "log.jsonl"),
    port: 0,
    adminKeys: [KEY],
    mcp: true,
    console: true,
    threads: 0,
    models: { modelFolder: models, modelCache: join(home, "cache"), onNotice: () => undefined },
    modelOrigins: [new URL(DOWNLOADED).origin],
    onProblem: () => undefined,
  });
  onTestFinished(() => service.close().catch(() => undefined));
  const send = asking(service.port);
  const token = await groupToken(KEY, {
    group: "alice",
    verbs: ["search", "get", "put", "remove", "visit"],
    ttl: "5m",
  });
  const leaks: string[] = [];
  const statuses = new Set<number>();
  const ask = async (method: string, path: string, body?: unknown, headers = {}): Promise<Answered[]> => {
    const answers = [];
    for (const authorization of [`Bearer ${KEY}`, `Bearer ${token}`, undefined]) {
      const as = authorization === undefined ? headers : { ...headers, authorization };
      const answered = await send(method, path, body, as).catch(
        (error: Error): Answered => ({ status: 0, headers: "", text: String(error) }),
      );
      statuses.add(answered.status);
      answers.push(answered);
      if (`${answered.headers}${answered.text}`.includes(CANARY))
        leaks.push(`${method} ${path}: ${answered.text.slice(0, 600)}`);
    }
    return answers;
  };
  return { ask, leaks, statuses, home, service };
}

const query = (type: string, embedder: string): Readonly<Record<string, string>> => ({
  yql: `select * from ${type} where {targetHits: 1}nearestNeighbor(v, q)`,
  "input.query(q)": `embed(${embedder}, @text)`,
  text: "reset",
  "streaming.groupname": "alice",
  timeout: "10s",
});

/** What every part of a server is asked, with or without what it needs. */
async function askAll(ask: Awaited<ReturnType<typeof served>>["ask"]): Promise<void> {
  for (const type of ["t", ...Object.keys(BROKEN)]) {
    await ask("POST", `/document/v1/a/${type}/group/alice/1?timeout=10s`, { fields: { a: "reset" } });
    await ask("POST", "/brooklet/v1/feed?timeout=10s", `{"put":"id:a:${type}:g=alice:2","fields":{"a":"reset"}}\n`);
    await ask("GET", `/document/v1/a/${type}/group/alice/1`);
    await ask("POST", "/search/", { yql: `select * from ${type} where true`, "streaming.groupname": "alice" });
    for (const embedder of [type, "downloaded", "tokens", "ids"]) await ask("POST", "/search/", query(type, embedder));
    const search = { group: "alice", schema: type, near: "reset", text: "reset" };
    await ask("POST", "/brooklet/v1/search", search);
    await ask("POST", "/brooklet/v1/retrieve", { ...search, question: "reset" });
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "search", arguments: { schema: type, query: "reset", near: "reset" } },
    };
    await ask("POST", "/mcp", call, { accept: "application/json, text/event-stream" });
  }
  const ranked = { "ranking.profile": "ranked", "input.query(t)": "[1,2,3,4]", "streaming.groupname": "alice" };
  await ask("POST", "/search/", { yql: "select * from t where true", ...ranked });
  const paths = [
    "/brooklet/v1/models",
    "/metrics",
    "/readyz",
    "/livez",
    "/status.html",
    "/state/v1/health",
    "/ApplicationStatus",
    "/console/",
    "/brooklet/v1/groups",
    "/brooklet/v1/queries/slow",
    "/brooklet/v1/receipt-key",
    "/model-evaluation/v1/",
    "/document/v1/?cluster=c",
    "/document/v1/a/t/docid?selection=true&cluster=c",
  ];
  for (const path of paths) await ask("GET", path);
  await ask("POST", "/application/v2/tenant/default/prepareandactivate", "no zip", {
    "content-type": "application/zip",
  });
  await ask(
    "GET",
    "/application/v2/tenant/default/application/default/environment/prod/region/default/instance/default/content/",
  );
  await ask("DELETE", "/brooklet/v1/groups/alice");
  const pick = drawn(7);
  for (let request = 0; request < 300; request += 1) {
    const { method, path, body, headers } = apiRequest(pick);
    await ask(method, path, body, {
      ...headers,
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    });
  }
}

test("models that cannot be asked are told without their folders", async () => {
  const { ask, leaks, service } = await served();
  await askAll(ask);
  expect(leaks).toEqual([]);
  // The operator is told where.
  expect(service.warnings.join("\n")).toContain(CANARY);
});

test.each([
  ["gone", (data: string) => rmSync(data, { recursive: true, force: true })],
  [
    "of files that are none of its",
    (data: string) => {
      for (const name of readdirSync(data, { recursive: true, encoding: "utf8" })) {
        if (/\.(sqlite|generation)$/.test(name)) writeFileSync(join(data, name), "no store ".repeat(4_000));
      }
    },
  ],
  [
    "of directories",
    (data: string) => {
      for (const name of readdirSync(data, { recursive: true, encoding: "utf8" })) {
        if (!name.includes(".")) continue;
        rmSync(join(data, name), { recursive: true, force: true });
        mkdirSync(join(data, name));
      }
    },
  ],
])("a store that is %s is told without its folder", async (_, breaks) => {
  const { ask, leaks, statuses, home } = await served();
  breaks(join(home, "data"));
  rmSync(join(home, "audit"), { recursive: true, force: true });
  await askAll(ask);
  expect(leaks).toEqual([]);
  expect([...statuses].some((status) => status >= 500)).toBe(true);
});
