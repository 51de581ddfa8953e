/**
 * A talk with the agent, line by line: `node dist/main.js [USER]`. What USER told it is still known the next time.
 *
 *   CHAT_URL, CHAT_MODEL, CHAT_KEY    a language model with the OpenAI interface that can call tools; a scripted stand-in without it
 */
import process from "node:process";
import { createInterface } from "node:readline/promises";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel, ModelMessage } from "ai";
import { open } from "brooklet";
import { agentOf, memory } from "./memory.ts";
import { scriptedModel } from "./scripted-model.ts";

const user = process.argv[2] ?? "alice";
await using database = await open({ path: process.env["DATA"] ?? "./data", schemas: [memory] });
const agent = agentOf(database, user, modelOf());
const messages: ModelMessage[] = [];
const lines = createInterface({ input: process.stdin, output: process.stderr, prompt: `${user}> ` });
lines.prompt();
for await (const line of lines) {
  messages.push({ role: "user", content: line });
  const { text, response } = await agent.generate({ messages });
  messages.push(...response.messages);
  console.log(text);
  lines.prompt();
}

function modelOf(): LanguageModel {
  const { CHAT_URL, CHAT_MODEL = "default", CHAT_KEY } = process.env;
  if (CHAT_URL === undefined) return scriptedModel();
  const provider = { name: "chat", baseURL: CHAT_URL, ...(CHAT_KEY === undefined ? {} : { apiKey: CHAT_KEY }) };
  return createOpenAICompatible(provider)(CHAT_MODEL);
}
