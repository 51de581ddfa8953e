/** What tools of an MCP server answer: JSON that any client can read, of every kind of field, of any size, whatever the score. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type * as Brooklet from "brooklet";
import { expect, onTestFinished, test } from "vitest";
import { searchTool } from "../src/ai-sdk.ts";
import { createMcpServer } from "../src/mcp.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { array, bigint, connect, json, map, open, raw, schema, string, struct, text, timestamp, vector, weightedSet } =
  (await import(built)) as typeof Brooklet;

/** What the protocol's library holds of a message that comes in by the standard streams. */
const MESSAGE_BYTES_MAX = 10 * 1_024 * 1_024;

async function database(schemas: readonly Brooklet.AnySchema[]): Promise<Brooklet.Database> {
  const opened = await open({ schemas });
  onTestFinished(() => opened.close());
  return opened;
}

async function connected(client: Brooklet.Client, of: Brooklet.AnySchema | string): Promise<Client> {
  const [left, right] = InMemoryTransport.createLinkedPair();
  const asking = new Client({ name: "test", version: "0" });
  await createMcpServer({ client, group: "alice", schema: of }).connect(left);
  await asking.connect(right);
  onTestFinished(() => asking.close());
  return asking;
}

interface Answer {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: { readonly fields?: object; readonly hits?: readonly { readonly fields: object }[] };
}

const called = async (client: Client, name: string, given: Record<string, unknown>): Promise<Answer> =>
  (await client.callTool({ name, arguments: given })) as unknown as Answer;

const GREAT = 9_007_199_254_740_993n;
const at = new Date("2026-02-01T10:00:00.500Z");
const bytes = new Uint8Array([1, 2, 3]);

test.each(["{}", "null", '{"root":1}', '{"passages":null}'])(
  "a server that answers %s is told in words",
  async (body) => {
    const answer = async (): Promise<Response> =>
      new Response(body, { headers: { "content-type": "application/json" } });
    const asking = await connected(connect({ url: "http://server.example", fetch: answer }), "item");
    for (const [name, given] of [
      ["search", { query: "a" }],
      ["retrieve", { question: "a" }],
    ] as const) {
      const { isError, content } = await called(asking, name, given);
      expect([isError, content[0]?.text]).toEqual([
        true,
        expect.stringMatching(/^The answer (has no '|of .* is no JSON)/),
      ]);
    }
  },
);

test("every kind of field is shown as JSON: integers exactly, dates as texts, neither vectors nor bytes", async () => {
  const parts = struct({ part: string(), size: bigint().optional(), changedAt: timestamp(), bytes: raw() });
  const item = schema("item", {
    title: text(),
    size: bigint(),
    sizes: array(bigint()),
    amounts: map(string(), bigint()),
    days: array(timestamp()),
    tags: array(string()),
    counts: map(string(), bigint()),
    parts: array(parts),
    labels: weightedSet(string()),
    rest: json(),
    bytes: raw(),
    vec: vector(2),
  });
  const opened = await database([item]);
  const group = opened.group("alice");
  await group.put(item, "1", {
    title: "a lease",
    size: GREAT,
    sizes: [1n, -GREAT],
    amounts: { total: GREAT },
    days: [at],
    tags: ["only one"],
    counts: { values: 1n },
    parts: [{ part: "a", size: 5n, changedAt: at, bytes }],
    labels: { home: 2 },
    rest: { of: ["it", null] },
    bytes,
    vec: [1, 0],
  });
  const shown = {
    title: "a lease",
    size: String(GREAT),
    sizes: [1, String(-GREAT)],
    amounts: { total: String(GREAT) },
    days: [at.toISOString()],
    tags: ["only one"],
    counts: { values: 1 },
    parts: [{ part: "a", size: 5, changedAt: at.toISOString() }],
    labels: { home: 2 },
    rest: { of: ["it", null] },
  };
  const typed = await connected(opened, item);
  for (const [name, given] of [
    ["search", { query: "lease" }],
    ["get", { id: "1" }],
  ] as const) {
    const { content, structuredContent } = await called(typed, name, given);
    expect(structuredContent?.hits?.[0]?.fields ?? structuredContent?.fields, content[0]?.text).toEqual(shown);
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  }
  // By its name alone a schema does not say which texts are bytes, and which numbers are times.
  const named = await connected(opened, "item");
  for (const [name, given] of [
    ["search", { query: "lease" }],
    ["get", { id: "1" }],
  ] as const) {
    const { content, structuredContent } = await called(named, name, given);
    const fields = structuredContent?.hits?.[0]?.fields ?? structuredContent?.fields ?? {};
    const { title, size, sizes, amounts, tags, counts, labels } = shown;
    expect(fields, content[0]?.text).toMatchObject({ title, size, sizes, amounts, tags, counts, labels });
    expect(new Set(Object.keys(fields))).toEqual(new Set([...Object.keys(shown), "bytes"]));
  }
  const tool = searchTool({ group, schema: item });
  const hits = await tool.execute?.({ query: "lease", limit: 1 }, { toolCallId: "1", messages: [] });
  expect(JSON.parse(JSON.stringify(hits))).toMatchObject([{ id: "1", fields: shown }]);
});

test("a document whose score is no number is found like the others", async () => {
  const note = schema("note", { title: text() }, { profiles: { default: { firstPhase: "log(-1)" } } });
  const opened = await database([note]);
  await opened.group("alice").put(note, "1", { title: "a lease" });
  for (const of of [note, "note"]) {
    const found = await called(await connected(opened, of), "search", { query: "lease" });
    expect(found.structuredContent, found.content[0]?.text).toEqual({
      totalCount: 1,
      hits: [{ id: "1", relevance: null, fields: { title: "a lease" } }],
    });
  }
});

test("an answer is short enough for a client on the standard streams, or says that it is not", async () => {
  const note = schema("note", { title: text(), body: text() });
  const opened = await database([note]);
  const group = opened.group("alice");
  // Each of these is two characters in JSON, and four where that is quoted.
  for (const [id, length] of [
    ["1", 1_490_000],
    ["2", 1_510_000],
  ] as const)
    await group.put(note, id, { title: "a lease", body: '"'.repeat(length) });
  for (const of of [note, "note"]) {
    const client = await connected(opened, of);
    const whole = await called(client, "get", { id: "1" });
    expect([whole.isError, JSON.stringify(whole).length > 0.8 * MESSAGE_BYTES_MAX]).toEqual([undefined, true]);
    expect(JSON.stringify(whole).length).toBeLessThan(MESSAGE_BYTES_MAX - 1_000);
    for (const [name, given] of [
      ["get", { id: "2" }],
      ["search", { query: "lease" }],
    ] as const)
      expect(await called(client, name, given)).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^The answer has \d+ bytes, 3000000 at most: ask for fewer/) }],
      });
    expect(await called(client, "search", { query: "lease", limit: 1 })).not.toHaveProperty("isError", true);
    await expect(client.readResource({ uri: "brooklet://documents/2" })).rejects.toThrow("3000000 at most");
  }
});

test("what is found is read by its id, whatever its namespace is", async () => {
  const note = schema("note", { title: text() });
  const opened = await database([note]);
  const namespaces = ["note", "imported", "a b"];
  for (const namespace of namespaces) {
    const body = JSON.stringify({ fields: { title: `a lease of ${namespace}` } });
    const path = `/document/v1/${encodeURIComponent(namespace)}/note/group/alice/1`;
    await opened.request({ method: "POST", target: path, body });
  }
  const client = await connected(opened, "note");
  const { structuredContent } = await called(client, "search", { query: "lease" });
  const hits = (structuredContent?.hits ?? []) as readonly { readonly id: string; readonly fields: object }[];
  const ids = ["1", "id:imported:note:g=alice:1", "id:a b:note:g=alice:1"];
  expect(hits.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  for (const { id, fields } of hits) {
    expect((await called(client, "get", { id })).structuredContent).toEqual({ found: true, fields });
    const uri = `brooklet://documents/${encodeURIComponent(id)}`;
    expect((await client.readResource({ uri })).contents).toMatchObject([{ text: JSON.stringify(fields) }]);
  }
  const retrieved = await called(client, "retrieve", { question: "lease" });
  const { passages } = retrieved.structuredContent as unknown as {
    readonly passages: readonly { readonly id: string }[];
  };
  expect(passages.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  for (const id of ["id:imported:note:g=mallory:1", "id:imported:other:g=alice:1"])
    expect(await called(client, "get", { id })).toMatchObject({ isError: true });
});

test("an address that no document of the group can have is the caller's fault", async () => {
  const note = schema("note", { title: text() });
  const opened = await database([note]);
  for (const of of [note, "note"]) {
    const client = await connected(opened, of);
    for (const id of ["a%00b", "id%3Anote%3Anote%3Ag%3Dmallory%3Am"])
      await expect(client.readResource({ uri: `brooklet://documents/${id}` })).rejects.toMatchObject({ code: -32_602 });
  }
});
