/** One MCP address for all users: the protocol's own client over HTTP, with real tokens, before a server with the documents of several. */
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { connect, int, type RunningService, schema, serve, string, text, timestamp } from "../src/index.ts";
import { type GroupTokenOptions, groupToken } from "../src/token.ts";
import { applicationFiles, folder, writeFiles } from "./served.ts";

const KEY = "Zk3Q0m7Jw1xUe8bVt5Yc2rNf6aHsLpDg9oKiTqXuEyA";
const CANARY = "canaryofbob";
const note = schema("note", { title: text(), secret: string() });
const diary = schema("diary", { title: text(), day: int(), at: timestamp(), until: timestamp({ unit: "seconds" }) });

let service: RunningService;

beforeAll(async () => {
  service = await serve({ port: 0, adminKeys: [KEY], threads: 0, mcp: { description: "the user's papers" } });
  const admin = await connect({ url: service.url, key: KEY, schemas: [note, diary] });
  for (const group of ["alice", "bob"])
    for (const id of ["1", "2"]) {
      const secret = group === "bob" ? CANARY : "mine";
      await admin.group(group).put(note, id, { title: `every lease, ${secret}`, secret });
      const [at, until] = [new Date(`2026-02-0${id}T10:00:00.500Z`), new Date(`2026-03-0${id}T00:00:00Z`)];
      await admin.group(group).put(diary, id, { title: `every day, ${secret}`, day: Number(id), at, until });
    }
});
afterAll(async () => await service.close());

async function tokenOf(options: Partial<GroupTokenOptions> = {}): Promise<string> {
  return await groupToken(KEY, { group: "alice", verbs: ["search", "get"], ttl: "5m", ...options });
}

async function connected(credential: string | undefined, url: string = service.url): Promise<McpClient> {
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
  const client = new McpClient({ name: "test", version: "0" });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  onTestFinished(() => client.close());
  return client;
}

const namesOf = async (client: McpClient): Promise<readonly string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

describe("one address", () => {
  test("serves each token its own group", async () => {
    for (const [group, own, other] of [
      ["alice", "mine", CANARY],
      ["bob", CANARY, "mine"],
    ] as const) {
      const client = await connected(await tokenOf({ group }));
      const called = [
        await client.callTool({ name: "search_note", arguments: { query: "every" } }),
        await client.callTool({ name: "get_note", arguments: { id: "1" } }),
        await client.callTool({ name: "retrieve_diary", arguments: { question: "every day" } }),
        await client.callTool({ name: "search_diary", arguments: { query: "", filter: { day: { max: 1 } } } }),
      ];
      for (const answer of called) {
        expect(answer.isError, JSON.stringify(answer)).toBeFalsy();
        expect(JSON.stringify(answer)).toContain(own);
        expect(JSON.stringify(answer)).not.toContain(other);
      }
      expect(called[0]?.structuredContent).toMatchObject({ totalCount: 2 });
      expect(called[3]?.structuredContent).toMatchObject({ totalCount: 1 });
      const { contents } = await client.readResource({ uri: "brooklet://documents/note/1" });
      expect(JSON.stringify(contents)).toContain(own);
    }
  });

  test("knows which numbers are times, which a model reads and says as texts", async () => {
    const client = await connected(await tokenOf());
    const after = { at: { from: "2026-02-02" }, until: { until: "2026-03-02" } };
    const found = await client.callTool({ name: "search_diary", arguments: { query: "", filter: after } });
    const fields = { day: 2, at: "2026-02-02T10:00:00.500Z", until: "2026-03-02T00:00:00.000Z" };
    expect(found.structuredContent).toMatchObject({ totalCount: 1, hits: [{ id: "2", fields }] });
    expect((await client.callTool({ name: "get_diary", arguments: { id: "2" } })).structuredContent).toMatchObject({
      fields,
    });
  });

  test("shows nothing of another's, whatever a model fills in", async () => {
    const client = await connected(await tokenOf());
    const ids = ["id:note:note:g=bob:1", "../bob/1", "%2e%2e/bob/1", "g=bob:1", "1?group=bob", "1#/../../bob/1"];
    for (const id of ids) {
      for (const strays of [{}, { group: "bob" }])
        expect(JSON.stringify(await client.callTool({ name: "get_note", arguments: { id, ...strays } }))).not.toContain(
          CANARY,
        );
      const uri = `brooklet://documents/note/${encodeURIComponent(id)}`;
      const read = await client.readResource({ uri }).catch((error: unknown) => String(error));
      expect(JSON.stringify(read)).not.toContain(CANARY);
    }
    const found = await client.callTool({ name: "search_note", arguments: { query: CANARY } });
    expect(found.structuredContent).toMatchObject({ totalCount: 0 });
    const strays = { query: CANARY, group: "bob", "streaming.groupname": "bob" };
    expect(await client.callTool({ name: "search_note", arguments: strays })).toMatchObject({ isError: true });
  });

  test("offers the tools that the verbs and schemas of a token let", async () => {
    expect(await namesOf(await connected(await tokenOf()))).toEqual(
      expect.arrayContaining(["search_note", "get_note", "retrieve_note", "search_diary", "get_diary"]),
    );
    expect(await namesOf(await connected(await tokenOf({ schemas: ["note"] })))).toEqual(["search", "get", "retrieve"]);
    const reads = await connected(await tokenOf({ schemas: ["note"], verbs: ["get"] }));
    expect(await namesOf(reads)).toEqual(["get"]);
    expect(reads.getInstructions()).not.toContain("search");
    const searches = await connected(await tokenOf({ schemas: ["note"], verbs: ["search"] }));
    expect(await namesOf(searches)).toEqual(["search", "retrieve"]);
    const called = await searches.callTool({ name: "get", arguments: { id: "1" } });
    expect([called.isError, JSON.stringify(called).includes("mine")]).toEqual([true, false]);
    expect((await searches.listResourceTemplates().catch(() => ({ resourceTemplates: [] }))).resourceTemplates).toEqual(
      [],
    );
  });

  test("refuses who has no token, several groups, an admin key, or no verb for it", async () => {
    const hello = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const post = async (credential: string | undefined, more: RequestInit = {}): Promise<Response> =>
      await fetch(`${service.url}/mcp`, {
        method: "POST",
        body: JSON.stringify(hello),
        ...more,
        headers: {
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
          ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
        },
      });
    const nobody = await post(undefined);
    expect([nobody.status, nobody.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    await expect(connected(undefined)).rejects.toThrow(/401|key or a token/);
    for (const [credential, said] of [
      [await groupToken(KEY, { groups: ["alice", "bob"], verbs: ["search"], ttl: 60 }), "a token for 2 groups"],
      [KEY, "an admin key, which is for none"],
      [await tokenOf({ verbs: ["put"] }), "no verb 'search'"],
    ] as const) {
      const answer = await post(credential);
      expect([answer.status, await answer.json()]).toEqual([
        403,
        expect.objectContaining({ code: "SCOPE_REFUSED", message: expect.stringContaining(said) }),
      ]);
    }
    const token = await tokenOf();
    expect((await post(token)).status).toBe(200);
    expect((await post(token, { body: "{" })).status).toBe(400);
    expect((await post(token, { body: JSON.stringify(Array(101).fill(hello)) })).status).toBe(400);
    expect((await post(token, { body: `"${"x".repeat(1 << 20)}"` })).status).toBe(413);
    for (const method of ["GET", "DELETE"]) {
      const { status, headers } = await post(token, { method, body: null });
      expect([method, status, headers.get("allow")]).toEqual([method, 405, "POST"]);
    }
    const stranger = await post(await tokenOf({ schemas: ["letter"] }));
    expect([stranger.status, await stranger.text()]).toEqual([503, expect.stringContaining("0 schemas")]);
  });
});

test("without keys it serves the group that it is told, and is refused without one", async () => {
  await expect(serve({ port: 0, threads: 0, adminKeys: [], mcp: true })).rejects.toMatchObject({
    code: "CANNOT_START",
    message: expect.stringContaining("MCP serves one group"),
  });
  await expect(serve({ port: 0, mcp: "yes" as unknown as true })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const sd =
    "schema note { document note { field title type string { indexing: summary | index } } fieldset default { fields: title } }";
  const application = writeFiles(folder(), applicationFiles({ note: sd }));
  const open = await serve({ port: 0, threads: 0, adminKeys: [], mcp: true, group: "carol", application });
  onTestFinished(() => open.close());
  const client = connect({ url: open.url });
  const note = schema("note", { title: text() });
  await client.group("carol").put(note, "1", { title: "hers" });
  const assistant = await connected(undefined, open.url);
  const found = await assistant.callTool({ name: "search", arguments: { query: "hers" } });
  expect(found.structuredContent).toMatchObject({ totalCount: 1 });
});

test("without being asked for it there is none", async () => {
  const plain = await serve({ port: 0, threads: 0, adminKeys: [] });
  onTestFinished(() => plain.close());
  expect((await fetch(`${plain.url}/mcp`, { method: "POST", body: "{}" })).status).toBe(404);
});
