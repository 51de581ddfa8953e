import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { createMcpServer, type McpOptions } from "../src/mcp.ts";
import { listenMcp } from "../src/mcp-http.ts";
import { mails } from "./mails.ts";

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
    const found = await call("search", { query: "invoice", group: "mallory" });
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

test("pages of a browser are refused", async () => {
  const listening = await listenMcp({ client: await mails(), group: "alice", schema: "mail" }, 0);
  onTestFinished(() => listening.close());
  const init = { method: "POST", body: "{}" };
  expect((await fetch(listening.url, { ...init, headers: { origin: "https://evil.example" } })).status).toBe(403);
  expect((await fetch(listening.url)).status).toBe(405);
  expect((await fetch(listening.url, { ...init, body: "{" })).status).toBe(400);
  expect((await fetch(listening.url.replace("/mcp", "/"), init)).status).toBe(404);
});
