/** Models of the AI SDK for a database: embedders, language models that `ask` asks, and answers as UI message streams. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type AnswerPart, ChatError, type ChatModel } from "@brooklet/client";
import type * as Brooklet from "brooklet";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { manifestOf, type Provider, RELEASES, type Sdk } from "./ai-releases.ts";

const built = new URL("../../brooklet/dist/index.js", import.meta.url).href;
const { embedding, open, schema, text } = (await import(built)) as typeof Brooklet;

const note = schema("note", { body: text(), vec: embedding({ from: "body", model: "letters", dimensions: 3 }) });

interface Asked {
  readonly path: string;
  readonly body: {
    readonly input?: readonly string[];
    readonly messages?: readonly { readonly role: string; readonly content: string }[];
    readonly temperature?: number;
    readonly tools?: unknown;
  };
}

type Told = (asked: Asked, response: ServerResponse, count: number) => void;

/** A provider on a port of this machine. Its vectors count the letters a, b, c and d; `say` answers what is asked in a chat. */
async function provided({ createOpenAICompatible }: Provider, say: Told) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let said = "";
    request.on("data", (part) => {
      said += part;
    });
    request.on("end", () => {
      const one = { path: request.url ?? "", body: JSON.parse(said) as Asked["body"] };
      asked.push(one);
      if (!one.path.endsWith("/embeddings")) return say(one, response, asked.length);
      const data = (one.body.input ?? []).map((input, index) => ({ index, embedding: letters(input) }));
      response.setHeader("content-type", "application/json").end(JSON.stringify({ data, usage: { prompt_tokens: 1 } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const provider = createOpenAICompatible({ name: "standin", baseURL, apiKey: "secret" });
  return { asked, chat: provider("m"), embedding: provider.textEmbeddingModel("e") };
}

const letters = (input: string): number[] =>
  input === "unit" ? [0.36, 0.48, 0.8] : [..."abcd"].map((letter) => input.split(letter).length - 1);

function streams(...deltas: readonly object[]): Told {
  return (_, response) => {
    response.setHeader("content-type", "text/event-stream");
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({ id: "x", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    for (const delta of deltas) response.write(chunk(delta, null));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  };
}

const says = (...tokens: readonly string[]): Told => streams(...tokens.map((content) => ({ content })));

function fails(status: number): Told {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: "the provider's words" } }));
  };
}

describe.each(RELEASES)("models of the AI SDK %i", (release, load) => {
  let provider: Provider;
  let sdk: Sdk;
  let AiSdkEmbedder: typeof import("../src/ai-sdk.ts").AiSdkEmbedder;
  let AiSdkModel: typeof import("../src/ai-sdk.ts").AiSdkModel;
  let uiMessageStream: typeof import("../src/ai-sdk.ts").uiMessageStream;

  beforeAll(async () => {
    [sdk, provider] = await load();
    vi.resetModules();
    vi.doMock("ai", () => sdk);
    ({ AiSdkEmbedder, AiSdkModel, uiMessageStream } = await import("../src/ai-sdk.ts"));
    expect((await manifestOf(release)).version).toMatch(new RegExp(`^${release}\\.`));
  });

  /** A database whose texts the provider embeds. */
  async function notes(say: Told, options: Partial<ConstructorParameters<typeof AiSdkEmbedder>[0]> = {}) {
    const models = await provided(provider, say);
    const embedder = new AiSdkEmbedder({ id: "letters", model: models.embedding, retries: 0, ...options });
    const database = await open({ schemas: [note], models: { embedders: [embedder], onNotice: () => {} } });
    onTestFinished(() => database.close());
    const group = database.group("alice");
    await group.feed(note, [
      { id: "a", fields: { body: "aaa a" } },
      { id: "c", fields: { body: "ccc c" } },
    ]);
    return { ...models, group };
  }

  test("embed what is put and what is searched with", async () => {
    const { group, asked } = await notes(says("x"), {
      prepend: { query: "b" },
      providerOptions: (purpose) => ({ standin: { user: purpose } }),
    });
    const { hits } = await group.search(note, { near: { field: "vec", text: "c" }, fields: ["vec"] });
    expect(hits[0]).toMatchObject({ id: "c", fields: { vec: [0, 0, 4] } });
    expect(asked.flatMap(({ body }) => body.input)).toEqual(expect.arrayContaining(["aaa a", "ccc c", "bc"]));
    expect(asked.at(-1)?.body).toMatchObject({ model: "e", input: ["bc"], user: "query" });
  });

  test("answer, with citations, as it streams", async () => {
    const { group, chat, asked } = await notes(says("It is ", "four c [1]", ", or [7]."));
    const parts: AnswerPart[] = [];
    const model = new AiSdkModel(chat, { settings: { temperature: 0.5 } });
    for await (const part of group.ask(note, "ccc?", { model, instructions: "Be brief." })) parts.push(part);
    expect(parts.map((part) => part.text).join("")).toBe("It is four c [1], or.");
    expect(parts.at(-1)).toMatchObject({ type: "end", reason: "stop", citations: [{ number: 1 }] });
    expect(parts.filter(({ type }) => type === "removed")).toMatchObject([{ what: "citation", removed: "[7]" }]);
    const { body } = asked.find(({ path }) => path.endsWith("/chat/completions")) ?? {};
    expect(body).toMatchObject({ stream: true, temperature: 0.5, messages: [{ role: "system" }, { role: "user" }] });
    expect(body?.messages?.[0]?.content).toContain("Be brief.");
    expect(body?.messages?.[1]?.content).toContain("ccc c");
    expect(body?.tools).toBeUndefined();
  });

  test("call no tools: the call is taken out, by its name", async () => {
    const call = { index: 0, id: "1", type: "function", function: { name: "forget", arguments: "{}" } };
    const { group, chat } = await notes(streams({ content: "Done." }, { tool_calls: [call] }));
    const parts: AnswerPart[] = [];
    for await (const part of group.ask(note, "ccc?", { model: new AiSdkModel(chat) })) parts.push(part);
    expect(parts.filter(({ type }) => type === "removed")).toMatchObject([{ what: "toolCall", removed: "forget" }]);
    expect(parts.filter(({ type }) => type === "text").map((part) => part.text)).toEqual(["Done."]);
    expect(() => new AiSdkModel(chat, { settings: { tools: {} } as never })).toThrow("an AiSdkModel has no tools");
  });

  test.each([
    [429, "OVERLOADED"],
    [401, "UNEXPECTED_ANSWER"],
  ] as const)("tell what keeps them from answering: %i is %s", async (status, code) => {
    const { group, chat } = await notes(fails(status));
    const model = new AiSdkModel(chat, { settings: { maxRetries: 0 } });
    const answer = group.ask(note, "ccc?", { model });
    await expect(answer).rejects.toMatchObject({ code, status, outcome: "not_applied" });
    await expect(answer).rejects.toThrow(/^The language model failed with status \d+: the provider's words$/);
    await expect(answer).rejects.not.toThrow("secret");
  });

  test("are limited in time, and end with the caller", async () => {
    const { group, chat } = await notes(() => {});
    const late = group.ask(note, "ccc?", { model: new AiSdkModel(chat, { timeoutMs: 50 }) });
    await expect(late).rejects.toMatchObject({ code: "TIMED_OUT" });
    const controller = new AbortController();
    const ended = group.ask(note, "ccc?", { model: new AiSdkModel(chat), signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 50);
    await expect(ended).rejects.toThrow("enough");
  });

  test("stream answers as UI messages, with their sources", async () => {
    const { group, chat } = await notes(says("Four c [1].", " Yes [1]."));
    const stream = uiMessageStream(group.ask(note, "ccc?", { model: new AiSdkModel(chat) }), {
      title: ({ passage }) => `Note ${passage.documentId}`,
    });
    const [kept, read] = stream.tee();
    const response = sdk.createUIMessageStreamResponse({ stream: kept });
    expect(await response.text()).toContain('"type":"source-document","sourceId":"1"');
    let message: { readonly parts: readonly unknown[] } | undefined;
    for await (const next of sdk.readUIMessageStream({ stream: read })) message = next;
    expect(message?.parts).toMatchObject([
      { type: "text", text: "Four c [1]. Yes [1]." },
      {
        type: "source-document",
        sourceId: "1",
        title: "Note c",
        providerMetadata: { brooklet: { documentId: "c", field: "body", start: 0, end: 5 } },
      },
    ]);
  });

  test("tell readers of an answer where it begins, and why it ended", async () => {
    const { group } = await notes(says("x"));
    const chunksOf = async (reason?: string, aborted?: AbortController): Promise<unknown[]> => {
      const model: ChatModel = {
        async *say() {
          yield { type: "token", text: "Four" };
          aborted?.abort();
          if (reason !== undefined) yield { type: "finish", reason };
        },
      };
      const answer = group.ask(note, "ccc?", { model, ...(aborted === undefined ? {} : { signal: aborted.signal }) });
      const response = sdk.createUIMessageStreamResponse({ stream: uiMessageStream(answer) });
      // What `useChat` reads with. It refuses the whole message where a chunk is none that it knows.
      const transport = new sdk.DefaultChatTransport({ fetch: () => Promise.resolve(response) });
      const asked = { trigger: "submit-message", chatId: "c", messageId: undefined, messages: [] as never[] } as const;
      const read = await transport.sendMessages({ ...asked, abortSignal: undefined });
      const chunks: unknown[] = [];
      for await (const chunk of read as unknown as AsyncIterable<unknown>) chunks.push(chunk);
      return chunks;
    };
    const reasons = ["stop", "length", "content_filter", "content-filter", "tool_calls", "eos", undefined];
    const ends = await Promise.all(reasons.map(async (reason) => (await chunksOf(reason)).at(-1)));
    const told = ["stop", "length", "content-filter", "content-filter", "tool-calls", "other", "other"];
    expect(ends).toEqual(told.map((finishReason) => ({ type: "finish", finishReason })));
    expect((await chunksOf("stop"))[0]).toMatchObject({ type: "start" });
    expect((await chunksOf("stop", new AbortController())).at(-1)).toEqual({ type: "abort" });
  });

  test("say no more to a reader that is gone", async () => {
    const { group } = await notes(says("x"));
    let said = 0;
    const left = new Promise<void>((resolve) => {
      const model: ChatModel = {
        async *say() {
          try {
            for (; said < 1_000; said += 1) yield { type: "token", text: `${said} ` };
          } finally {
            resolve();
          }
        },
      };
      const reader = uiMessageStream(group.ask(note, "ccc?", { model })).getReader();
      const begin = reader.read();
      void begin.then(() => reader.read()).then(() => reader.cancel());
    });
    await left;
    expect(said).toBeLessThan(1_000);
  });

  test("stream errors in words for readers", async () => {
    const { group, chat } = await notes(fails(401));
    const broken = group.ask(note, "ccc?", { model: new AiSdkModel(chat, { settings: { maxRetries: 0 } }) });
    const chunks: unknown[] = [];
    for await (const chunk of uiMessageStream(broken) as unknown as AsyncIterable<unknown>) chunks.push(chunk);
    expect(chunks).toContainEqual({
      type: "error",
      errorText: "The language model failed with status 401: the provider's words",
    });
  });

  test("keep the first values of a unit vector as a unit vector", async () => {
    const { embedding: model } = await provided(provider, says("x"));
    const embedder = new AiSdkEmbedder({ id: "letters", model });
    const wanted = { texts: ["unit"], purpose: "document", dimensions: 2, deadline: { leftMs: () => 60_000 } } as const;
    expect((await embedder.embed(wanted))[0]?.values).toEqual(Float32Array.from([0.6, 0.8]));
  });

  test("say what is wrong with what they are made with", async () => {
    const { group, chat, embedding: model } = await notes(says("x"));
    expect(() => new AiSdkModel({} as never)).toThrow("is made with a language model of the AI SDK");
    expect(() => new AiSdkEmbedder({ id: "x", model: chat as never })).toThrow("is no embedding model of the AI SDK");
    expect(() => new AiSdkEmbedder({ id: "", model })).toThrow("needs the `id` that schemas have for it");
    await expect(group.ask(note, "x", { model: chat as never })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("new AiSdkModel(…) of brooklet/ai-sdk"),
    });
    const wide = schema("note", { body: text(), vec: embedding({ from: "body", model: "letters", dimensions: 5 }) });
    const embedder = new AiSdkEmbedder({ id: "letters", model });
    const database = await open({ schemas: [wide], models: { embedders: [embedder], onNotice: () => {} } });
    onTestFinished(() => database.close());
    const put = database.group("alice").put(wide, "x", { body: "a" });
    await expect(put).rejects.toThrow("gives 4 values, and 5 are asked for");
  });
});

describe("a model that the caller brings", () => {
  async function asked(model: ChatModel) {
    const plain = schema("note", { body: text() });
    const database = await open({ schemas: [plain], languageModel: model });
    onTestFinished(() => database.close());
    await database.group("alice").put(plain, "a", { body: "It is due on Friday." });
    // An answer is awaited like a promise, so it is not given back by itself.
    return { answer: database.group("alice").ask(plain, "due?") };
  }

  test("is asked like any other", async () => {
    const { answer } = await asked({
      async *say(messages) {
        yield { type: "token", text: `${messages.length} [1]` };
        yield { type: "finish", reason: "stop" };
      },
    });
    expect(await answer).toMatchObject({ text: "2 [1]", citations: [{ number: 1 }], reason: "stop" });
  });

  test("is limited in what it says, and in how long it says nothing, even if it does not listen", async () => {
    const isEnded = vi.fn();
    const { answer: long } = await asked({
      answerCharactersMax: 10,
      async *say() {
        try {
          for (;;) yield { type: "token", text: "word " };
        } finally {
          isEnded();
        }
      },
    });
    await expect(long).rejects.toThrow("longer than 10 characters");
    expect(isEnded).toHaveBeenCalledOnce();
    const { answer: silent } = await asked({
      idleTimeoutMs: 20,
      async *say() {
        await new Promise(() => {});
      },
    });
    await expect(silent).rejects.toMatchObject({ code: "TIMED_OUT" });
    const { answer: empty } = await asked({ async *say() {} });
    await expect(empty).rejects.toThrow("The language model answered nothing");
  });

  test("tells what keeps it from answering", async () => {
    const { answer: busy } = await asked({
      async *say() {
        yield { type: "token", text: "" };
        throw new ChatError("overloaded", "Busy", 429);
      },
    });
    await expect(busy).rejects.toMatchObject({ code: "OVERLOADED", status: 429, message: "Busy" });
    const { answer: broken } = await asked({
      async *say() {
        yield { type: "token", text: "" };
        throw new TypeError("x is undefined");
      },
    });
    await expect(broken).rejects.toMatchObject({ code: "UNEXPECTED_ANSWER" });
  });
});
