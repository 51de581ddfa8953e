/** Requests of a platform that has the classes of the Web: a body that says how long it is comes as a whole, within the limits. */
import { expect, test } from "vitest";
import { createGateway } from "../src/index.ts";
import { fakeCluster } from "./fake-cluster.ts";

const TARGET = "/document/v1/a/mail/docid/x";
const DOCUMENT = '{"fields":{}}';
const LIMIT = 100;
const { app } = createGateway({ cluster: fakeCluster(), limits: { bodyBytes: LIMIT } });

async function put(body: string, length: number | undefined): Promise<number> {
  const headers = length === undefined ? {} : { "content-length": String(length) };
  const request = new Request(`http://localhost${TARGET}`, { method: "POST", body, headers });
  expect(request.headers.get("content-length")).toBe(length === undefined ? null : String(length));
  return (await app.fetch(request, { rawTarget: TARGET })).status;
}

test("bodies are read whatever is said of their length, and refused when they are longer than may be", async () => {
  const long = DOCUMENT.padEnd(LIMIT + 1);
  expect(await put(DOCUMENT, DOCUMENT.length)).toBe(200);
  expect(await put(DOCUMENT, undefined)).toBe(200);
  expect(await put(DOCUMENT.padEnd(LIMIT), LIMIT)).toBe(200);
  for (const length of [undefined, long.length, DOCUMENT.length])
    expect([length, await put(long, length)]).toEqual([length, 413]);
});

test("a request without a body has none", async () => {
  const response = await app.fetch(new Request(`http://localhost${TARGET}`, { method: "DELETE" }), {});
  expect(response.status).toBe(200);
});

test("a body that breaks off is the client's, however it is read, and no defect", async () => {
  const defects: unknown[] = [];
  const gateway = createGateway({ cluster: fakeCluster(), onDefect: (defect) => defects.push(defect) });
  for (const target of [TARGET, "/search/", "/brooklet/v1/feed"]) {
    const body = new ReadableStream({
      pull: (controller) => controller.error(new TypeError("Network connection lost.")),
    });
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", body, headers, duplex: "half" };
    const response = await gateway.respond(new Request(`http://localhost${target}`, init), target);
    expect([target, response.status, await response.text()]).toEqual([
      target,
      400,
      expect.stringContaining("closed before"),
    ]);
  }
  expect(defects).toEqual([]);
});
