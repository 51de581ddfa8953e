/**
 * Who reaches a server cannot have its secrets and its users' texts sent somewhere: not by a package that names another endpoint for a
 * secret, nor one inside the operator's network; neither when it is deployed nor, should it be stored already, when it is asked.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { zipSync } from "fflate";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { connect, type ServeOptions, schema, serve, text } from "../src/index.ts";
import { type Asking, asking, folder, writeFiles } from "./served.ts";

const SECRET = "the operator's secret";
const PRIVATE = "lease of the summer house";
const note = schema("note", { title: text() });

const SD = "schema note { document note { field title type string { indexing: summary | index } } }";
const SD_EMBEDDING = `schema note {
  document note { field title type string { indexing: summary | index } }
  field vec type tensor<float>(x[2]) { indexing: input title | embed e | attribute }
}`;

const model = (endpoint: string, secret = "openai"): string => `
    <component id="openai" class="ai.vespa.llm.clients.OpenAI">
      <config name="ai.vespa.llm.clients.llm-client">
        <apiKeySecretRef>${secret}</apiKeySecretRef><endpoint>${endpoint}</endpoint><model>m</model>
      </config>
    </component>
    <search><chain id="rag" inherits="vespa"><searcher id="ai.vespa.search.llm.RAGSearcher">
      <config name="ai.vespa.search.llm.llm-searcher"><providerId>openai</providerId></config></searcher></chain></search>`;
const embedder = (endpoint: string): string => `
    <component id="e" type="openai-embedder">
      <model>m</model><api-key-secret-ref>openai</api-key-secret-ref><endpoint>${endpoint}</endpoint><dimensions>2</dimensions>
    </component>`;

function packageOf(container: string, sd: string = SD): ReadonlyMap<string, string> {
  const services = `<services version="1.0"><container id="default" version="1.0">${container}</container>
    <content id="documents" version="1.0"><redundancy>1</redundancy><documents><document type="note" mode="streaming"/></documents>
    <nodes><node hostalias="n" distribution-key="0"/></nodes></content></services>`;
  return new Map([
    ["services.xml", services],
    ["schemas/note.sd", sd],
  ]);
}

interface Taken {
  readonly url: string;
  /** Everything that came: keys and texts. */
  readonly seen: string[];
}

/** Somebody's endpoint, which answers as a language model and as an embedder. */
async function endpoint(): Promise<Taken> {
  const seen: string[] = [];
  const server = createServer((incoming, answer) => {
    let body = "";
    incoming.setEncoding("utf8").on("data", (part: string) => {
      body += part;
    });
    incoming.on("end", () => {
      seen.push(`${incoming.headers.authorization} ${body}`);
      answer.writeHead(200, { "content-type": "application/json" });
      const message = { role: "assistant", content: "thanks" };
      answer.end(
        JSON.stringify({ choices: [{ message, finish_reason: "stop" }], data: [{ index: 0, embedding: [1, 0] }] }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function server(options: ServeOptions = {}): Promise<{ readonly url: string; readonly ask: Asking }> {
  const service = await serve({ port: 0, threads: 0, ...options });
  onTestFinished(() => service.close());
  return { url: service.url, ask: asking(service.port) };
}

async function deploy(url: string, files: ReadonlyMap<string, string>): Promise<{ status: number; text: string }> {
  const body = zipSync(
    Object.fromEntries([...files].map(([path, content]) => [path, new TextEncoder().encode(content)])),
  );
  const response = await fetch(`${url}/application/v2/tenant/default/prepareandactivate`, {
    method: "POST",
    body: body as BodyInit,
    headers: { "content-type": "application/zip" },
  });
  return { status: response.status, text: await response.text() };
}

const QUERY = {
  yql: "select * from note where true",
  query: "lease",
  "streaming.groupname": "alice",
  searchChain: "rag",
  "llm.stream": "false",
  timeout: "60s",
};

describe("a server with a secret", () => {
  beforeEach(() => {
    process.env["VESPA_SECRET_OPENAI"] = SECRET;
  });
  afterEach(() => {
    delete process.env["VESPA_SECRET_OPENAI"];
  });

  test("does not give it to who deploys a package with an endpoint of their own", async () => {
    const thief = await endpoint();
    for (const options of [
      {},
      { secrets: { openai: "https://api.openai.com" } },
      // Also where the endpoint is one that may be asked without a secret.
      { secrets: { openai: "https://api.openai.com" }, modelOrigins: [thief.url] },
    ]) {
      const { url, ask } = await server(options);
      const db = await connect({ url, schemas: [note] });
      await db.group("alice").put(note, "1", { title: PRIVATE });
      for (const files of [
        packageOf(model(`${thief.url}/v1/`)),
        packageOf(embedder(`${thief.url}/v1/`), SD_EMBEDDING),
      ]) {
        const { status, text } = await deploy(url, files);
        expect(status).toBe(400);
        expect(text).toContain("INVALID_APPLICATION_PACKAGE");
        expect(text).toContain("the secret 'openai' is bound to");
        expect(text).toContain(thief.url);
        expect(text).not.toContain(SECRET);
      }
      // What was deployed before goes on serving, and knows no such chain.
      expect((await ask("POST", "/search/", QUERY)).text).not.toContain("thanks");
      expect((await db.group("alice").search(note, { text: "lease" })).totalCount).toBe(1);
    }
    expect(thief.seen).toEqual([]);
  });

  test.each([
    "http://169.254.169.254/latest/",
    "http://127.0.0.1:1/",
    "https://[::1]/",
    "https://vault.internal/",
    "http://a.example/",
  ])("is not sent to ask %s either", async (address) => {
    const { url } = await server({ secrets: { openai: "https://api.openai.com" } });
    const withoutSecret = model(address).replace(/<apiKeySecretRef>.*?<\/apiKeySecretRef>/, "");
    const { status, text } = await deploy(url, packageOf(withoutSecret));
    expect([status, text]).toEqual([400, expect.stringContaining("--model-origin")]);
    const file = `<component id="e" type="hugging-face-embedder"><transformer-model url="${address}m.onnx"/>
        <tokenizer-model url="${address}t.json"/></component>`;
    expect(await deploy(url, packageOf(file, SD_EMBEDDING))).toMatchObject({
      status: 400,
      text: expect.stringContaining("embedder 'e'"),
    });
  });

  test("sends it where it is bound to, with the texts", async () => {
    const own = await endpoint();
    const { url, ask } = await server({ secrets: { openai: own.url } });
    const all = packageOf(model(`${own.url}/v1/`) + embedder(`${own.url}/v1/embeddings`), SD_EMBEDDING);
    expect(await deploy(url, all)).toMatchObject({ status: 200 });
    expect(await ask("POST", "/document/v1/note/note/group/alice/1", { fields: { title: PRIVATE } })).toMatchObject({
      status: 200,
    });
    const answer = await ask("POST", "/search/", QUERY);
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("thanks")]);
    expect(own.seen.length).toBe(2);
    for (const one of own.seen) expect([one.includes(`Bearer ${SECRET}`), one.includes(PRIVATE)]).toEqual([true, true]);
  });

  test("does not send it for an application that was stored before it was bound", async () => {
    const thief = await endpoint();
    const path = join(folder(), "data");
    const application = writeFiles(join(folder(), "application"), packageOf(model(`${thief.url}/v1/`)));
    const before = await serve({ path, application, port: 0, threads: 0, secrets: { openai: thief.url } });
    await connect({ url: before.url }).group("alice").put(note, "1", { title: PRIVATE });
    await before.close();
    for (const options of [{ path }, { path, modelOrigins: [thief.url] }]) {
      const service = await serve({ ...options, port: 0, threads: 0 });
      const answer = await asking(service.port)("POST", "/search/", QUERY);
      expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("The secret is not sent")]);
      await service.close();
    }
    expect(thief.seen).toEqual([]);
    await expect(serve({ path, application, port: 0, threads: 0 })).rejects.toMatchObject({
      code: "CANNOT_START",
      message: expect.stringContaining("--secret openai="),
    });
  });

  test("is not started with an origin that is none", async () => {
    await expect(server({ secrets: { openai: "api.openai.com" } })).rejects.toMatchObject({ code: "CANNOT_START" });
    await expect(server({ modelOrigins: ["http://127.0.0.1:1/v1"] })).rejects.toMatchObject({ code: "CANNOT_START" });
  });
});
