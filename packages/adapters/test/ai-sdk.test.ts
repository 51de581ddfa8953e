import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type * as brooklet from "@brooklet/client";
import {
  type AnySchema,
  bool,
  embedding,
  type Group,
  int,
  schema,
  string,
  text,
  timestamp,
  vector,
} from "@brooklet/client";
import type * as Installed from "brooklet";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { ToolPassage } from "../src/ai-sdk.ts";
import { manifestOf, type Provider, RELEASES, type Sdk } from "./ai-releases.ts";
import { mail, mails } from "./mails.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { open } = (await import(built)) as typeof Installed;

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
    const { model, asked } = await callingModel(provider, "search", { query: "invoice", limit: 3 });
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
    expect(Object.keys(asked[0]?.tools[0]?.function.parameters.properties ?? {})).toEqual([
      "query",
      "filter",
      "sort",
      "limit",
    ]);
  });

  test.each([
    ["search", { query: "invoice", group: "mallory" }, "group"],
    ["search", { query: "invoice", filters: { sender: "bob@example.com" } }, "filters"],
    ["retrieve", { question: "When is it due?", filters: {} }, "filters"],
  ])("%s refuses %j", async (name, given, stray) => {
    const group = (await mails()).group("alice");
    const { model } = await callingModel(provider, name, given);
    const all = { search: searchTool({ group, schema: mail }), retrieve: retrieveTool({ group, schema: mail }) };
    const { steps } = await sdk.generateText({ model, prompt: "x", tools: all, stopWhen: sdk.stepCountIs(3) });
    expect(steps[0]?.toolResults).toEqual([]);
    expect(JSON.stringify(steps[0]?.content)).toMatch(new RegExp(`Unrecognized key: [^a-z]*${stray}`));
  });

  test("are called by a program without what the SDK adds, with their defaults, and refuse what is no such call", async () => {
    const group = (await mails()).group("alice");
    const called = (tool: { readonly execute?: unknown }, ...words: readonly unknown[]): Promise<unknown> =>
      (tool.execute as (...given: readonly unknown[]) => Promise<unknown>)(...words);
    const search = searchTool({ group, schema: mail, limitMax: 1 });
    const retrieve = retrieveTool({ group, schema: mail });
    expect(await called(search, { query: "invoice" })).toMatchObject([{ id: "invoice" }]);
    // The default of the limit is the tool's.
    expect(await called(search, {})).toHaveLength(1);
    const [best] = (await called(retrieve, { question: "When is the invoice due?" })) as readonly ToolPassage[];
    expect(best).toMatchObject({ number: 1, id: "invoice", field: "body" });
    const refused = { code: "INVALID_ARGUMENT" };
    await expect(called(search, { query: "a", filters: {} })).rejects.toMatchObject(refused);
    await expect(called(search, { query: "a", filter: { sender: "bob" } })).rejects.toThrow("filter.sender");
    await expect(called(search)).rejects.toMatchObject(refused);
    await expect(called(retrieve, "When?")).rejects.toThrow("a tool cannot be called so");
    const signal = AbortSignal.abort(new Error("nobody waits"));
    await expect(called(search, { query: "a" }, { abortSignal: signal })).rejects.toThrow("nobody waits");
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

describe.each(RELEASES)("tools of the AI SDK %i over fields", (_, load) => {
  let sdk: Sdk;
  let provider: Provider;
  let tools: typeof import("../src/ai-sdk.ts");

  beforeAll(async () => {
    [sdk, provider] = await load();
    vi.resetModules();
    vi.doMock("ai", () => sdk);
    tools = await import("../src/ai-sdk.ts");
  });

  const note = schema("note", {
    body: text(),
    author: string(),
    size: int(),
    isDone: bool(),
    at: timestamp(),
    vec: vector(2).optional(),
  });

  async function notes() {
    const database = await open({ schemas: [note] });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    const put = (id: string, author: string, day: string, size: number) =>
      group.put(note, id, { body: `the note ${id}`, author, size, isDone: size > 1, at: new Date(day), vec: [1, 0] });
    await put("a", "ann", "2026-01-31T23:30:00Z", 1);
    await put("b", "bob", "2026-02-01T00:00:00Z", 2);
    await put("c", "ann", "2026-02-02T12:00:00Z", 3);
    await database.group("mallory").put(note, "m", {
      body: "the note of Mallory",
      author: "ann",
      size: 1,
      isDone: true,
      at: new Date(),
    });
    return group;
  }

  /** What the tool gives, or why not, when a model calls it with these arguments. */
  async function called(name: string, tool: unknown, given: object): Promise<unknown> {
    const { model } = await callingModel(provider, name, given);
    const { steps } = await sdk.generateText({
      model,
      prompt: "x",
      tools: { [name]: tool as never },
      stopWhen: sdk.stepCountIs(2),
    });
    const parts = steps[0]?.content as readonly { type: string; output?: unknown; error?: unknown }[] | undefined;
    const part = parts?.find(({ type }) => type === "tool-result" || type === "tool-error");
    return part?.type === "tool-result"
      ? part.output
      : String((part?.error as Error | undefined)?.message ?? part?.error);
  }

  test("search by what fields are, in an order", async () => {
    const search = tools.searchTool({ group: await notes(), schema: note });
    const found = async (given: object): Promise<unknown> => {
      const hits = await called("search", search, given);
      return Array.isArray(hits) ? hits.map((hit: { id: string }) => hit.id) : hits;
    };
    expect(await found({ filter: { at: { until: "2026-01-31" } } })).toEqual(["a"]);
    expect(await found({ filter: { at: { from: "2026-02-01" } }, sort: "at desc" })).toEqual(["c", "b"]);
    expect(
      await found({ filter: { at: { from: "2026-02-01T01:00:00+01:00", until: "2026-02-01T00:00:00Z" } } }),
    ).toEqual(["b"]);
    expect(await found({ query: "note", filter: { author: ["ann"], size: { min: 2 } } })).toEqual(["c"]);
    expect(await found({ filter: { isDone: true, size: { max: 2 } } })).toEqual(["b"]);
    expect(await found({ sort: "size desc", limit: 2 })).toEqual(["c", "b"]);
    expect(await called("search", search, { filter: { author: ["bob"] } })).toEqual([
      {
        id: "b",
        relevance: expect.any(Number),
        fields: { body: "the note b", author: "bob", size: 2, isDone: true, at: "2026-02-01T00:00:00.000Z" },
      },
    ]);
  });

  test("retrieve by what fields are, under the condition they were made with", async () => {
    const group = await notes();
    const where = (it: typeof note.conditions) => it.author.is("ann");
    const retrieve = tools.retrieveTool({ group, schema: note, where });
    const found = async (given: object): Promise<unknown> => {
      const passages = (await called("retrieve", retrieve, given)) as readonly { readonly id: string }[];
      return passages.map(({ id }) => id).sort();
    };
    expect(await found({ question: "note" })).toEqual(["a", "c"]);
    expect(await found({ question: "note", filter: { at: { from: "2026-02-01" } } })).toEqual(["c"]);
    expect(await found({ question: "note", filter: { author: ["bob"] } })).toEqual([]);
  });

  test("refuse what is no filter, and leave no condition out", async () => {
    const group = await notes();
    const where = (it: typeof note.conditions) => it.author.is("ann");
    const search = tools.searchTool({ group, schema: note, where, filters: ["author", "at"] });
    expect(await called("search", search, { filter: { author: ["bob"] } })).toEqual([]);
    expect(await called("search", search, { filter: { size: { min: 1 } } })).toContain("size");
    expect(await called("search", search, { filter: { at: { from: "yesterday" } } })).toContain(
      "give a date, 2026-11-23",
    );
    for (const from of ["2026-13-01", "2026-11-31", "2026-02-29T09:30:00Z"])
      expect(await called("search", search, { filter: { at: { from } } })).toContain("there is no such date");
    expect(await called("search", search, { sort: "size desc" })).toContain("sort");
    const lost = tools.searchTool({ group, schema: note, where: () => undefined as never });
    expect(await called("search", lost, { query: "note" })).toContain("where is undefined, which is no condition");
    expect(() => tools.retrieveTool({ group, schema: note, retrieve: { where } as object })).toThrow(
      "beside `retrieve`",
    );
    expect(() => tools.searchTool({ group, schema: note, filters: ["vec"] })).toThrow("cannot filter by 'vec'");
    const plain = tools.searchTool({ group, schema: note, filters: [] });
    const { asked, model } = await callingModel(provider, "search", { query: "note" });
    await sdk.generateText({ model, prompt: "x", tools: { search: plain }, stopWhen: sdk.stepCountIs(2) });
    expect(Object.keys(asked[0]?.tools[0]?.function.parameters.properties ?? {})).toEqual(["query", "limit"]);
  });

  test("remember and forget in their group, and nowhere else", async () => {
    const group = await notes();
    const remember = tools.rememberTool({
      group,
      schema: note,
      fields: ["body", "at"],
      fixed: () => ({ author: "assistant", size: 0, isDone: false }),
      id: () => "kept",
    });
    const given = { body: "likes tea", at: "2026-03-01" };
    expect(await called("remember", remember, given)).toEqual({ id: "kept" });
    expect(await group.get(note, "kept")).toMatchObject({
      body: "likes tea",
      author: "assistant",
      at: new Date("2026-03-01"),
    });
    expect(await called("remember", remember, { ...given, author: "ann" })).toContain("author");
    expect(await called("remember", remember, { body: "x" })).toContain("at");

    const condition = (it: brooklet.SelectionsOf<typeof note.fields>) => it.author.is("assistant");
    const forget = tools.forgetTool({ group, schema: note, condition });
    expect(await called("forget", forget, { id: "kept" })).toEqual({ id: "kept", isForgotten: true });
    expect(await group.get(note, "kept")).toBeUndefined();
    expect(await called("forget", forget, { id: "kept" })).toEqual({ id: "kept", isForgotten: false });
    expect(await called("forget", forget, { id: "m" })).toEqual({ id: "m", isForgotten: false });
    expect(await called("forget", forget, { id: "id:note:note:g=mallory:m" })).toContain("group 'mallory'");
    expect(await called("forget", forget, { id: "a" })).not.toHaveProperty("isForgotten");
    expect(await group.get(note, "a")).toBeDefined();
    expect(() => tools.rememberTool({ group, schema: note, fields: ["body"] })).toThrow(
      "documents of schema note need author, size, isDone, at: name them among `fields`, or give them as `fixed`",
    );
    expect(() => tools.rememberTool({ group, schema: note, fields: ["vec"], fixed: () => ({}) as never })).toThrow(
      /need/,
    );
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
    { text: "invoice", limit: 3, highlights: "ranges", near: { field: "vec", text: "invoice" } },
    { text: "invoice", limit: 3, highlights: "ranges" },
  ]);
});
