/** Drivers without a runtime: the hash embedder, an HTTP endpoint, and files of models. */
import { EventEmitter, once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { testEmbedder } from "../src/contract.ts";
import { deadlineIn, type Embedder } from "../src/embedder.ts";
import { HashEmbedder } from "../src/hash-embedder.ts";
import { HttpEmbedder } from "../src/http-embedder.ts";
import { ModelFiles } from "../src/model-files.ts";
import { Embedders } from "../src/registry.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse, body: string) => void) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    answer(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const vector = (text: string) => [text.length, 1, -1];
const embeddings = (body: string) => ({
  data: (JSON.parse(body) as { input: string[] }).input
    .map((text, index) => ({ index, embedding: vector(text) }))
    .reverse(),
});
const ask = (embedder: Embedder, texts: string[], ms = 10_000, dimensions = 3) =>
  embedder.embed({ texts, purpose: "query", dimensions, deadline: deadlineIn(ms) });

describe("the hash embedder", () => {
  testEmbedder({ test }, () => Promise.resolve(new HashEmbedder("hash")), 64);

  test("texts that share words are nearer than texts that do not, and it says that it knows no more", async () => {
    const embedder = new HashEmbedder("hash");
    const [a, b, c] = await ask(embedder, ["the late invoice", "An invoice, LATE", "reset password"], 1000, 128);
    const dot = (x?: { values: Float32Array }, y?: { values: Float32Array }) =>
      x?.values.reduce((sum, value, index) => sum + value * (y?.values[index] ?? 0), 0) ?? 0;
    expect(dot(a, a)).toBeCloseTo(1, 5);
    expect(dot(a, b)).toBeGreaterThan(dot(a, c) + 0.3);
    expect(embedder.notice).toContain("no meaning");
  });
});

describe("an endpoint", () => {
  const open = (endpoint: string, changes = {}) =>
    new HttpEmbedder({ id: "remote", endpoint, model: "m", apiKey: "secret", ...changes });

  testEmbedder(
    { test },
    async () => open(await serve((_, response, body) => response.end(JSON.stringify(embeddings(body))))),
    3,
  );

  test("is asked with model, key and instruction, in batches, and answers in any order", async () => {
    const asked: { body: unknown; key: unknown }[] = [];
    const endpoint = await serve((request, response, body) => {
      asked.push({ body: JSON.parse(body), key: request.headers.authorization });
      response.end(JSON.stringify(embeddings(body)));
    });
    const embedder = open(endpoint, { batch: 2, prepend: { query: "q: " } });
    const all = await ask(embedder, ["a", "bb", "ccc"]);
    expect(all.map(({ values }) => values[0])).toEqual([4, 5, 6]);
    expect(asked.map(({ body }) => (body as { input: string[] }).input)).toEqual([["q: a", "q: bb"], ["q: ccc"]]);
    expect(asked[0]).toMatchObject({ key: "Bearer secret", body: { model: "m", encoding_format: "float" } });
    expect(embedder.notice).toContain("127.0.0.1");
  });

  test.each([0, -1, 2.5, Number.NaN])("is not asked in batches of %d texts", (batch) => {
    expect(() => open("http://127.0.0.1:9/", { batch })).toThrow(
      `the \`batch\` of embedder 'remote' is ${batch}: give a positive integer`,
    );
  });

  test("that is busy is asked again, and one that refuses is not", async () => {
    let calls = 0;
    const busy = await serve((_, response, body) => {
      calls += 1;
      if (calls < 3) response.writeHead(calls === 1 ? 429 : 503, { "retry-after": "0" }).end("later");
      else response.end(JSON.stringify(embeddings(body)));
    });
    expect(await ask(open(busy), ["a"])).toHaveLength(1);
    expect(calls).toBe(3);
    let refusals = 0;
    const refusing = await serve((_, response) => {
      refusals += 1;
      response.writeHead(401).end("who are you");
    });
    await expect(ask(open(refusing), ["a"])).rejects.toMatchObject({
      code: "BAD_REQUEST",
      message: /401: who are you/,
    });
    expect(refusals).toBe(1);
  });

  test.each([
    ["no JSON", "<html>"],
    ["no list", "{}"],
    ["no numbers", '{"data":[{"index":0,"embedding":["x",1,2]}]}'],
    ["nothing among numbers", '{"data":[{"index":0,"embedding":[null,1,2]}]}'],
    ["numbers as texts", '{"data":[{"index":0,"embedding":["0.5",1,2]}]}'],
    ["too few", '{"data":[]}'],
    ["more than 64 MiB", "[".repeat((64 << 20) + 1)],
  ])(
    "that answers with %s is not believed: it is not there for now, and nothing was stored (M8)",
    async (_, answer) => {
      const failed = ask(open(await serve((_request, response) => response.end(answer))), ["a"]);
      await expect(failed).rejects.toMatchObject({
        code: "UNAVAILABLE",
        status: 503,
        message: /no list of embeddings/,
      });
    },
  );

  test.each([
    ["a unit vector", [0.36, 0.48, 0.8], [0.6, 0.8]],
    ["a unit vector that begins with nothing", [0, 0, 1], [0, 0]],
    ["a vector whose length means something", [3, 4, 12], [3, 4]],
    ["a vector of the wanted size", [0.601, 0.8], [0.601, 0.8]],
  ])("that gives %s, of which the first values are kept", async (_, given, kept) => {
    const data = [{ index: 0, embedding: given }];
    const endpoint = await serve((_request, response) => response.end(JSON.stringify({ data })));
    const [made] = await ask(open(endpoint), ["a"], 10_000, 2);
    expect(made?.values).toEqual(Float32Array.from(kept));
  });

  test("that says the key is told without it", async () => {
    const refusing = await serve((request, response) => {
      response.writeHead(401).end(`"${request.headers.authorization}" is wrong`);
    });
    await expect(ask(open(refusing), ["a"])).rejects.toThrow(
      'The embedding endpoint answered 401: "Bearer …" is wrong',
    );
  });

  test("that is to be asked later is not once it is closed", async () => {
    const busy = async (): Promise<Response> => new Response("", { status: 429, headers: { "retry-after": "3000" } });
    const embedder = open("http://127.0.0.1:9/", { fetch: busy });
    const embedding = expect(ask(embedder, ["a"], 4_000_000)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await new Promise(setImmediate);
    await embedder.close();
    await embedding;
  });

  test("with vectors too short, too slow, in a part, not there, or elsewhere", async () => {
    const short = await serve((_, response, body) => response.end(JSON.stringify(embeddings(body))));
    await expect(ask(open(short), ["a"], 1000, 4)).rejects.toMatchObject({ code: "BAD_REQUEST" });
    const slow = await serve(() => {});
    await expect(ask(open(slow), ["a"], 50)).rejects.toMatchObject({ code: "TIMED_OUT" });
    await expect(ask(open("http://127.0.0.1:9/"), ["a"])).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const parting = await serve((_, response) => {
      response.writeHead(200, { "content-length": "99" }).write('{"data":', () => response.destroy());
    });
    await expect(ask(open(parting), ["a"])).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const halting = await serve((_, response) => response.writeHead(200).write('{"data":'));
    await expect(ask(open(halting), ["a"], 50)).rejects.toMatchObject({ code: "TIMED_OUT" });
    const elsewhere = await serve((_, response) => response.writeHead(307, { location: short }).end());
    await expect(ask(open(elsewhere), ["a"])).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });
});

describe("the registry", () => {
  test("the only one needs no name; several do, and an unknown one is told those that there are", () => {
    const [a, b] = [new HashEmbedder("a"), new HashEmbedder("b")];
    expect(new Embedders([a]).get()).toBe(a);
    expect(new Embedders([a, b]).get("b")).toBe(b);
    expect(() => new Embedders([a, b]).get()).toThrow("there are 'a', 'b'");
    expect(() => new Embedders([a]).get("c")).toThrow("No embedder 'c': there are 'a'");
    expect(() => new Embedders([]).get("c")).toThrow("No embedder is configured");
    expect(() => new Embedders([a, a])).toThrow("two embedders");
  });
});

describe("files of models", () => {
  const DIGEST = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
  const folder = (): string => {
    const own = mkdtempSync(join(tmpdir(), "brooklet-models-"));
    onTestFinished(() => rmSync(own, { recursive: true }));
    return join(own, "cache");
  };

  test("are fetched once, with progress, and kept under their address", async () => {
    let calls = 0;
    const url = `${await serve((_, response) => {
      calls += 1;
      response.end("hello");
    })}/m/model.onnx`;
    const progress: number[] = [];
    const files = new ModelFiles({ folder: folder(), onProgress: ({ bytes }) => progress.push(bytes) });
    expect(files.find(url)).toBeUndefined();
    const pulls = [files.pull(url), files.pull(url, "00"), files.pull(url, DIGEST)];
    await expect(pulls[1]).rejects.toThrow("its SHA-256 is");
    const [path = "", same] = await Promise.all([pulls[0], pulls[2]]);
    expect(same).toBe(path);
    expect(readFileSync(path, "utf8")).toBe("hello");
    expect(files.find(url)).toBe(path);
    expect(await files.pull(url, DIGEST)).toBe(path);
    expect(calls).toBe(1);
    expect(progress.at(-1)).toBe(5);
    await expect(files.pull(url, "00")).rejects.toThrow("its SHA-256 is");
  });

  test("what a killed download left is removed by the next, and nothing that another has under way", async () => {
    const base = await serve((_, response) => response.end("hello"));
    const files = new ModelFiles({ folder: folder() });
    const path = await files.pull(`${base}/m.onnx`);
    rmSync(path);
    const [left, underWay] = [`${path}.4000001.part`, `${path}.4000002.part`];
    for (const part of [left, underWay]) writeFileSync(part, "he");
    const hours = Date.now() / 1_000 - 2 * 3_600;
    utimesSync(left, hours, hours);
    expect(await files.pull(`${base}/m.onnx`)).toBe(path);
    expect([path, left, underWay].map((file) => existsSync(file))).toEqual([true, false, true]);
  });

  test("two that share a folder do not write into one file, though they are of one process", async () => {
    const begun: ServerResponse[] = [];
    const progress = new EventEmitter();
    const url = `${await serve((_, response) => {
      begun.push(response);
      response.writeHead(200, { "content-length": 10 }).write("hello", () => progress.emit("begun"));
    })}/model.onnx`;
    const own = folder();
    const pulls: Promise<string>[] = [];
    for (const _ of ["the one", "the other"]) {
      const isBegun = once(progress, "begun");
      pulls.push(new ModelFiles({ folder: own }).pull(url));
      await isBegun;
    }
    begun[0]?.end("world");
    const path = await Promise.race(pulls);
    expect(readFileSync(path, "utf8")).toBe("helloworld");
    begun[1]?.end("world");
    expect(await Promise.all(pulls)).toEqual([path, path]);
    expect(readFileSync(path, "utf8")).toBe("helloworld");
    expect(readdirSync(dirname(path)).sort()).toEqual(["model.onnx", "model.onnx.sha256", "model.onnx.url"]);
  });

  test("a folder that takes no file is named beside the message, as what the server has is not lost", async () => {
    const base = await serve((_, response) => response.end("hello"));
    const own = folder();
    writeFileSync(own, "a file");
    await expect(new ModelFiles({ folder: own }).pull(`${base}/m.onnx`)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `${base}/m.onnx cannot be kept in the folder of downloads: ENOTDIR`,
      cause: expect.objectContaining({ message: expect.stringContaining(own) }),
    });
  });

  test("another digest, an error, a broken download and other schemes leave nothing behind", async () => {
    const files = new ModelFiles({ folder: folder(), bytesMax: 10 });
    const base = await serve((request, response) => {
      if (request.url === "/404") response.writeHead(404).end();
      else if (request.url === "/broken")
        response.writeHead(200, { "content-length": "9" }).write("hel", () => response.destroy());
      else response.end(request.url === "/large" ? "x".repeat(11) : "hello");
    });
    await expect(files.pull(`${base}/hello`, "00")).rejects.toMatchObject({ code: "BAD_REQUEST" });
    await expect(files.pull(`${base}/404`)).rejects.toThrow("answered 404");
    const gone = "http://127.0.0.1:1/m.onnx";
    await expect(files.pull(gone)).rejects.toThrow(`${gone} cannot be had: fetch failed (`);
    await expect(files.pull(`${base}/broken`)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `${base}/broken ended after 3 of 9 bytes`,
    });
    await expect(files.pull(`${base}/large`)).rejects.toThrow("more than 10 bytes");
    expect(() => files.find("file:///etc/passwd")).toThrow("begins with https");
    for (const path of ["hello", "404", "broken", "large"]) expect(files.find(`${base}/${path}`)).toBeUndefined();
  });
});
