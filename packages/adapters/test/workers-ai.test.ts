/** Models of Workers AI, against a stand-in that has the binding's interface: what is asked, what is made of it, and every refusal. */
import { type ChatEvent, chat } from "@brooklet/answers";
import { deadlineIn } from "@brooklet/models";
import { expect, test } from "vitest";
import { type WorkersAi, WorkersAiEmbedder, WorkersAiModel } from "../src/workers-ai.ts";

interface Asked {
  readonly model: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/** The binding: `answer` says what comes of a request, the last one for all that follow; what is an error is thrown. */
function binding(...answers: readonly unknown[]): { readonly ai: WorkersAi; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const run = async (model: string, inputs: unknown, options: unknown): Promise<unknown> => {
    asked.push({ model, inputs, options } as Asked);
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    const made = typeof answer === "function" ? answer(inputs) : answer;
    if (made instanceof Error) throw made;
    return made;
  };
  return { ai: { run }, asked };
}

const vectors = ({ text }: { readonly text: readonly string[] }): unknown => ({
  shape: [text.length, 3],
  data: text.map((it) => [it.length, 0.5, -1]),
});
const upstream = (text: string, members: object = {}): Error =>
  Object.assign(new Error(text), { name: "InferenceUpstreamError" }, members);
const inSeconds = { purpose: "document", dimensions: 3, deadline: deadlineIn(60_000) } as const;

function embedderOf(ai: WorkersAi, others: object = {}): WorkersAiEmbedder {
  return new WorkersAiEmbedder({ id: "bge", ai, model: "@cf/baai/bge-base-en-v1.5", ...others });
}

test("of a unit vector that is longer than the field a unit vector is kept", async () => {
  const { ai } = binding(() => ({ shape: [1, 3], data: [[0.36, 0.48, 0.8]] }));
  const [made] = await embedderOf(ai).embed({ ...inSeconds, texts: ["a"], dimensions: 2 });
  expect(made?.values).toEqual(Float32Array.from([0.6, 0.8]));
});

test("texts are asked for in as many requests as the model takes, with what is put before them", async () => {
  const { ai, asked } = binding(vectors);
  const embedder = embedderOf(ai, {
    batch: 2,
    prepend: { query: "find: " },
    inputs: { pooling: "cls" },
    options: { gateway: { id: "mine" } },
  });
  const made = await embedder.embed({ ...inSeconds, texts: ["a", "bb", "ccc"], dimensions: 2 });
  expect(made.map(({ values }) => [...values])).toEqual([
    [1, 0.5],
    [2, 0.5],
    [3, 0.5],
  ]);
  await embedder.embed({ ...inSeconds, texts: ["d"], purpose: "query" });
  expect(asked.map(({ inputs }) => inputs)).toEqual([
    { pooling: "cls", text: ["a", "bb"] },
    { pooling: "cls", text: ["ccc"] },
    { pooling: "cls", text: ["find: d"] },
  ]);
  expect(asked[0]).toMatchObject({
    model: "@cf/baai/bge-base-en-v1.5",
    options: { gateway: { id: "mine" }, signal: expect.any(AbortSignal) },
  });
  expect(embedder.notice).toBe("texts are sent to Workers AI (@cf/baai/bge-base-en-v1.5)");
});

test("a hundred texts are in a request unless it is said", async () => {
  const { ai, asked } = binding(vectors);
  await embedderOf(ai).embed({ ...inSeconds, texts: Array.from({ length: 201 }, String) });
  expect(asked.map(({ inputs }) => (inputs["text"] as string[]).length)).toEqual([100, 100, 1]);
});

test.each([
  ["a busy platform", upstream("3040: Capacity temporarily exceeded, please try again."), "OVERLOADED", 429, 3],
  ["a used up day", upstream("3036: You have used up your daily free allocation"), "OVERLOADED", 507, 1],
  ["a failure that may pass", Object.assign(new Error("moved"), { retryable: true }), "UNAVAILABLE", 503, 3],
  ["a time-out of the platform's", upstream("AiError: 3007: Request timeout"), "UNAVAILABLE", 503, 3],
  ["a failure with a status", upstream("internal", { status: 502 }), "UNAVAILABLE", 503, 3],
  ["no such model", upstream("5007: No such model @cf/none or task"), "BAD_REQUEST", 400, 1],
  ["too much text", upstream("3006: Request is too large"), "BAD_REQUEST", 400, 1],
  ["an account that may not", upstream("5018: The account is not allowed to access this model"), "BAD_REQUEST", 400, 1],
])("%s is told as what it is, and tried again where that may help", async (_, error, code, status, tries) => {
  const { ai, asked } = binding(error);
  await expect(embedderOf(ai).embed({ ...inSeconds, texts: ["a"] })).rejects.toMatchObject({
    code,
    status,
    message: expect.stringContaining("model of embedder 'bge'"),
    cause: error,
  });
  expect(asked.length).toBe(tries);
});

test("what was refused for now is asked again, and told if it answers then", async () => {
  const { ai, asked } = binding(upstream("3040: Capacity temporarily exceeded"), vectors);
  const [made] = await embedderOf(ai).embed({ ...inSeconds, texts: ["four"] });
  expect([...(made?.values ?? [])]).toEqual([4, 0.5, -1]);
  expect(asked.length).toBe(2);
});

test.each([
  ["no vectors", { response: "hello" }, "INTERNAL", "is no list of vectors"],
  ["nothing", undefined, "INTERNAL", "is no list of vectors"],
  ["a request that is queued", { request_id: "1" }, "INTERNAL", "is no list of vectors"],
  ["too few", { shape: [1, 3], data: [[1, 2, 3]] }, "INTERNAL", "1 vectors for 2 texts"],
  [
    "another shape",
    {
      shape: [2, 4],
      data: [
        [1, 2, 3],
        [1, 2, 3],
      ],
    },
    "INTERNAL",
    "another shape than it says",
  ],
  [
    "vectors of two lengths",
    {
      data: [
        [1, 2, 3],
        [1, 2],
      ],
    },
    "INTERNAL",
    "another shape than it says",
  ],
  [
    "what is no number",
    {
      data: [
        [1, 2, null],
        [1, 2, 3],
      ],
    },
    "INTERNAL",
    "no numbers in it",
  ],
  [
    "too few values",
    {
      shape: [2, 2],
      data: [
        [1, 2],
        [1, 2],
      ],
    },
    "BAD_REQUEST",
    "gives 2 values, and 3 are asked for",
  ],
])("an answer with %s is refused", async (_, answer, code, said) => {
  const { ai } = binding(answer);
  await expect(embedderOf(ai).embed({ ...inSeconds, texts: ["a", "b"] })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(said),
  });
});

test("it is not waited for after the deadline, the caller, or the end of the embedder", async () => {
  const silent: WorkersAi = { run: () => new Promise(() => undefined) };
  const late = embedderOf(silent).embed({ ...inSeconds, texts: ["a"], deadline: deadlineIn(20) });
  await expect(late).rejects.toMatchObject({ code: "TIMED_OUT", status: 504 });
  await expect(embedderOf(silent).embed({ ...inSeconds, texts: ["a"], deadline: deadlineIn(0) })).rejects.toMatchObject(
    {
      code: "TIMED_OUT",
    },
  );
  const caller = new AbortController();
  const left = embedderOf(silent).embed({ ...inSeconds, texts: ["a"], deadline: deadlineIn(60_000, caller.signal) });
  caller.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  const closing = embedderOf(silent);
  const asked = closing.embed({ ...inSeconds, texts: ["a"] });
  await closing.close();
  await expect(asked).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("what cannot be an embedder or a model is refused when it is made", () => {
  const { ai } = binding();
  expect(() => embedderOf({} as WorkersAi)).toThrow("the `ai` of embedder 'bge' is no binding of Workers AI (env.AI)");
  expect(() => embedderOf(ai, { id: "" })).toThrow("needs the `id`");
  expect(() => embedderOf(ai, { model: "" })).toThrow("needs its `model`");
  expect(() => embedderOf(ai, { batch: 0 })).toThrow("is not positive");
  expect(() => embedderOf(ai, { retries: -1 })).toThrow("are negative");
  expect(() => new WorkersAiModel({ ai: undefined as never, model: "m" })).toThrow("no binding of Workers AI");
  expect(() => new WorkersAiModel({ ai, model: "" })).toThrow("needs its `model`");
  expect(() => new WorkersAiModel({ ai, model: "m", parameters: { tools: [] } })).toThrow("has no tools");
});

const MESSAGES = [{ role: "user", content: "Hello?" }] as const;

async function said(model: WorkersAiModel): Promise<ChatEvent[]> {
  const events: ChatEvent[] = [];
  for await (const event of chat(model, { messages: MESSAGES })) events.push(event);
  return events;
}

/** A stream of server-sent events, in pieces that end anywhere. */
function stream(...events: readonly string[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(events.map((data) => `data: ${data}\n\n`).join(""));
  const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.slice(at * 7, at * 7 + 7));
  return new ReadableStream({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
}

test("what a model says comes as it says it: the platform's events, and those of newer models", async () => {
  const own = binding(stream('{"response":"Hel"}', '{"response":"lo"}', '{"response":"","usage":{}}', "[DONE]"));
  const model = new WorkersAiModel({ ai: own.ai, model: "@cf/meta/llama", parameters: { temperature: 0 } });
  expect((await said(model)).map((event) => (event.type === "token" ? event.text : event.type)).join("")).toBe("Hello");
  expect(own.asked).toEqual([
    {
      model: "@cf/meta/llama",
      inputs: { max_tokens: 1_024, temperature: 0, messages: MESSAGES, stream: true },
      options: { signal: expect.any(AbortSignal) },
    },
  ]);
  const newer = binding(
    stream(
      '{"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}',
      '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"search"}}]}}]}',
      '{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}',
      '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
      '{"usage":{"total_tokens":3}}',
      "[DONE]",
    ),
  );
  expect(await said(new WorkersAiModel({ ai: newer.ai, model: "m" }))).toEqual([
    { type: "token", text: "Hi" },
    { type: "toolCall", name: "search" },
    { type: "finish", reason: "stop" },
  ]);
});

test("an answer that is not streamed is one piece", async () => {
  const { ai, asked } = binding({ response: "All of it.", tool_calls: [{ name: "send" }] });
  expect(await said(new WorkersAiModel({ ai, model: "m", stream: false }))).toEqual([
    { type: "token", text: "All of it." },
    { type: "toolCall", name: "send" },
  ]);
  expect(asked[0]?.inputs["stream"]).toBe(false);
});

test.each([
  ["a busy platform", upstream("3040: Capacity temporarily exceeded"), "overloaded", 429, 3],
  ["a used up day", upstream("3036: You have used up your daily free allocation"), "overloaded", 507, 1],
  ["an unknown failure", new Error("gone"), "unreachable", 0, 3],
  ["no such model", upstream("5007: No such model"), "refused", 400, 1],
])("a model that cannot answer for %s says why", async (_, error, failure, status, tries) => {
  const { ai, asked } = binding(error);
  await expect(said(new WorkersAiModel({ ai, model: "m" }))).rejects.toMatchObject({ failure, status });
  expect(asked.length).toBe(tries);
});

test.each([
  ["no text", { response: { title: "JSON" } }],
  ["something else", { data: [] }],
  ["what is not JSON", stream("{")],
  ["nothing", stream("[DONE]")],
  ["a stream without an end", stream('{"response":"Hel"}')],
])("an answer with %s is malformed", async (_, answer) => {
  const { ai } = binding(answer);
  await expect(said(new WorkersAiModel({ ai, model: "m" }))).rejects.toMatchObject({ failure: "malformed" });
});

test("time and length of an answer are limited", async () => {
  const silent: WorkersAi = { run: () => new Promise(() => undefined) };
  const late = new WorkersAiModel({ ai: silent, model: "m", timeoutMs: 20 });
  await expect(said(late)).rejects.toMatchObject({ failure: "timed out" });
  const long = binding({ response: "too much" });
  const short = new WorkersAiModel({ ai: long.ai, model: "m", answerCharactersMax: 3 });
  await expect(said(short)).rejects.toMatchObject({ failure: "too long" });
});
