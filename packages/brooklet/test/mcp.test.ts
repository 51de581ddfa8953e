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
}, 30_000);

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
}, 30_000);
