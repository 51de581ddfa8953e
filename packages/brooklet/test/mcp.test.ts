/** `brooklet mcp` as a process of its own, asked by the protocol's own client over its standard streams and its port. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { expect, onTestFinished, test } from "vitest";
import { applicationFiles, asking, folder, serveProcess, writeFiles } from "./served.ts";

const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

async function words(): Promise<string[]> {
  const text = `schema note { document note { field text type string { indexing: summary | index } }
    fieldset default { fields: text } }`;
  const application = writeFiles(folder(), applicationFiles({ note: text }));
  const { port } = await serveProcess(folder(), "--app", application);
  const ask = asking(port);
  for (const [group, said] of [
    ["alice", "The lease ends in May."],
    ["mallory", "The lease of Mallory."],
  ]) {
    await ask("POST", `/document/v1/note/note/group/${group}/1`, { fields: { text: said } });
  }
  return ["mcp", "--group", "alice", "--schema", "note", "--url", `http://127.0.0.1:${port}`];
}

const EXPECTED = { totalCount: 1, hits: [{ id: "1", fields: { text: "The lease ends in May." } }] };

test("over the standard streams", async () => {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, ...(await words())] });
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const { structuredContent } = await client.callTool({ name: "search", arguments: { query: "lease" } });
  expect(structuredContent).toMatchObject(EXPECTED);
});

test("what its input asked before it ended is answered, and what cannot be read is told", async () => {
  const child = spawn(process.execPath, [CLI, ...(await words())], { stdio: "pipe" });
  let [said, warned] = ["", ""];
  child.stdout.on("data", (text) => (said += String(text)));
  child.stderr.on("data", (text) => (warned += String(text)));
  const search = (id: number) => ({
    id,
    method: "tools/call",
    params: { name: "search", arguments: { query: "lease" } },
  });
  const clientInfo = { name: "test", version: "0" };
  const messages = [
    { id: 0, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } },
    ...[1, 2].map(search),
    { method: "notifications/cancelled", params: { requestId: 2 } },
  ];
  child.stdin.end(`${messages.map((one) => JSON.stringify({ jsonrpc: "2.0", ...one })).join("\n")}\nno JSON\n`);
  expect(await once(child, "close")).toEqual([0, null]);
  const answers = said
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly id: number });
  expect(answers.map(({ id }) => id)).toEqual([0, 1]);
  expect(answers[1]).toMatchObject({ result: { structuredContent: EXPECTED } });
  expect(warned).toMatch(/^MCP: .*no JSON/);
});

const MAIL = `schema mail { document mail {
  field text type string { indexing: summary | index }
  field sender type string { indexing: summary | attribute
    rank: filter }
  field size type int { indexing: summary | attribute } # field ghost type int { indexing: attribute }
  field sentAt type long { indexing { summary | attribute; } }
  field isUnread type bool { indexing: attribute | summary }
  field tags type array<string> { indexing: summary | attribute }
  field note type string { indexing: summary }
} fieldset default { fields: text } }`;

async function mailbox(): Promise<readonly string[]> {
  const application = writeFiles(folder(), applicationFiles({ mail: MAIL }));
  const { port } = await serveProcess(folder(), "--app", application);
  const ask = asking(port);
  const put = (group: string, id: string, sender: string, size: number, date: string, isUnread: boolean) => {
    const fields = { text: `The lease, ${id}.`, sender, size, sentAt: Date.parse(date) / 1_000, isUnread };
    return ask("POST", `/document/v1/mail/mail/group/${group}/${id}`, { fields });
  };
  await put("alice", "old", "bo", 10, "2026-10-01T08:00:00Z", false);
  await put("alice", "new", "bo", 30, "2026-11-30T23:00:00Z", true);
  await put("alice", "other", "cy", 20, "2026-11-01T00:00:00Z", true);
  await put("mallory", "hers", "bo", 20, "2026-11-01T00:00:00Z", true);
  return ["mcp", "--group", "alice", "--schema", "mail", "--url", `http://127.0.0.1:${port}`];
}

async function clientOf(words: readonly string[]): Promise<Client> {
  const transport = new StdioClientTransport({ command: process.execPath, args: [CLI, ...words], stderr: "ignore" });
  const client = new Client({ name: "test", version: "0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

test("filters by the fields of the schema that the server has, and sorts by them", async () => {
  const words = await mailbox();
  const client = await clientOf([...words, "--dates", "sentAt"]);
  const { tools } = await client.listTools();
  const properties = tools.find(({ name }) => name === "search")?.inputSchema.properties as Record<string, object>;
  expect(properties["filter"]).toMatchObject({
    additionalProperties: false,
    properties: {
      sender: { type: "array", items: { type: "string" } },
      size: { properties: { min: { type: "number" }, max: { type: "number" } } },
      sentAt: { properties: { from: { type: "string" }, until: { type: "string" } } },
      isUnread: { type: "boolean" },
    },
  });
  expect(Object.keys((properties["filter"] as { properties: object }).properties)).toHaveLength(4);
  const found = async (asked: object, tool = "search"): Promise<string> => {
    const { structuredContent, isError } = await client.callTool({ name: tool, arguments: { ...asked } });
    const told = structuredContent as { readonly hits?: { id: string }[]; readonly passages?: { id: string }[] };
    return isError === true ? "refused" : (told.hits ?? told.passages ?? []).map(({ id }) => id).join(" ");
  };
  expect((await found({ query: "lease" })).split(" ").toSorted()).toEqual(["new", "old", "other"]);
  expect(await found({ query: "lease", filter: { sender: ["bo"], isUnread: true } })).toBe("new");
  expect(await found({ filter: { size: { min: 15, max: 25 } } })).toBe("other");
  expect(await found({ filter: { sentAt: { from: "2026-11-01", until: "2026-11-30" } }, sort: "size desc" })).toBe(
    "new other",
  );
  expect(await found({ query: "lease", sort: "sentAt asc" })).toBe("old other new");
  expect(await found({ query: "nothing", sort: "sentAt asc" })).toBe("");
  expect(await found({ query: "lease", filter: { tags: ["x"] } })).toBe("refused");
  expect(await found({ query: "lease", sort: "text asc" })).toBe("refused");
  expect(await found({ question: "What of the lease?", filter: { sender: ["cy"] } }, "retrieve")).toBe("other");
  const { structuredContent: read } = await client.callTool({ name: "get", arguments: { id: "new" } });
  expect(read).toMatchObject({ fields: { sentAt: "2026-11-30T23:00:00.000Z", size: 30 } });
});

test("filters by what is said, or by nothing", async () => {
  const words = await mailbox();
  const filterOf = async (...more: readonly string[]): Promise<unknown> => {
    const { tools } = await (await clientOf([...words, ...more])).listTools();
    const { properties = {} } = tools.find(({ name }) => name === "search")?.inputSchema ?? {};
    return Object.keys((properties["filter"] as { readonly properties?: object } | undefined)?.properties ?? {});
  };
  expect(await filterOf("--filters", "sender, size")).toEqual(["sender", "size"]);
  expect(await filterOf("--no-filters")).toEqual([]);
  // Where the server does not say, words can be searched for all the same.
  expect(await filterOf("--schema", "other")).toEqual([]);
  const failed = async (...more: readonly string[]): Promise<readonly unknown[]> => {
    const child = spawn(process.execPath, [CLI, ...words, ...more], { stdio: ["pipe", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (text) => (said += String(text)));
    const [code] = (await once(child, "close")) as [number];
    return [code, said];
  };
  expect(await failed("--filters", "tags")).toEqual([
    2,
    expect.stringContaining("--filters: schema mail has no field 'tags' that can be filtered by; it has sender, size"),
  ]);
  expect(await failed("--dates", "sender")).toEqual([
    2,
    expect.stringContaining("'sender' of schema mail is no number"),
  ]);
  expect(await failed("--no-filters", "--dates", "sentAt")).toEqual([2, expect.stringContaining("--no-filters")]);
});

test("on a port", async () => {
  const child = spawn(process.execPath, [CLI, ...(await words()), "--http", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const url = /^Listening on (\S+) \(group alice\)$/.exec(line)?.[1] ?? "";
  const client = new Client({ name: "test", version: "0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<typeof client.connect>[0]);
  const { structuredContent } = await client.callTool({ name: "search", arguments: { query: "lease" } });
  expect(structuredContent).toMatchObject(EXPECTED);
  await client.close();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([0, null]);
});
