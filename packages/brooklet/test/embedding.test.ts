/**
 * Fields that are made when a document is put: chunks, and tensors of an embedder; in process and with threads, folded
 * and not, with the hash embedder, and (BROOKLET_MINILM) with the real model as a component of services.xml.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { embedding, schema, text } from "@brooklet/client";
import { Writer } from "@brooklet/core";
import { HashEmbedder } from "@brooklet/models";
import { type Cluster, searchOnce } from "@brooklet/partition";
import { ServiceError } from "@brooklet/wire";
import { afterEach, describe, expect, test } from "vitest";
import type { ModelOptions } from "../src/node/models/application-embedders.ts";
import { open as openDatabase } from "../src/open.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/node/threads.js", import.meta.url).href;
const { openCluster } = (await import(built)) as typeof import("../src/node/threads.ts");

const SCHEMA = `schema note {
  document note {
    field title type string { indexing: summary | index }
    field body type string { indexing: summary | index }
  }
  field chunks type array<string> { indexing: input body | chunk sentence | summary | index }
  field vector type tensor<float>(x[32]) {
    indexing: (input title || "") . " " . (input body || "") | embed e | attribute
    attribute { distance-metric: prenormalized-angular }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[32]) }
    first-phase { expression: closeness(field, vector) }
  }
}`;

const closing: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function applicationPackage(schema: string, components = ""): Uint8Array {
  const services = `<services version="1.0"><container id="c" version="1.0">${components}</container>
    <content id="note" version="1.0"><redundancy>1</redundancy>
    <documents><document type="note" mode="streaming"/></documents><nodes><node hostalias="n" distribution-key="0"/></nodes>
    </content></services>`;
  return new Writer().varint(2).text("services.xml").text(services).text("schemas/note.sd").text(schema).finish();
}

async function open(threads: number, models: ModelOptions, applicationBytes: Uint8Array): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "brooklet-embedding-"));
  const cluster = openCluster({ path: folder, threads, models });
  closing.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => cluster.close(),
  );
  await cluster.deploy(applicationBytes);
  return cluster;
}

const NOTHING = new Uint8Array();

const put = (cluster: Cluster, number: number, fields: Record<string, string>) =>
  cluster.partition("g:a").apply(
    {
      kind: "put",
      rawPath: "",
      id: `id:n:note:g=a:${number}`,
      create: false,
      condition: "",
      body: new TextEncoder().encode(JSON.stringify({ fields })),
    },
    30_000,
  );

async function ask(
  cluster: Cluster,
  properties: Record<string, string>,
  json: Record<string, string> | string = "",
): Promise<Record<string, unknown>[]> {
  const body = new TextEncoder().encode(typeof json === "string" ? json : JSON.stringify(json));
  const request = { properties: Object.entries({ "streaming.groupname": "a", timeout: "60s", ...properties }), body };
  const answer = await searchOnce(cluster, request, 60_000);
  const { root } = JSON.parse(new TextDecoder().decode(answer.body)) as {
    root: { errors?: unknown; children?: { fields: Record<string, unknown> }[] };
  };
  expect(root.errors).toBeUndefined();
  return (root.children ?? []).map(({ fields }) => fields);
}

describe.each([0, 1])("with %i threads", (threads) => {
  test("chunks and embeddings are made, searched and shown", async () => {
    const notices: string[] = [];
    const embedder = new HashEmbedder("e");
    const models = { embedders: [embedder], onNotice: (notice: string) => void notices.push(notice) };
    const cluster = await open(threads, models, applicationPackage(SCHEMA));
    expect(await put(cluster, 1, { title: "Deposit", body: "The deposit is paid back. Within two weeks!" })).toEqual({
      status: 200,
    });
    expect(await put(cluster, 2, { title: "Bicycle", body: "It stands in the cellar." })).toEqual({ status: 200 });
    const deadline = { leftMs: () => 1000 };
    const [query] = await embedder.embed({ texts: ["deposit paid back"], purpose: "query", dimensions: 32, deadline });
    const asked = {
      yql: "select title from note where {targetHits: 1}nearestNeighbor(vector, q)",
      "ranking.profile": "near",
    };
    const calls = [
      'embed("deposit paid back")',
      "embed(e, @query)",
      "embed(deposit paid back)",
      "embed(@query)",
      // Only who reads the query as the core does sees these.
      "embed (e, @query)",
      "  embed(e,@query) ",
    ];
    for (const call of [...calls, 'embed(e, "deposit paid back")']) {
      const properties = { ...asked, query: "deposit paid back", "input.query(q)": call };
      expect(await ask(cluster, properties)).toEqual([{ title: "Deposit" }]);
      expect(await ask(cluster, {}, properties)).toEqual([{ title: "Deposit" }]);
    }
    const escaped = JSON.stringify({ ...asked, query: "deposit paid back", "input.query(q)": calls[1] });
    const body = escaped.replace("embed(", String.raw`\u0065mbed(`);
    expect(body).not.toContain("embed(");
    expect(await ask(cluster, {}, body)).toEqual([{ title: "Deposit" }]);
    const hits = await ask(cluster, {
      yql: "select * from note where {targetHits: 1}nearestNeighbor(vector, q)",
      "ranking.profile": "near",
      "input.query(q)": JSON.stringify([...(query?.values ?? [])]),
    });
    expect(hits.map(({ title }) => title)).toEqual(["Deposit"]);
    expect(hits[0]?.["chunks"]).toEqual(["The deposit is paid back.", " Within two weeks!"]);
    const found = await ask(cluster, { yql: 'select title from note where chunks contains "cellar"' });
    expect(found).toEqual([{ title: "Bicycle" }]);
    expect(notices).toEqual(["embedder 'e': the hash embedder knows no meaning: it compares words"]);
  });
});

test("without an embedder a document is refused, and nothing is stored", async () => {
  const cluster = await open(0, {}, applicationPackage(SCHEMA));
  expect(await put(cluster, 1, { title: "a", body: "b" })).toMatchObject({ status: 400, outcome: "not_applied" });
  const answer = await cluster
    .partition("g:a")
    .get({ rawPath: "", id: "id:n:note:g=a:1", fieldSet: "", tensorFormat: "" }, 60_000);
  expect(answer.status).toBe(404);
});

test.each([
  ["BAD_REQUEST", 400],
  ["OVERLOADED", 429],
  ["TIMED_OUT", 504],
  [undefined, 500],
] as const)(
  "an embedder that fails with %s fails the document with %i, and nothing is stored",
  async (code, status) => {
    class Failing extends HashEmbedder {
      override embed(): Promise<never> {
        return Promise.reject(code === undefined ? new Error("no") : new ServiceError(code, "no"));
      }
    }
    const cluster = await open(0, { embedders: [new Failing("e")] }, applicationPackage(SCHEMA));
    expect(await put(cluster, 1, { title: "a" })).toMatchObject({ status });
    const asked = { rawPath: "", id: "id:n:note:g=a:1", fieldSet: "", tensorFormat: "" };
    expect((await cluster.partition("g:a").get(asked, 60_000)).status).toBe(404);
  },
);

test("an embedder that gives no numbers fails the document, and nothing is stored", async () => {
  class Overflowing extends HashEmbedder {
    override async embed(request: Parameters<HashEmbedder["embed"]>[0]): ReturnType<HashEmbedder["embed"]> {
      const made = await super.embed(request);
      return made.map((one) => ({ ...one, values: one.values.fill(Number.NaN) }));
    }
  }
  const cluster = await open(0, { embedders: [new Overflowing("e")] }, applicationPackage(SCHEMA));
  const message = "Embedder 'e' gives a value that is no finite 32-bit number";
  expect(await put(cluster, 1, { title: "a" })).toMatchObject({ status: 500, message });
  const asked = { rawPath: "", id: "id:n:note:g=a:1", fieldSet: "", tensorFormat: "" };
  expect((await cluster.partition("g:a").get(asked, 60_000)).status).toBe(404);
});

test("what several fields embed alike is embedded once, and an embedder must be named where there are several", async () => {
  const texts: string[] = [];
  class Counting extends HashEmbedder {
    override embed(request: Parameters<HashEmbedder["embed"]>[0]): ReturnType<HashEmbedder["embed"]> {
      texts.push(...request.texts);
      return super.embed(request);
    }
  }
  const made = (name: string) => `field ${name} type tensor<float>(p{},x[32]) {
    indexing: input body | chunk sentence | embed e | attribute
    attribute { distance-metric: prenormalized-angular }
  }`;
  const schema = SCHEMA.replace("  rank-profile", `  ${made("one")}\n  ${made("two")}\n  rank-profile`);
  const models = { embedders: [new Counting("e"), new HashEmbedder("f")] };
  const cluster = await open(0, models, applicationPackage(schema));
  expect(await put(cluster, 1, { body: "It is due. Pay it!" })).toEqual({ status: 200 });
  expect(texts.toSorted()).toEqual([" It is due. Pay it!", " Pay it!", "It is due."]);
  const properties = {
    yql: "select * from note where true",
    "ranking.profile": "near",
    "input.query(q)": "embed(it)",
    "streaming.groupname": "a",
    timeout: "60s",
  };
  const search = searchOnce(cluster, { properties: Object.entries(properties), body: NOTHING }, 60_000);
  await expect(search.then(({ body }) => new TextDecoder().decode(body))).rejects.toThrow(
    /Several embedders.*there are .*e.*f/,
  );
});

test("a schema of the SDK has a field that an embedder of the process makes, and is searched near to by text", async () => {
  const note = schema("note", {
    title: text(),
    body: text().optional(),
    vec: embedding({ from: ["title", "body"], model: "words", dimensions: 64 }),
  });
  const notices: string[] = [];
  const models: ModelOptions = {
    embedders: [new HashEmbedder("words")],
    onNotice: (notice) => void notices.push(notice),
  };
  await using db = await openDatabase({ schemas: [note], models });
  const alice = db.group("alice");
  await alice.put(note, "1", { title: "Deposit", body: "It is paid back." });
  await alice.put(note, "2", { title: "Bicycle" });
  const near = { field: "vec", text: "is it paid back" } as const;
  const { hits } = await alice.search(note, { near, fields: ["title", "vec"], limit: 1 });
  expect(hits[0]?.fields.title).toBe("Deposit");
  expect(hits[0]?.fields.vec).toHaveLength(64);
  expect(await alice.get(note, "1")).toEqual({ title: "Deposit", body: "It is paid back." });
  expect(notices).toHaveLength(1);
});

const minilm = process.env["BROOKLET_MINILM"];
describe.runIf(minilm !== undefined)("all-MiniLM-L6-v2 as a component", () => {
  test("finds by meaning", async () => {
    const schema = SCHEMA.replaceAll("x[32]", "x[384]").replace("embed e", "embed minilm");
    const component = `<component id="minilm" type="hugging-face-embedder">
      <transformer-model path="model.onnx"/><tokenizer-model path="tokenizer.json"/><max-tokens>128</max-tokens>
      <normalize>true</normalize></component>`;
    const cluster = await open(1, { modelFolder: minilm ?? "" }, applicationPackage(schema, component));
    for (const [index, title] of ["Reset a forgotten password", "The invoice is due", "A walk by the sea"].entries()) {
      expect(await put(cluster, index, { title })).toEqual({ status: 200 });
    }
    const hits = await ask(cluster, {
      yql: "select title from note where {targetHits: 3}nearestNeighbor(vector, q)",
      "ranking.profile": "near",
      "input.query(q)": 'embed(minilm, "how can I recover my login credentials")',
    });
    // By their cosines: 0.64, 0.03, -0.04.
    expect(hits.map(({ title }) => title)).toEqual([
      "Reset a forgotten password",
      "The invoice is due",
      "A walk by the sea",
    ]);
  });
});
