/**
 * Runs the mail assistant: imports mailboxes and serves the page. Without anything it has the mail of two invented people,
 * text search, and a scripted stand-in for a language model.
 *
 *   CHAT_URL, CHAT_MODEL, CHAT_KEY                    a language model with the OpenAI interface
 *   EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_KEY  an endpoint for vectors of 384 numbers, to search by meaning too
 */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { serve } from "@hono/node-server";
import { type ChatEndpoint, type Embedder, HttpEmbedder } from "brooklet";
import { Assistant } from "./assistant.ts";
import { scriptedModel } from "./scripted-model.ts";
import { createServer } from "./server.ts";

const PORT = 8090;
const USAGE = `node dist/main.js [--port ${PORT}] [--data DIR] [PERSON=FILE.mbox …]`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: "string", default: String(PORT) }, data: { type: "string" }, help: { type: "boolean" } },
});

if (values.help === true) console.log(USAGE);
else await run();

async function run(): Promise<void> {
  const { CHAT_URL, CHAT_MODEL } = process.env;
  const embedder = embedderOf();
  const assistant = await Assistant.open({
    model: modelOf(),
    ...(values.data === undefined ? {} : { path: values.data }),
    ...(embedder === undefined ? {} : { embedder }),
  });
  const mailboxes = new Map(positionals.length === 0 ? samples() : positionals.map(mailboxOf));
  for (const [person, file] of mailboxes) {
    const count = await assistant.import(person, readFileSync(file, "utf8"));
    console.log(`${person}: ${count} mails`);
  }
  const modelName = CHAT_URL === undefined ? "a scripted stand-in" : (CHAT_MODEL ?? "the configured model");
  const app = createServer(assistant, { people: [...mailboxes.keys()], modelName });
  const at = { fetch: app.fetch, hostname: "127.0.0.1", port: Number(values.port) };
  const server = serve(at, ({ port }) => console.log(`The mail assistant is at http://127.0.0.1:${port}/`));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      if ("closeAllConnections" in server) server.closeAllConnections();
      server.close(() => void assistant[Symbol.asyncDispose]());
    });
  }
}

function modelOf(): ChatEndpoint {
  const { CHAT_URL, CHAT_MODEL, CHAT_KEY } = process.env;
  if (CHAT_URL === undefined) return scriptedModel();
  return { url: CHAT_URL, model: CHAT_MODEL ?? "default", ...(CHAT_KEY === undefined ? {} : { apiKey: CHAT_KEY }) };
}

function embedderOf(): Embedder | undefined {
  const { EMBEDDINGS_URL, EMBEDDINGS_MODEL, EMBEDDINGS_KEY } = process.env;
  if (EMBEDDINGS_URL === undefined) return undefined;
  return new HttpEmbedder({
    id: "mail",
    endpoint: EMBEDDINGS_URL,
    model: EMBEDDINGS_MODEL ?? "default",
    ...(EMBEDDINGS_KEY === undefined ? {} : { apiKey: EMBEDDINGS_KEY }),
  });
}

function mailboxOf(word: string): readonly [person: string, file: string] {
  const [, person, file] = /^([^=]+)=(.+)$/.exec(word) ?? [];
  if (person === undefined || file === undefined) throw new Error(`'${word}' is no mailbox: ${USAGE}`);
  return [person, file];
}

function samples(): (readonly [person: string, file: string])[] {
  const folder = new URL("../sample/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".mbox"));
  return names.sort().map((name) => [name.replace(".mbox", ""), new URL(name, folder).pathname]);
}
