/**
 * What the SDK, `POST /brooklet/v1/retrieve`, `POST /brooklet/v1/search` and MCP find is the same: by words and by the vector
 * that the server makes, from the same fields, with the same scores.
 */
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { expect, onTestFinished, test } from "vitest";
import type * as Brooklet from "../src/index.ts";

/** What was built: packages of the project are tested as they are installed. */
const builtIndex = new URL("../dist/index.js", import.meta.url).href;
const { array, embedding, open, schema, string, text, chunks, shownId } = (await import(builtIndex)) as typeof Brooklet;
const { createMcpServer } = (await import("@brooklet/adapters/mcp")) as typeof import("@brooklet/adapters/mcp");

/** Texts about money are near to each other, and those about dogs. */
const embedder: NonNullable<NonNullable<Brooklet.OpenOptions["models"]>["embedders"]>[number] = {
  id: "topics",
  shape: "vector",
  embed: async ({ texts }) =>
    texts.map((content) => {
      const values = /rent|euros|deposit|money/i.test(content) ? [1, 0.2] : [0.1, 1];
      return { shape: "vector", values: Float32Array.from(values) };
    }),
  close: async () => {},
};

const note = schema("note", {
  title: text({ show: "bold" }),
  body: text({ show: "teaser" }),
  tags: array(text()).optional(),
  sender: string(),
  parts: chunks("body", { length: 60 }),
  vec: embedding({ from: "body", model: "topics", dimensions: 2 }),
});

const NOTES: Readonly<Record<string, { title: string; body: string; tags?: string[]; sender: string }>> = {
  deposit: { title: "Flat", body: "Two months of euros are paid back in May. The cellar is dry.", sender: "when" },
  lease: { title: "When the lease ends", body: "The rent is due on Monday.", tags: ["money matters"], sender: "a" },
  dog: { title: "Walk", body: "The dog runs along the sea. When it rains it stays.", tags: ["money"], sender: "b" },
};

async function alice(): Promise<{ database: Brooklet.Database; group: Brooklet.Group }> {
  const database = await open({ schemas: [note], models: { embedders: [embedder] } });
  onTestFinished(() => database.close());
  const group = database.group("alice");
  for (const [id, fields] of Object.entries(NOTES)) await group.put(note, id, fields);
  return { database, group };
}

async function post(database: Brooklet.Database, target: string, body: object): Promise<unknown> {
  const { json } = await database.request({ method: "POST", target, body: JSON.stringify(body) });
  return json;
}

test.each<[string, Brooklet.RetrieveOptions<typeof note>, object]>([
  ["money", {}, {}],
  ["When is money due", {}, {}],
  ['"stays" or money (', {}, {}],
  ["money", { near: false }, { near: false }],
  ["money", { text: false }, { text: false }],
  ["money", { from: ["tags"] }, { from: ["tags"] }],
  ["when", { from: ["title", "body"], passages: 2 }, { from: ["title", "body"], passages: 2 }],
  ["when", { text: { match: "all", in: "title" } }, { text: { match: "all", in: "title" } }],
  ["money", { fusion: "reciprocalRank" }, { fusion: "reciprocalRank" }],
  ["money", { near: { field: "vec", similarityMin: 0.9 } }, { near: { field: "vec", similarityMin: 0.9 } }],
  ["when", { where: (it) => it.sender.is("a") }, { filter: 'sender contains "a"' }],
])("%s with %o: the SDK and HTTP give the same passages", async (question, options, members) => {
  const { database, group } = await alice();
  const bySdk = await group.retrieve(note, question, options);
  const retrieval = { group: "alice", schema: "note", question, ...members };
  const byHttp = (await post(database, "/brooklet/v1/retrieve", retrieval)) as Brooklet.Retrieved;
  const passages = byHttp.passages.map(({ documentId, duplicates, ...passage }) => ({
    ...passage,
    documentId: shownId(documentId),
    duplicates: duplicates.map((id) => shownId(id)),
  }));
  expect({ ...byHttp, passages }).toEqual(bySdk);
  expect(bySdk.passages.length).toBeGreaterThan(0);
});

test("a retrieval over HTTP uses the vector that the server makes, and takes lists of texts, but no strings", async () => {
  const { database } = await alice();
  const { passages } = (await post(database, "/brooklet/v1/retrieve", {
    group: "alice",
    schema: "note",
    question: "money",
    floor: 0,
  })) as Brooklet.Retrieved;
  // No word of the question is in it.
  expect(passages.map(({ documentId }) => shownId(documentId))).toContain("deposit");
  expect(passages.map(({ field }) => field)).toContain("tags");
  expect(passages.map(({ field }) => field)).not.toContain("sender");
});

test.each([
  ["money", {}],
  ["walk", { near: false as const }],
  ["money", { matchBy: "words" as const }],
  ["walk", { limit: 1 }],
])("a search over HTTP for %s with %o is the SDK's by words and by the vector", async (query, options) => {
  const { database, group } = await alice();
  const near = { field: "vec", text: query } as const;
  const { near: isNear = near, ...others } = options as { near?: false };
  const { hits, totalCount } = await group.search(note, {
    text: query,
    ...(isNear === false ? {} : { near }),
    ...others,
  });
  const asked = { group: "alice", schema: "note", text: query, ...options };
  const { root } = (await post(database, "/brooklet/v1/search", asked)) as {
    readonly root: { readonly fields: object; readonly children: readonly { id: string; relevance: number }[] };
  };
  expect(root.fields).toEqual({ totalCount });
  expect(root.children.map(({ id, relevance }) => [shownId(id), relevance])).toEqual(
    hits.map(({ id, relevance }) => [id, relevance]),
  );
});

test("the tools of MCP find by the same", async () => {
  const { database, group } = await alice();
  const [left, right] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer({ client: database, group: "alice", schema: "note" });
  const client = new McpClient({ name: "test", version: "0" });
  await Promise.all([server.connect(left), client.connect(right)]);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const call = async (name: string, given: Record<string, unknown>): Promise<Readonly<Record<string, object[]>>> =>
    (await client.callTool({ name, arguments: given })).structuredContent as Readonly<Record<string, object[]>>;
  const { hits: found } = await call("search", { query: "money" });
  const { hits } = await group.search(note, { text: "money", near: { field: "vec", text: "money" } });
  expect(found).toEqual(hits.map(({ id, relevance }) => expect.objectContaining({ id, relevance })));
  const { passages } = await call("retrieve", { question: "money" });
  const retrieved = await group.retrieve(note, "money", { tokens: 12_000 });
  expect(passages).toEqual(
    retrieved.passages.map(({ documentId, start, end, score }) =>
      expect.objectContaining({ id: documentId, start, end, score }),
    ),
  );
  // What a person typed is words, and never the query language.
  expect((await call("search", { query: "-walk" }))["hits"]).toEqual((await call("search", { query: "walk" }))["hits"]);
});
