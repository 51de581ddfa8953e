/** What a server tells of the models that it asks itself: the reranker of its retrievals, and the language models of its search chains. */
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { ChatError, type Reranker } from "@brooklet/answers";
import { expect, onTestFinished, test } from "vitest";
import { type ChatServer, chatServer, chunk, END } from "../../answers/test/chat-server.ts";
import { asking, folder, writeFiles } from "./served.ts";

/** What was built: threads are started from there. */
const built = new URL("../dist/serve.js", import.meta.url).href;
const { serve } = (await import(built)) as typeof import("../src/serve.ts");

const SCHEMA = `schema mail { document mail { field text type string { indexing: summary | index } }
  fieldset default { fields: text } }`;
const services = (url: string): string => `<services version="1.0">
  <container id="default" version="1.0">
    <component id="openai" class="ai.vespa.llm.clients.OpenAI">
      <config name="ai.vespa.llm.clients.llm-client"><endpoint>${url}</endpoint><model>small</model></config></component>
    <search><chain id="llm" inherits="vespa"><searcher id="ai.vespa.search.llm.LLMSearcher"/></chain></search>
  </container>
  <content id="mail" version="1.0"><redundancy>1</redundancy>
    <documents><document type="mail" mode="streaming"/></documents></content></services>`;

interface State {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly calls: readonly object[];
}

/** A server of two mails of Alice, with this reranker, and with the language model of `chat`. */
async function served({ reranker, chat }: { readonly reranker?: Reranker; readonly chat: ChatServer }) {
  const files = new Map([
    ["services.xml", services(chat.url)],
    ["schemas/mail.sd", SCHEMA],
  ]);
  const application = writeFiles(join(folder(), "application"), files);
  const modelOrigins = [new URL(chat.url).origin];
  const service = await serve({ application, port: 0, threads: 0, modelOrigins, ...(reranker && { reranker }) });
  onTestFinished(() => service.close());
  const ask = asking(service.port);
  for (const [id, text] of Object.entries({ 1: "The invoice is due.", 2: "We remind you of an invoice." }))
    expect((await ask("POST", `/document/v1/mail/mail/group/alice/${id}`, { fields: { text } })).status).toBe(200);
  const states = async (): Promise<readonly State[]> =>
    (JSON.parse((await ask("GET", "/brooklet/v1/models")).text) as { readonly models: readonly State[] }).models;
  /** What queries asked of the only model that there is. */
  const queries = async (): Promise<object | undefined> => {
    const [model] = await states();
    return model?.calls[0];
  };
  const metrics = async (): Promise<string> => (await ask("GET", "/metrics")).text;
  return { service, application, ask, states, queries, metrics };
}

const RETRIEVAL = { group: "alice", schema: "mail", question: "invoice due", rerank: true };
const NOTHING = { running: 0, waiting: 0, items: 0, failures: {}, calls: 0 };

test("a reranker is told with the passages that it has, what it ordered, and how it failed", async () => {
  let opened = (): void => {};
  const gate = new Promise<void>((open) => {
    opened = open;
  });
  let isBusy = false;
  let gives: number | undefined;
  const reranker: Reranker = async (_, passages) => {
    if (isBusy) throw new ChatError("overloaded", "canary", 429);
    await gate;
    return passages.map((text) => gives ?? text.length);
  };
  const chat = await chatServer(() => {});
  const { ask, states, queries, metrics } = await served({ reranker, chat });
  expect(await states()).toMatchObject([
    { id: "reranker", kind: "reranker", state: "ready", calls: [NOTHING, { ...NOTHING, purpose: "document" }] },
  ]);
  const retrieving = ask("POST", "/brooklet/v1/retrieve", RETRIEVAL);
  await expect.poll(queries).toMatchObject({ ...NOTHING, running: 2 });
  opened();
  expect((await retrieving).status).toBe(200);
  expect((await ask("POST", "/brooklet/v1/retrieve", { ...RETRIEVAL, rerank: false })).status).toBe(200);
  expect(await queries()).toMatchObject({ ...NOTHING, items: 2, calls: 1 });
  isBusy = true;
  expect((await ask("POST", "/brooklet/v1/retrieve", RETRIEVAL)).status).toBe(503);
  expect(await queries()).toMatchObject({ ...NOTHING, items: 2, calls: 2, failures: { OVERLOADED: 1 } });
  const told = await metrics();
  isBusy = false;
  gives = Number.NaN;
  const broken = await ask("POST", "/brooklet/v1/retrieve", RETRIEVAL);
  expect([broken.status, broken.text]).toEqual([
    503,
    expect.stringContaining("The reranker must give a finite number"),
  ]);
  const labels = 'model="reranker",kind="reranker"';
  expect(told).toContain(`brooklet_model_ready{${labels}} 1\n`);
  expect(told).toContain(`brooklet_model_items_total{${labels},purpose="query"} 2\n`);
  expect(told).toContain(`brooklet_model_failures_total{${labels},purpose="query",code="OVERLOADED"} 1\n`);
  expect(told).toContain(`brooklet_model_seconds_count{${labels},purpose="query"} 2\n`);
  expect(told + JSON.stringify(await states())).not.toMatch(/canary|alice/);
});

test("a language model of a chain is told once it was asked, its failures too, and anew with the next application", async () => {
  let waiting: ServerResponse | undefined;
  const chat = await chatServer(({ body: { messages } }, response) => {
    const [{ content = "" } = {}] = messages;
    if (content === "refuse") return void response.writeHead(400).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk("Friday"));
    if (content === "wait") waiting = response;
    else response.end(END);
  });
  const { service, application, ask, states, queries, metrics } = await served({ chat });
  expect(await states()).toEqual([]);
  const query = (prompt: string) =>
    ask("GET", `/search/?searchChain=llm&format=sse&streaming.groupname=alice&timeout=60s&query=x&prompt=${prompt}`);
  const answering = query("wait");
  await expect.poll(queries).toMatchObject({ ...NOTHING, running: 1 });
  await expect.poll(() => waiting !== undefined).toBe(true);
  waiting?.end(END);
  expect((await answering).text).toContain("Friday");
  expect((await query("refuse")).text).toContain("event: error");
  expect(await states()).toMatchObject([{ id: "openai", kind: "language-model", state: "ready" }]);
  expect(await queries()).toMatchObject({ ...NOTHING, items: 1, calls: 2, failures: { UNAVAILABLE: 1 } });
  const labels = 'model="openai",kind="language-model",purpose="query"';
  expect(await metrics()).toContain(`brooklet_model_items_total{${labels}} 1\n`);
  // Who goes has no answer, and the model has not failed.
  const leaving = new AbortController();
  const target = "/search/?searchChain=llm&format=sse&streaming.groupname=alice&timeout=60s&query=x&prompt=wait";
  const response = await fetch(`${service.url}${target}`, { signal: leaving.signal });
  await response.body?.getReader().read();
  expect(await queries()).toMatchObject({ running: 1, calls: 2 });
  leaving.abort();
  await expect.poll(queries).toMatchObject({ running: 0, calls: 3 });
  expect(await queries()).toMatchObject({ items: 1, failures: { UNAVAILABLE: 1 } });
  await service.deploy(application);
  expect(await states()).toEqual([]);
});
