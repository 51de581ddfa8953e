/**
 * Projects that have an early release of a library which an entry of `brooklet` is for, or one that is newer than the workspace's: the packages are installed beside it, the entry
 * serves it, and types fit. What a peer's range leaves out, npm installs nothing beside, also where nobody uses the entry. The releases
 * of the workspace are tried by the tests of packages/adapters, those of vitest by vitest-versions.test.ts.
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";
import { addSqliteBinary, emptyProject, npm } from "./install.ts";
import { compilerOptions } from "./programs.ts";

const MAIL = `import { open, schema, text, vector } from "brooklet";
const mail = schema("mail", { subject: text(), vec: vector(2, { metric: "angular" }).optional() });
const db = await open({ schemas: [mail] });
const alice = db.group("alice");
await alice.put(mail, "m1", { subject: "Invoice", vec: [1, 0] });
await alice.put(mail, "m2", { subject: "Lunch", vec: [0, 1] });
`;

const LANGCHAIN = `import { Document } from "@langchain/core/documents";
import type { EmbeddingsInterface } from "@langchain/core/embeddings";
import type { BaseRetriever } from "@langchain/core/retrievers";
import { RunnableLambda } from "@langchain/core/runnables";
import type { VectorStore } from "@langchain/core/vectorstores";
import { BrookletRetriever, BrookletVectorStore } from "brooklet/langchain";
${MAIL}const embed = (given: string): number[] => (given.startsWith("I") ? [1, 0] : [0, 1]);
const embeddings: EmbeddingsInterface = {
  embedQuery: async (given) => embed(given),
  embedDocuments: async (all) => all.map(embed),
};
const fields = { textField: "subject", vectorField: "vec" } as const;
const own = new BrookletVectorStore(embeddings, { group: alice, schema: mail, ...fields });
const store: VectorStore = own;
await store.addDocuments([new Document({ pageContent: "Interest", metadata: {}, id: "m3" })]);
const near = await own.similaritySearch("In", 2, (it) => it.subject.contains("invoice"));
const varied = await own.maxMarginalRelevanceSearch("In", { k: 3 });
const retriever: BaseRetriever = new BrookletRetriever({ group: alice, schema: mail });
const counted = await retriever.pipe(RunnableLambda.from((all: Document[]) => all.length)).invoke("lunch");
const refused = await retriever.invoke("lunch", { signal: AbortSignal.abort(new Error("nobody waits")) }).catch(String);
await own.delete({ ids: ["m3"] });
const left = await store.asRetriever({ k: 3 }).invoke("In");
console.log(JSON.stringify([near.map(({ id }) => id), varied.length, counted, refused, left.map(({ id }) => id)]));
process.exit(0);
`;

const MCP = `import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { connect, serve } from "brooklet";
import { createMcpServer, listenMcp } from "brooklet/mcp";
${MAIL}const options = { client: db, group: "alice", schema: mail, write: { fields: ["subject"] as const } };
const server = createMcpServer(options);
const [left, right] = InMemoryTransport.createLinkedPair();
const inMemory = new Client({ name: "test", version: "0" });
await Promise.all([server.connect(left), inMemory.connect(right)]);
async function over(url: string): Promise<Client> {
  const client = new Client({ name: "test", version: "0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<typeof client.connect>[0]);
  return client;
}
const said: unknown[] = [];
async function ask(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  const found = await client.callTool({ name: "search", arguments: { query: "invoice" } });
  const strayed = await client.callTool({ name: "search", arguments: { query: "invoice", group: "bo" } });
  said.push(tools.map(({ name }) => name).join(" "), /m1/.test(JSON.stringify(found.structuredContent)), strayed.isError);
}
await ask(inMemory);
await ask(await over((await listenMcp(options, 0)).url));
// The gateway's own address has another transport of the library.
await (await open({ path: "data", schemas: [mail] })).close();
const gateway = await serve({ path: "data", port: 0, group: "alice", mcp: true });
await connect({ url: gateway.url }).group("alice").put(mail, "m1", { subject: "Invoice" });
await ask(await over(new URL("/mcp", gateway.url).href));
console.log(JSON.stringify(said));
process.exit(0);
`;

const REACT = `import { createElement, type FC, useState } from "react";
import { render } from "react-dom";
import { Window } from "happy-dom";
import { useSearch } from "brooklet/react";
${MAIL}let type: (typed: string) => void = () => {};
const Inbox: FC = () => {
  const [typed, setTyped] = useState("invoice");
  type = setTyped;
  const { hits } = useSearch(alice, mail, { text: { query: typed, asYouType: true } }, { debounceMs: 1 });
  return createElement("p", null, hits.map(({ fields }) => fields.subject).join());
};
const window = new Window();
Object.assign(globalThis, { window, navigator: window.navigator, document: window.document });
const root = window.document.createElement("div");
render(createElement(Inbox), root as unknown as Element);
const shown = async (what: string): Promise<void> => {
  while (root.textContent !== what) await new Promise(setImmediate);
};
await shown("Invoice");
type("lun");
await shown("Lunch");
console.log(JSON.stringify(root.textContent));
process.exit(0);
`;

/** A server of the protocol as an agent of OpenAI's library is given it. */
const AGENTS = `import { Agent, getAllMcpTools, MCPServerStreamableHttp } from "@openai/agents";
import { listenMcp } from "brooklet/mcp";
${MAIL}const { url } = await listenMcp({ client: db, group: "alice", schema: mail }, 0);
const server = new MCPServerStreamableHttp({ url, name: "mail" });
await server.connect();
const agent = new Agent({ name: "assistant", mcpServers: [server] });
const tools = (await getAllMcpTools([server])).map(({ name }) => name).join(" ");
const found = await server.callTool("search", { query: "invoice" });
console.log(JSON.stringify([tools, /m1/.test(JSON.stringify(found)), agent.mcpServers.length]));
process.exit(0);
`;

const FOUND = [["m1"], 3, 1, "Error: nobody waits", ["m1", "m2"]];
const ASSISTED = ["search get retrieve remember forget", true, true];

test.each<readonly [library: string, beside: readonly string[], program: string, said: unknown]>([
  ["@langchain/core@0.3.0", [], LANGCHAIN, FOUND],
  ["@langchain/core@1.0.0", [], LANGCHAIN, FOUND],
  ["@langchain/core@1.4.0", [], LANGCHAIN, FOUND],
  ["@openai/agents@0.20.0", ["@modelcontextprotocol/sdk@1.32.2", "zod@4"], AGENTS, ["search get retrieve", true, 1]],
  ["@modelcontextprotocol/sdk@1.25.0", [], MCP, [...ASSISTED, ...ASSISTED, "search get retrieve", true, true]],
  ["react@17.0.0", ["react-dom@17.0.0", "@types/react@17", "@types/react-dom@17", "happy-dom@20"], REACT, "Lunch"],
])("%s is beside the packages, and is served", async (library, beside, program, said) => {
  const folder = join(inject("scratch"), `peer-${library.replace(/[^\w.]/g, "-")}`);
  // Exactly this release, and not a later one that its range would let in.
  const project = emptyProject(folder);
  const install = ["install", "--save-exact", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"];
  const tarballs = inject("tarballs").map(({ path }) => path);
  npm(project, ...install, library, ...beside, "typescript@5.9", "@types/node@20", ...tarballs);
  addSqliteBinary(join(project, "node_modules/better-sqlite3"));
  writeFileSync(join(project, "program.ts"), program);
  // What other people's declarations need is theirs to say.
  const options = { ...compilerOptions("NodeNext"), skipLibCheck: true, noEmit: false, outDir: "made" };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["program.ts"] }));
  const node = async (...words: readonly string[]): Promise<string> =>
    await promisify(execFile)(process.execPath, words, { cwd: project }).then(
      ({ stdout }) => stdout,
      (error: { readonly stdout: string; readonly stderr: string }) => error.stdout + error.stderr,
    );
  expect(await node("node_modules/typescript/bin/tsc", "--project", ".")).toBe("");
  expect(JSON.parse(await node("made/program.js"))).toEqual(said);
});
