/** What the `vespa` command shows of a search chain with a language model, for which something here stands in. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** What the model says, in pieces; the context it was given is not among it. */
const TOKENS = ["The deposit", " is due", " soon."];

/** Where the stand-in is going to be: a server is told before it starts which origin may be asked although it is plain http. */
export const MODEL_ORIGIN = await freeOrigin();

async function freeOrigin() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/**
 * Starts a stand-in for an endpoint with the OpenAI interface.
 * @returns {Promise<{ url: string, asked: { messages: { content: string }[] }[], close: () => void }>}
 */
async function startModel() {
  /** @type {{ messages: { content: string }[] }[]} */
  const asked = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    asked.push(JSON.parse(text));
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of TOKENS) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
    }
    response.end("data: [DONE]\n\n");
  });
  const { hostname, port } = new URL(MODEL_ORIGIN);
  await new Promise((resolve) => server.listen(Number(port), hostname, () => resolve(undefined)));
  return { url: `${MODEL_ORIGIN}/v1/`, asked, close: () => server.close() };
}

/**
 * @param {(...words: readonly string[]) => Promise<{ code: number, output: string }>} vespa
 * @param {import("./gateway.mjs").Gateway} gateway
 * @param {{ folder: string, application: string, group: string }} given
 * @param {(good: boolean, what: string, seen: string) => void} report
 */
export async function checkLanguageModel(vespa, gateway, { folder, application, group }, report) {
  const model = await startModel();
  try {
    const changed = join(folder, "with-model");
    cpSync(application, changed, { recursive: true });
    const path = join(changed, "services.xml");
    const chain = `<component id="openai" class="ai.vespa.llm.clients.OpenAI">
      <config name="ai.vespa.llm.clients.llm-client"><endpoint>${model.url}</endpoint></config></component>
    <search><chain id="rag" inherits="vespa"><searcher id="ai.vespa.search.llm.RAGSearcher"/></chain></search>`;
    writeFileSync(path, readFileSync(path, "utf8").replace("<search/>", chain));
    const deployed = await vespa("deploy", "-t", gateway.configUrl, "--wait", "30", changed);
    report(
      deployed.code === 0 && /Deployed/.test(deployed.output),
      "deploy of a chain with a language model",
      deployed.output,
    );
    const query = (/** @type {readonly string[]} */ ...words) =>
      vespa(
        ...["query", "-t", gateway.url, "--timeout", "10", ...words],
        'yql=select subject from mail where subject contains "lease"',
        ...[`streaming.groupname=${group}`, "hits=2", "searchChain=rag", "format=sse", "prompt=When?"],
      );
    const read = await query();
    report(read.code === 0 && read.output.includes(TOKENS.join("")), "query of events shows the answer", read.output);
    const prompt = model.asked[0]?.messages[0]?.content ?? "";
    report(/document \[2\]:[\s\S]*Lease of flat[\s\S]*When\?$/.test(prompt), "its model was given the hits", prompt);
    const plain = await query("--format", "plain");
    const events = TOKENS.map((token) => `event: token\ndata: ${JSON.stringify({ token })}\n\n`).join("");
    report(plain.output.includes(`${events}event: end`), "query of events, plain, is the stream", plain.output);
    model.close();
    const failed = await query();
    report(
      /error/.test(failed.output) && !failed.output.includes(TOKENS[0] ?? ""),
      "query of a model that is gone",
      failed.output,
    );
  } finally {
    model.close();
  }
}
