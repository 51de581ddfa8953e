/** What is told of models: whether they can be asked, why not, and what they were asked, queries and documents apart. */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { ServiceError } from "@brooklet/wire";
import { describe, expect, test } from "vitest";
import { deadlineIn, type Embedder, type Embedding, type EmbedRequest } from "../src/embedder.ts";
import { GivenEmbedders } from "../src/given-embedders.ts";
import { HashEmbedder } from "../src/hash-embedder.ts";
import { HttpEmbedder } from "../src/http-embedder.ts";
import { MeasuredEmbedder } from "../src/measured-embedder.ts";
import { openComponent } from "../src/onnx/component.ts";
import { OnnxModel } from "../src/onnx/onnx-model.ts";
import { AdaptivePool } from "../src/pool/adaptive-pool.ts";
import { poolFigures } from "../src/pool/pool-figures.ts";
import { crossEncoder, tinyModel, WIDTH } from "./tiny-model.ts";

const TIME_MS = 60_000;
const request = (purpose: EmbedRequest["purpose"], texts: readonly string[], signal?: AbortSignal): EmbedRequest => ({
  texts,
  purpose,
  dimensions: WIDTH,
  deadline: deadlineIn(TIME_MS, signal),
});

/** An embedder whose answers are given one by one. */
class Slow implements Embedder {
  readonly id = "slow";
  readonly shape = "vector";
  readonly asked: { resolve: (made: readonly Embedding[]) => void; reject: (error: unknown) => void }[] = [];

  embed(): Promise<readonly Embedding[]> {
    return new Promise((resolve, reject) => this.asked.push({ resolve, reject }));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

describe("calls of any embedder", () => {
  test("are counted by purpose while they are under way, and when they end", async () => {
    const slow = new Slow();
    const measured = new MeasuredEmbedder(slow, "a-type");
    expect(measured.state()).toMatchObject({ id: "slow", kind: "embedder", type: "a-type", state: "ready" });
    expect(measured.state()).not.toHaveProperty("dimensions");
    const query = measured.embed(request("query", ["a"]));
    const document = measured.embed(request("document", ["a", "b", "c"]));
    expect(measured.state().calls).toMatchObject([
      { purpose: "query", running: 1, waiting: 0, items: 0, seconds: { count: 0 } },
      { purpose: "document", running: 3, waiting: 0, items: 0, seconds: { count: 0 } },
    ]);
    slow.asked[0]?.resolve([{ shape: "vector", values: new Float32Array(5) }]);
    await query;
    slow.asked[1]?.reject(new ServiceError("OVERLOADED", "no room for 'secret words'"));
    await expect(document).rejects.toThrow("no room");
    const state = measured.state();
    expect(state.dimensions).toBe(5);
    expect(state.calls).toMatchObject([
      { purpose: "query", running: 0, items: 1, failures: {}, seconds: { count: 1 } },
      { purpose: "document", running: 0, items: 0, failures: { OVERLOADED: 1 }, seconds: { count: 1 } },
    ]);
    expect(JSON.stringify(state)).not.toContain("secret");
  });

  test("whose caller has gone are no failures of the model, and a defect is one of ours", async () => {
    const slow = new Slow();
    const measured = new MeasuredEmbedder(slow);
    const caller = new AbortController();
    const gone = measured.embed(request("query", ["a"], caller.signal));
    caller.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    const broken = measured.embed(request("query", ["a"]));
    slow.asked[1]?.reject(new TypeError("of undefined"));
    await expect(broken).rejects.toThrow("of undefined");
    expect(measured.state().calls[0]).toMatchObject({ failures: { INTERNAL: 1 }, seconds: { count: 2 }, items: 0 });
  });

  const one = { shape: "vector", values: Float32Array.of(1, 0) };
  test.each([
    ["no list", undefined, "no list of embeddings"],
    ["fewer than texts", [one], "1 embeddings for 2 texts"],
    ["more than texts", [one, one, one], "3 embeddings for 2 texts"],
    ["bare numbers", [one, [1, 0]], "something that is no embedding: { shape, values }"],
    ["a hole", [one, undefined], "something that is no embedding: { shape, values }"],
    ["no number", [one, { ...one, values: Float32Array.of(1, Number.NaN) }], "a value that is no finite 32-bit number"],
    ["an infinite one", [one, { ...one, values: [1, -Infinity] }], "a value that is no finite 32-bit number"],
    [
      "one that is too large",
      [one, { ...one, values: Float64Array.of(1e300) }],
      "a value that is no finite 32-bit number",
    ],
    ["texts", [one, { ...one, values: ["1", "0"] }], "a value that is no finite 32-bit number"],
    ["labels alone", [one, { ...one, shape: "weights", labels: ["a"] }], "not a weight for each label"],
  ])("that give %s are failures of the model", async (_, given, problem) => {
    const slow = new Slow();
    const measured = new MeasuredEmbedder(slow);
    const asked = measured.embed(request("document", ["a", "b"]));
    slow.asked[0]?.resolve(given as readonly Embedding[]);
    await expect(asked).rejects.toMatchObject({ code: "INTERNAL", message: `Embedder 'slow' gives ${problem}` });
    expect(measured.state().calls[1]).toMatchObject({ failures: { INTERNAL: 1 }, items: 0 });
  });

  test("may give numbers in whatever has them, a part of other memory too", async () => {
    const slow = new Slow();
    const asked = new MeasuredEmbedder(slow).embed(request("document", ["a", "b"]));
    const made = [one, { shape: "vector", values: Float32Array.of(9, 1, 0).subarray(1) }] as const;
    slow.asked[0]?.resolve(made as readonly Embedding[]);
    await expect(asked).resolves.toBe(made);
  });

  test("of an endpoint are told as one, with its requests", async () => {
    const send = async (): Promise<Response> =>
      Response.json({ data: [0, 1].map((index) => ({ index, embedding: new Array(WIDTH).fill(1) })) });
    const endpoint = "http://localhost/v1/embeddings";
    const http = new HttpEmbedder({ id: "e5", endpoint, model: "m", batch: 2, fetch: send });
    const measured = new MeasuredEmbedder(http, "openai-embedder");
    await measured.embed(request("document", ["a", "b", "c", "d"]));
    const { calls, ...state } = measured.state();
    expect(state).toEqual({
      id: "e5",
      kind: "endpoint",
      type: "openai-embedder",
      state: "ready",
      batches: 2,
      dimensions: WIDTH,
    });
    expect(calls[1]).toMatchObject({ purpose: "document", items: 4 });
  });
});

test("a pool tells apart what waits for queries and for documents, and why no session could be opened", async () => {
  let free: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  let isBroken = true;
  const pool = new AdaptivePool<{ urgent: boolean }, number>({
    mode: "narrow",
    openWide: () => Promise.reject(new Error("unused")),
    openNarrow: async () => {
      if (isBroken) throw new Error("no such file");
      return { run: (jobs) => held.then(() => jobs.map(() => 1)), close: () => Promise.resolve() };
    },
    narrowRunners: 1,
    weigh: () => 1,
    isUrgent: ({ urgent }) => urgent,
    batchJobs: 1,
    batchWeight: 1,
    queueJobs: 10,
  });
  const run = (urgent: boolean): Promise<number> => pool.run({ urgent }, deadlineIn(TIME_MS));
  await expect(run(true)).rejects.toThrow("no such file");
  expect(poolFigures(pool.statistics())).toMatchObject({ sessions: 0, problem: "no such file" });
  isBroken = false;
  const all = [run(true)];
  await expect.poll(() => pool.statistics().runners, { timeout: TIME_MS }).toBe(1);
  all.push(run(true), run(false), run(false));
  const figures = poolFigures(pool.statistics());
  expect(figures).toMatchObject({ sessions: 1, sessionsGivenUp: 0, waits: { query: 1, document: 2 } });
  expect(figures).not.toHaveProperty("problem");
  free();
  await Promise.all(all);
  expect(poolFigures(pool.statistics())).toMatchObject({ batches: 5, waits: { query: 0, document: 0 } });
  await pool.close();
});

describe("models that this process runs", () => {
  const component = (model: string, tokenizer: string) =>
    openComponent(
      {
        id: "tiny",
        type: "hugging-face-embedder",
        settings: [
          ["transformer-model@path", model],
          ["tokenizer-model@path", tokenizer],
        ],
      },
      { file: async (where) => ("path" in where ? where.path : ""), secret: () => undefined },
    );

  test("are loaded by the first who asks, and tell their values, sessions, batches and tokens then", async () => {
    const { model, tokenizer } = tinyModel();
    const measured = new MeasuredEmbedder(await component(model, tokenizer), "hugging-face-embedder");
    expect(measured.state()).toMatchObject({ state: "unloaded", sessions: 0, tokens: 0, batches: 0 });
    expect(measured.state()).not.toHaveProperty("dimensions");
    await measured.embed({ ...request("query", ["reset a password"]), dimensions: 2 });
    // With those that begin and end a text: five.
    expect(measured.state()).toMatchObject({ state: "ready", sessions: 1, tokens: 5, batches: 1, dimensions: WIDTH });
    await measured.close();
  });

  test("that the runtime refuses have failed, with its reason", async () => {
    const { model, tokenizer } = tinyModel();
    writeFileSync(model, "no model");
    const measured = new MeasuredEmbedder(await component(model, tokenizer));
    await expect(measured.embed(request("query", ["reset"]))).rejects.toThrow();
    const { state, problem, calls } = measured.state();
    expect([state, problem]).toEqual([
      "failed",
      expect.stringContaining(`The model ${basename(model)} cannot be used`),
    ]);
    expect(calls[0]).toMatchObject({ failures: { BAD_REQUEST: 1 }, items: 0 });
    await measured.close();
  });

  test("to rank are told by their runs", async () => {
    const { model: path } = tinyModel();
    writeFileSync(path, crossEncoder());
    const model = new OnnxModel({ path, cores: 1 });
    expect(model.state("cross.onnx")).toMatchObject({ id: "cross.onnx", kind: "onnx", state: "unloaded" });
    const input = (name: string, ids: readonly bigint[]) => {
      const bytes = new Uint8Array(BigInt64Array.from(ids).buffer);
      return { name, element: 7, sizes: [1, ids.length], bytes };
    };
    const inputs = [
      input("input_ids", [2n, 5n, 3n, 5n]),
      input("attention_mask", [1n, 1n, 1n, 1n]),
      input("token_type_ids", [0n, 0n, 1n, 1n]),
    ];
    await model.run([{ isBatched: true, outputs: ["logits"], inputs }], deadlineIn(TIME_MS));
    const state = model.state("cross.onnx");
    expect(state).toMatchObject({ state: "ready", sessions: 1, batches: 1 });
    expect(state.calls[0]).toMatchObject({ purpose: "query", items: 1, seconds: { count: 1 } });
    await model.close();
  });
});

test("where models are not run, those that were given are told, and those that nobody gave have failed", async () => {
  const given = new GivenEmbedders([new HashEmbedder("words")], "in an object");
  const application = {
    embedders: [
      { id: "words", type: "hugging-face-embedder" },
      { id: "bge", type: "hugging-face-embedder" },
    ],
  };
  await given.embed([{ embedder: "words", text: "a b", purpose: "document", values: 8 }], application, TIME_MS);
  const [words, bge, ...more] = await given.states(application);
  expect(more).toEqual([]);
  expect(words).toMatchObject({ id: "words", state: "ready", dimensions: 8 });
  expect(words?.calls[1]).toMatchObject({ purpose: "document", items: 1 });
  expect(bge).toEqual({
    id: "bge",
    kind: "embedder",
    type: "hugging-face-embedder",
    state: "failed",
    problem: expect.stringContaining("embedder 'bge' (hugging-face-embedder) is not run in an object"),
    calls: [],
  });
});

const NO_EMBEDDER = { id: "words", shape: "vector", embed: (): unknown[] => [], close: (): void => undefined };

test.each([
  [{}, "embedder 'undefined' has no right `id`"],
  [null, "embedder 'undefined' has no right `id`"],
  [{ ...NO_EMBEDDER, shape: "map" }, "embedder 'words' has no right `shape`"],
  [{ ...NO_EMBEDDER, embed: "no method" }, "embedder 'words' has no right `embed`"],
  [{ ...NO_EMBEDDER, close: undefined }, "embedder 'words' has no right `close`"],
])("what is given as embedders and is none is refused by name: %j", (given, said) => {
  expect(() => new GivenEmbedders([given as never], "in an object")).toThrow(said);
});
