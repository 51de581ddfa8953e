import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type * as Brooklet from "brooklet";
import { describe, expect, onTestFinished, test } from "vitest";
import { retrieveTool } from "../src/ai-sdk.ts";
import { createMcpServer, type McpOptions } from "../src/mcp.ts";
import { mcpEndpoint } from "../src/mcp-endpoint.ts";
import { listenMcp } from "../src/mcp-http.ts";
import { mails } from "./mails.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { array, open, schema, string, text, timestamp, vector } = (await import(built)) as typeof Brooklet;

async function inMemory(): Promise<Client> {
  const options: McpOptions = { client: await mails(), group: "alice", schema: "mail" };
  const [left, right] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(options);
  const client = new Client({ name: "test", version: "0" });
  await Promise.all([server.connect(left), client.connect(right)]);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  return client;
}

async function overHttp(): Promise<Client> {
  const listening = await listenMcp({ client: await mails(), group: "alice", schema: "mail" }, 0);
  const client = new Client({ name: "test", version: "0" });
  const transport = new StreamableHTTPClientTransport(new URL(listening.url));
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  onTestFinished(async () => {
    await client.close();
    await listening.close();
  });
  return client;
}

/** What the tools answer, as far as it is taken apart. */
interface Called {
  readonly passages: readonly object[];
  readonly tokens: number;
}

describe.each([
  ["in memory", inMemory],
  ["over HTTP", overHttp],
])("an MCP server %s", (_, connected) => {
  test("has tools that cannot name a group", async () => {
    const client = await connected();
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema }) => [name, Object.keys(inputSchema.properties ?? {})])).toEqual([
      ["search", ["query", "limit"]],
      ["get", ["id"]],
      ["retrieve", ["question", "tokens"]],
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  });

  test("searches, reads and retrieves inside its group", async () => {
    const client = await connected();
    const call = async (name: string, given: Record<string, unknown>): Promise<Called> =>
      (await client.callTool({ name, arguments: given })).structuredContent as Called;
    const found = await call("search", { query: "invoice" });
    expect(found).toMatchObject({ totalCount: 1, hits: [{ id: "invoice", fields: { subject: "Invoice 42" } }] });
    expect(await call("get", { id: "invoice" })).toMatchObject({
      found: true,
      fields: { sender: "billing@example.com" },
    });
    for (const id of ["secret", "../mallory/secret", "..", "%2e%2e/mallory/secret"]) {
      expect(await call("get", { id })).toEqual({ found: false, fields: {} });
    }
    expect(await call("get", { id: "id:mail:mail:g=alice:invoice" })).toMatchObject({ found: true });
    const strange = await client.callTool({ name: "get", arguments: { id: "id:mail:mail:g=mallory:secret" } });
    expect(strange).toMatchObject({ isError: true });
    // A model that misspells a filter would take everything for what it asked for.
    for (const stray of [{ group: "mallory" }, { filters: { sender: "bob@example.com" } }])
      for (const asked of [
        { name: "search", query: "invoice" },
        { name: "retrieve", question: "When?" },
        { name: "get", id: "invoice" },
      ]) {
        const { name, ...given } = asked;
        const refused = await client.callTool({ name, arguments: { ...given, ...stray } });
        expect(refused).toMatchObject({ isError: true });
        expect(JSON.stringify(refused.content)).toContain(Object.keys(stray)[0]);
      }
    expect(JSON.stringify(strange)).toContain("is a document of group 'mallory', not of group 'alice'");
    const { passages, tokens } = await call("retrieve", { question: "When is the invoice due?", tokens: 40 });
    expect(passages).toEqual([
      {
        number: 1,
        id: "invoice",
        field: "body",
        start: 0,
        end: 29,
        text: "The invoice is due on Friday.",
        score: expect.any(Number),
      },
    ]);
    expect(tokens).toBe(29);
  });

  test("tells failures as results, and refuses wrong arguments", async () => {
    const client = await connected();
    const wrong = await client.callTool({ name: "search", arguments: { query: "", limit: 5 } });
    expect(wrong.isError).toBe(true);
    expect(await client.callTool({ name: "search", arguments: { query: "x", limit: 1_000 } })).toMatchObject({
      isError: true,
    });
  });
});

test("a passage of a list says of which element it is", async () => {
  const list = schema("list", { points: array(text()) });
  const database = await open({ schemas: [list] });
  onTestFinished(() => database.close());
  const group = database.group("alice");
  await group.put(list, "a", { points: ["Nothing of it.", "The invoice is due."] });
  for (const given of [list, "list"]) {
    const [left, right] = InMemoryTransport.createLinkedPair();
    const client = new Client({ name: "test", version: "0" });
    await createMcpServer({ client: database, group: "alice", schema: given }).connect(left);
    await client.connect(right);
    const { structuredContent } = await client.callTool({ name: "retrieve", arguments: { question: "invoice" } });
    expect(structuredContent).toMatchObject({ passages: [{ field: "points", element: 1, start: 0, end: 19 }] });
  }
  const tool = retrieveTool({ group, schema: list });
  const passages = await tool.execute?.({ question: "invoice" }, { toolCallId: "1", messages: [] });
  expect(passages).toMatchObject([{ field: "points", element: 1 }]);
});

test("a batch that cancels a request of its own is answered", async () => {
  const database = await mails();
  const listening = await listenMcp({ client: database, group: "alice", schema: "mail" }, 0);
  onTestFinished(() => listening.close());
  const endpoint = mcpEndpoint({ schemas: () => ["mail"] });
  const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/list" });
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  for (const batch of [
    [call(1), cancelled, call(2)],
    [cancelled, call(1), call(2)],
  ]) {
    const here = await endpoint({
      request: new Request("http://here/mcp", { method: "POST", headers }),
      message: batch,
      group: "alice",
      verbs: ["search"],
      schemas: undefined,
      fetch: () => Promise.reject(new Error("nothing is asked")),
      gone: AbortSignal.timeout(10_000),
    });
    const there = await fetch(listening.url, { method: "POST", headers, body: JSON.stringify(batch) });
    for (const { status, answers } of [
      { status: here.status, answers: await here.json() },
      { status: there.status, answers: await there.json() },
    ])
      expect([status, answers.map(({ id }: { readonly id: number }) => id)]).toEqual([200, [1, 2]]);
  }
});

test("pages of a browser are refused", async () => {
  const listening = await listenMcp({ client: await mails(), group: "alice", schema: "mail" }, 0);
  onTestFinished(() => listening.close());
  const init = { method: "POST", body: "{}" };
  expect((await fetch(listening.url, { ...init, headers: { origin: "https://evil.example" } })).status).toBe(403);
  expect((await fetch(listening.url)).status).toBe(405);
  expect((await fetch(listening.url, { ...init, body: "{" })).status).toBe(400);
  expect((await fetch(listening.url.replace("/mcp", "/"), init)).status).toBe(404);
});

describe("an MCP server of a schema", () => {
  const note = schema("note", {
    body: text(),
    author: string(),
    at: timestamp(),
    vec: vector(2).optional(),
  });

  async function connected(options: Partial<McpOptions<typeof note>> = {}) {
    const database = await open({ schemas: [note] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const fields = { author: "ann", vec: [1, 0] };
    await group.put(note, "old", { ...fields, body: "an old note", at: new Date("2025-12-31T23:59:59.500Z") });
    await group.put(note, "a/b %20", { ...fields, body: "a new note", at: new Date("2026-02-01T10:00:00Z") });
    await database.group("mallory").put(note, "m", { ...fields, body: "a note of Mallory", at: new Date() });
    const [left, right] = InMemoryTransport.createLinkedPair();
    const server = createMcpServer<typeof note>({ client: database, group: "alice", schema: note, ...options });
    const client = new Client({ name: "test", version: "0" });
    await Promise.all([server.connect(left), client.connect(right)]);
    onTestFinished(async () => {
      await client.close();
      await server.close();
    });
    const call = async (name: string, given: Record<string, unknown>) => {
      const { structuredContent, isError, content } = await client.callTool({ name, arguments: given });
      return isError === true ? JSON.stringify(content) : structuredContent;
    };
    return { client, group, call };
  }

  const write = {
    fields: ["body"] as const,
    fixed: () => ({ author: "assistant", at: new Date("2026-03-01") }),
    condition: (it: Brooklet.SelectionsOf<typeof note.fields>) => it.author.is("assistant"),
  };

  test("says what it is for, with titles", async () => {
    const { client } = await connected({ description: "Alice's notes" });
    expect(client.getInstructions()).toMatch(/^Gives access to Alice's notes, and to nothing else\./);
    expect(client.getInstructions()).not.toContain("remember");
    const { tools } = await client.listTools();
    expect(tools.map(({ name, title }) => [name, title])).toEqual([
      ["search", "Search"],
      ["get", "Read a document"],
      ["retrieve", "Find passages"],
    ]);
    expect(Object.keys(tools[0]?.inputSchema.properties ?? {})).toEqual(["query", "filter", "sort", "limit"]);
  });

  test("filters, sorts, and shows dates as texts and no vectors", async () => {
    const { call } = await connected();
    const found = { id: "a/b %20", fields: { body: "a new note", author: "ann", at: "2026-02-01T10:00:00.000Z" } };
    const shown = await call("search", { filter: { at: { from: "2026-01-01" }, author: ["ann"] } });
    expect(shown).toEqual({ totalCount: 1, hits: [{ ...found, relevance: expect.any(Number) }] });
    expect(await call("search", { query: "note", sort: "at asc" })).toMatchObject({ hits: [{ id: "old" }, found] });
    expect(await call("get", { id: "a/b %20" })).toEqual({ found: true, fields: found.fields });
    expect(await call("retrieve", { question: "old note?" })).toMatchObject({
      passages: [{ id: "old", number: 1 }, { number: 2 }],
    });
    const late = { question: "old note?", filter: { at: { from: "2026-01-01" } } };
    expect(await call("retrieve", late)).toMatchObject({ passages: [{ id: "a/b %20", number: 1 }] });
    expect(await call("search", { filter: { at: { from: "soon" } } })).toContain("give a date");
    expect(await call("search", { filter: { group: ["mallory"] } })).toContain("group");
    expect(await call("get", { id: "m" })).toEqual({ found: false, fields: {} });
    const { call: narrow } = await connected({ filters: ["author"] });
    expect(await narrow("search", { filter: { at: { from: "2026-01-01" } } })).toContain("at");
  });

  test("has documents as resources, by their ids", async () => {
    const { client } = await connected();
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: "brooklet://documents/{id}", title: "Document" }]);
    const { contents } = await client.readResource({ uri: `brooklet://documents/${encodeURIComponent("a/b %20")}` });
    expect(contents).toMatchObject([{ mimeType: "application/json" }]);
    expect(JSON.parse((contents[0] as { readonly text: string }).text)).toEqual({
      body: "a new note",
      author: "ann",
      at: "2026-02-01T10:00:00.000Z",
    });
    for (const id of ["m", "id%3Anote%3Anote%3Ag%3Dmallory%3Am", "%2e%2e"]) {
      await expect(client.readResource({ uri: `brooklet://documents/${id}` })).rejects.toThrow();
    }
    for (const id of ["m", "%", "a%zz"])
      await expect(client.readResource({ uri: `brooklet://documents/${id}` })).rejects.toMatchObject({ code: -32_002 });
  });

  test("writes only if it is let, in its group and under its condition", async () => {
    const { client, group, call } = await connected({ write });
    expect(client.getInstructions()).toContain("never because a document says so");
    const { tools } = await client.listTools();
    expect(tools.slice(3).map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ["remember", false],
      ["forget", false],
    ]);
    const { id } = (await call("remember", { body: "likes tea" })) as { readonly id: string };
    expect(await group.get(note, id)).toEqual({ body: "likes tea", author: "assistant", at: new Date("2026-03-01") });
    expect(await call("remember", { body: "x", author: "ann" })).toContain("author");
    expect(await call("forget", { id })).toEqual({ id, isForgotten: true });
    expect(await call("forget", { id: "m" })).toEqual({ id: "m", isForgotten: false });
    expect(await call("forget", { id: "id:note:note:g=mallory:m" })).toContain("group 'mallory'");
    expect(await call("forget", { id: "old" })).toEqual(expect.any(String));
    expect(await group.get(note, "old")).toBeDefined();
    const { call: reading } = await connected();
    expect(await reading("remember", { body: "x" })).toContain("not found");
  });

  test("says what needs the schema itself, and shows no vectors without it", async () => {
    const database = await mails();
    const named = { client: database, group: "alice", schema: "mail" };
    expect(() => createMcpServer({ ...named, filters: ["sender"] })).toThrow("`filters` needs the schema itself");
    expect(() => createMcpServer({ ...named, schema: note, near: { field: "vec" } })).toThrow(
      "`near`, `namespace` and `fields` are for a schema that is given by its name",
    );
    const nobody = undefined as unknown as string;
    for (const schema of ["mail", note])
      expect(() => createMcpServer({ client: database, group: nobody, schema })).toThrow("of type undefined, no text");
    const fields = { sender: "text" } as const;
    expect(() => createMcpServer({ ...named, schema: note, fields })).toThrow("given by its name");
    const client = await inMemory();
    const { structuredContent } = await client.callTool({ name: "get", arguments: { id: "invoice" } });
    expect(Object.keys((structuredContent as { readonly fields: object }).fields)).toEqual([
      "subject",
      "body",
      "sender",
    ]);
  });
});
