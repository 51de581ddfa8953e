import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type AnySchema, embedding, type Group, schema, text } from "@brooklet/client";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolPassage } from "../src/ai-sdk.ts";
import { manifestOf, type Provider, RELEASES, type Sdk } from "./ai-releases.ts";
import { mail, mails } from "./mails.ts";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools: readonly {
    readonly function: { readonly name: string; readonly parameters: { readonly properties: object } };
  }[];
}

/** A model that calls a tool with these arguments, and then says what it was given. */
async function callingModel({ createOpenAICompatible }: Provider, name: string, argument: object) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      const body = JSON.parse(text) as Asked;
      asked.push(body);
      const call = { id: "c1", type: "function", function: { name, arguments: JSON.stringify(argument) } };
      const message =
        asked.length === 1
          ? { role: "assistant", content: null, tool_calls: [call] }
          : { role: "assistant", content: `I was given: ${JSON.stringify(body.messages.at(-1)?.content)}` };
      response.setHeader("content-type", "application/json");
      const choices = [{ index: 0, message, finish_reason: asked.length === 1 ? "tool_calls" : "stop" }];
      response.end(JSON.stringify({ id: "x", object: "chat.completion", created: 1, model: "m", choices }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { asked, model: createOpenAICompatible({ name: "stand-in", baseURL, apiKey: "k" })("m") };
}

describe.each(RELEASES)("tools of the AI SDK %i", (release, load) => {
  let sdk: Sdk;
  let provider: Provider;
  let searchTool: typeof import("../src/ai-sdk.ts").searchTool;
  let retrieveTool: typeof import("../src/ai-sdk.ts").retrieveTool;

  beforeAll(async () => {
    [sdk, provider] = await load();
    vi.resetModules();
    const tool = vi.fn(sdk.tool);
    vi.doMock("ai", () => ({ ...sdk, tool }));
    ({ searchTool, retrieveTool } = await import("../src/ai-sdk.ts"));
    expect((await manifestOf(release)).version).toMatch(new RegExp(`^${release}\\.`));
    return () => expect(tool).toHaveBeenCalled();
  });

  test("search the group they were made with, and no other", async () => {
    const database = await mails();
    const { model, asked } = await callingModel(provider, "search", { query: "invoice", limit: 3, group: "mallory" });
    const search = searchTool({ group: database.group("alice"), schema: mail, description: "Alice's mail" });
    const { text, steps } = await sdk.generateText({
      model,
      prompt: "x",
      tools: { search },
      stopWhen: sdk.stepCountIs(3),
    });
    expect(steps[0]?.toolResults[0]?.output).toEqual([
      {
        id: "invoice",
        relevance: expect.any(Number),
        fields: { subject: "Invoice 42", body: "The invoice is due on Friday.", sender: "billing@example.com" },
      },
    ]);
    expect(text).toContain("due on Friday");
    expect(text).not.toContain("Mallory");
    expect(Object.keys(asked[0]?.tools[0]?.function.parameters.properties ?? {})).toEqual(["query", "limit"]);
  });

  test("retrieve numbered passages, under a condition the model cannot lift", async () => {
    const database = await mails();
    const { model } = await callingModel(provider, "retrieve", { question: "When is the invoice due?" });
    const group = database.group("alice");
    const where = (it: typeof mail.conditions) => it.sender.is("bob@example.com");
    const all = { retrieve: retrieveTool({ group, schema: mail }) };
    const few = { retrieve: retrieveTool({ group, schema: mail, where }) };
    const found = await sdk.generateText({ model, prompt: "x", tools: all, stopWhen: sdk.stepCountIs(3) });
    const [first] = (found.steps[0]?.toolResults[0]?.output ?? []) as readonly ToolPassage[];
    expect(first).toEqual({
      number: 1,
      id: "invoice",
      field: "body",
      start: 0,
      end: 29,
      text: "The invoice is due on Friday.",
    });
    const again = await callingModel(provider, "retrieve", { question: "When is the invoice due?" });
    const none = await sdk.generateText({ model: again.model, prompt: "x", tools: few, stopWhen: sdk.stepCountIs(3) });
    expect(JSON.stringify(none.steps[0]?.toolResults[0]?.output)).not.toContain("invoice");
  });
});

test("a search tool searches near to the vector that the server makes, where there is one", async () => {
  const { searchTool } = await import("../src/ai-sdk.ts");
  const made = schema("note", { body: text(), vec: embedding({ from: "body", model: "minilm" }) });
  const asked: unknown[] = [];
  const group = {
    search: async (_: AnySchema, options: object) => {
      asked.push(options);
      return { hits: [], totalCount: 0 };
    },
  } as unknown as Group;
  for (const searched of [made, mail]) {
    const tool = searchTool({ group, schema: searched as AnySchema });
    await tool.execute?.({ query: "invoice", limit: 3 }, { toolCallId: "c", messages: [] });
  }
  expect(asked).toEqual([
    { text: "invoice", limit: 3, near: { field: "vec", text: "invoice" } },
    { text: "invoice", limit: 3 },
  ]);
});
