/** The reranker behind an endpoint: what it is asked, and every way in which its answer can be none. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { type RerankEndpoint, rerankEndpoint } from "../src/index.ts";

async function reranker(answer: RequestListener, endpoint: Partial<RerankEndpoint> = {}) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return rerankEndpoint({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`, ...endpoint });
}

const results = (...scores: readonly unknown[]): string =>
  JSON.stringify({ results: scores.map((score, index) => ({ index, relevance_score: score })).reverse() });

test("is asked as endpoints expect it, and its scores are those of the texts", async () => {
  const asked: unknown[] = [];
  const rerank = await reranker(
    async (request, response) => {
      let body = "";
      for await (const part of request) body += String(part);
      asked.push(request.url, request.headers.authorization, JSON.parse(body));
      response.end(results(0.1, -2, 7));
    },
    { model: "m", apiKey: "key" },
  );
  expect(await rerank("why?", ["a", "b", "c"], undefined)).toEqual([0.1, -2, 7]);
  expect(asked).toEqual([
    "/v1/rerank",
    "Bearer key",
    { model: "m", query: "why?", documents: ["a", "b", "c"], top_n: 3 },
  ]);
});

test.each([
  ["<html>", 200, "malformed", "no JSON object with 'results'"],
  ["[]", 200, "malformed", "no JSON object with 'results'"],
  ["null", 200, "malformed", "no JSON object with 'results'"],
  [results(1), 200, "malformed", "no number for text 1 of 2"],
  [results(1, "2"), 200, "malformed", "no number for text 1 of 2"],
  [`{"results":"${"x".repeat(2 << 20)}"}`, 200, "too long", "longer than 1048576 bytes"],
  ["", 401, "refused", "status 401"],
  ["", 429, "overloaded", "status 429"],
  ["", 302, "refused", "answered with status"],
  ['{"error":{"message":"no such model"}}', 404, "refused", "status 404: no such model"],
  ['{"error":"texts are too long"}', 413, "refused", "status 413: texts are too long"],
  ['{"message":"invalid token top-secret"}', 401, "refused", "status 401: invalid token …"],
  ['{"detail":[{"loc":["query"]}]}', 422, "refused", 'status 422: [{"loc":["query"]}]'],
  [`{"message":"${"x".repeat(300)}"}`, 400, "refused", `status 400: ${"x".repeat(200)}`],
  ["null", 500, "refused", "status 500"],
])("the answer %.20s with status %i fails", async (body, status, failure, message) => {
  const answer: RequestListener = (_, response) => response.writeHead(status, { location: "/" }).end(body);
  const rerank = await reranker(answer, { apiKey: "top-secret" });
  const failed = Promise.resolve(rerank("?", ["a", "b"], undefined));
  await expect(failed).rejects.toMatchObject({ failure, message: expect.stringContaining(message) });
});

test("one that says nothing is given up, and so is one that nobody waits for", async () => {
  const rerank = await reranker(() => undefined, { timeoutMs: 50 });
  await expect(rerank("?", ["a"], undefined)).rejects.toMatchObject({ failure: "timed out" });
  const patient = await reranker(() => undefined);
  const controller = new AbortController();
  const waiting = Promise.resolve(patient("?", ["a"], controller.signal));
  controller.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(rerankEndpoint({ url: "http://127.0.0.1:1/" })("?", ["a"], undefined)).rejects.toMatchObject({
    failure: "unreachable",
  });
});
